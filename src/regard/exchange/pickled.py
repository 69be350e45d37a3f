"""A pickled weight file made into a safe one, in a process of its own.

A pickle is a program. torch's reader with `weights_only` runs none of it but what makes tensors, and even that
happens apart: the child inherits no environment but what finds its packages, reads one file, writes one file, and
is ended when it takes too long. Nothing but the safe file comes back.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from regard.errors import MissingExtra, ModelError

_SECONDS = 600
_KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "TEMP")

_CHILD = """
import sys
import torch
from safetensors.torch import save_file
weights = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
weights = weights.get("state_dict", weights)
save_file({name: value.clone().contiguous() for name, value in weights.items()
           if isinstance(value, torch.Tensor) and value.is_floating_point()}, sys.argv[2])
"""


@contextmanager
def converted(path: Path) -> Iterator[Path]:
    """The path of a safetensors file with the same tensors, as long as it is needed."""
    if find_spec("torch") is None:
        raise MissingExtra("torch", "torch", "converting a pickled weight file")
    with tempfile.TemporaryDirectory() as folder:
        safe = Path(folder) / "model.safetensors"
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        command = [sys.executable, "-I", "-c", _CHILD, str(path.resolve()), str(safe)]
        try:
            child = subprocess.run(
                command, env=environment, cwd=folder, capture_output=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ModelError(
                f"{path} must be converted within {_SECONDS} seconds: it was not; get the model as safetensors"
            ) from None
        if child.returncode or not safe.is_file():
            reason = child.stderr.decode(errors="replace").strip().splitlines()[-1:] or [
                "no reason"
            ]
            raise ModelError(
                f"{path} must be a pickle of weights alone: it was refused ({reason[0][:200]}); get the model "
                "as safetensors"
            )
        yield safe

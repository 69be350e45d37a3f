"""Weights of Hugging Face folders: safetensors in one or several files, or a pickle if the user asks for it.

A pickle is a program. torch's reader with `weights_only` runs only what makes tensors, and it runs in a process of its
own: without the environment except for what finds its packages, with a time limit, and with one safe file as its result.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from regard.errors import MissingExtra, ModelError
from regard.folder.checkpoint import WEIGHTS
from regard.folder.tensors import Tensors

PICKLED = "pytorch_model.bin"
_INDEX = "model.safetensors.index.json"
_TIME_LIMIT = 600
"""seconds for the conversion of a pickle"""
_ENVIRONMENT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "TMPDIR", "TEMP")
"""variables that the conversion may see"""

_CHILD = """
import sys
import torch
from safetensors.torch import save_file
weights = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
weights = weights.get("state_dict", weights)
save_file({name: value.clone().contiguous() for name, value in weights.items()
           if isinstance(value, torch.Tensor) and value.is_floating_point()}, sys.argv[2])
"""


def read_json(folder: Path, name: str, optional: bool = False) -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        if optional:
            return {}
        raise ModelError(f"{folder} must be a Hugging Face folder: it has no {name}; name another")
    try:
        values = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{path} must be JSON: it is not ({error}); get the model again") from None
    if not isinstance(values, dict):
        raise ModelError(f"{path} must be a JSON object: it is not; get the model again")
    return values


def read_weights(folder: Path, convert_pickle: bool) -> Tensors:
    """Every tensor of a folder, in float32."""
    names = [WEIGHTS]
    if not (folder / WEIGHTS).is_file() and (folder / _INDEX).is_file():
        shards = read_json(folder, _INDEX).get("weight_map")
        names = sorted(set(shards.values())) if isinstance(shards, dict) else []
    if any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise ModelError(f"{folder / _INDEX} must name files of its folder; get the model again")
    paths = [folder / name for name in names]
    if not paths or not all(path.is_file() for path in paths):
        return _read_pickled(folder, convert_pickle)
    return {name: tensor for path in paths for name, tensor in read_safetensors(path).items()}


def read_safetensors(path: Path) -> Tensors:
    """Every tensor of a file, half precision too, in float32."""
    try:
        with safetensors.safe_open(path, framework="np") as file:
            kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}
            names = [name for name, kind in kinds.items() if kind in ("F16", "F32", "F64")]
            tensors = {name: file.get_tensor(name).astype(np.float32) for name in names}
        return tensors | (_read_bfloat16(path) if "BF16" in kinds.values() else {})
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"{path} is truncated or corrupt ({error}); get the model again") from None


def _read_bfloat16(path: Path) -> Tensors:
    """bfloat16, which NumPy lacks: the upper half of a float32."""
    content = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8 : 8 + length].tobytes())
    tensors: Tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "BF16":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            upper = np.frombuffer(content[begin:end].tobytes(), dtype="<u2").astype(np.uint32)
            tensors[name] = (upper << 16).view(np.float32).reshape(entry["shape"])
    return tensors


def _read_pickled(folder: Path, convert: bool) -> Tensors:
    path = folder / PICKLED
    if not path.is_file():
        raise ModelError(
            f"{folder} must have its weights in {WEIGHTS}: it has none; get the model again"
        )
    if not convert:
        raise ModelError(
            f"{folder} has its weights only in {PICKLED}, a pickle, which can hold a program: add "
            "--convert-pickle if you trust whoever made it, or get the model as safetensors"
        )
    if find_spec("torch") is None:
        raise MissingExtra("torch", "torch", "converting a pickled weight file")
    with tempfile.TemporaryDirectory() as scratch:
        safe = Path(scratch) / WEIGHTS
        seen = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        command = [sys.executable, "-I", "-c", _CHILD, str(path.resolve()), str(safe)]
        options: dict[str, Any] = dict(cwd=scratch, capture_output=True, timeout=_TIME_LIMIT)
        try:
            child = subprocess.run(command, env=seen, **options)
        except subprocess.TimeoutExpired:
            raise ModelError(
                f"{path} must be converted within {_TIME_LIMIT} seconds: it was not; get the model as safetensors"
            ) from None
        if child.returncode or not safe.is_file():
            *_, reason = child.stderr.decode(errors="replace").strip().splitlines() or ["no reason"]
            raise ModelError(
                f"{path} must be a pickle of weights alone: it was refused ({reason[:200]}); get the model "
                "as safetensors"
            )
        return read_safetensors(safe)

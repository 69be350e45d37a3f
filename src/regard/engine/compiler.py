"""Compiles the kernel in C, `native.c`, for three kinds of x86-64, and finds the one for the processor at hand.

Standard library alone: `hatch_build.py` runs it before anything is installed.
"""

import os
import platform
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from regard.errors import UsageError

SOURCE = Path(__file__).with_name("native.c")
OPTIONS = "-std=gnu11 -O3 -fno-tree-slp-vectorize -fPIC -shared -pthread".split()
KINDS = {
    "avx512": ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "fma"),
    "avxvnni": ("avx2", "avx_vnni", "fma"),
    "avx2": ("avx2", "fma"),
}
"""flags that a processor must have, the fastest kind first"""


def library_path(kind: str) -> Path:
    """Where the compiled kernel lies; the name changes with the source, so that an old one is never opened."""
    return SOURCE.with_name(f"_native-{sha256(SOURCE.read_bytes()).hexdigest()[:12]}-{kind}.so")


def compile_kernel(folder: Path = SOURCE.parent) -> list[Path]:
    """The kernel for each kind that the C compiler at hand knows."""
    compiled, reasons = [], [] if runs_here() else [f"{sys.platform} on {platform.machine()}"]
    for kind, flags in KINDS.items() if runs_here() else ():
        path = folder / library_path(kind).name
        scratch = path.with_suffix(f".{os.getpid()}")
        machine = [f"-m{flag.replace('_', '')}" for flag in flags]
        command = [os.environ.get("CC", "cc"), *OPTIONS, *machine, str(SOURCE), "-o", str(scratch), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
            compiled.append(scratch.replace(path))
        except (OSError, subprocess.CalledProcessError) as error:
            reasons += (getattr(error, "stderr", None) or str(error)).strip().splitlines()[:1]
    if not compiled:
        raise UsageError(
            f"compiling {SOURCE.name} needs Linux on x86-64, a C compiler as cc or in CC, and a place to write in {folder}: "
            f"got {reasons[0]}; translation works without, on onnxruntime"
        )
    return compiled


def runs_here() -> bool:
    return sys.platform == "linux" and platform.machine() == "x86_64"


def processor_flags() -> set[str]:
    """What an x86 processor can do, as Linux names it; empty where that is not known."""
    try:
        return set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    except (OSError, IndexError):
        return set()


def kinds() -> list[str]:
    """The kinds that run on this processor, the fastest first."""
    found = processor_flags() if runs_here() else set()
    return [kind for kind, flags in KINDS.items() if found.issuperset(flags)]


def chosen() -> Path | None:
    """The compiled kernel to open: REGARD_NATIVE names another kind, or is 0 for none."""
    wanted = os.environ.get("REGARD_NATIVE")
    if wanted == "0":
        return None
    if wanted and wanted not in kinds():
        raise UsageError(
            f"REGARD_NATIVE must be 0 or a kind of kernel for this processor ({', '.join(kinds()) or 'none'}): "
            f"got {wanted!r}; change or unset it"
        )
    paths = map(library_path, [wanted] if wanted else kinds())
    return next((path for path in paths if path.is_file()), None)

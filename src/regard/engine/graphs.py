"""The graphs of a model folder, opened for onnxruntime: which of them, in which numbers, on how many threads."""

from __future__ import annotations

import os
import platform
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import onnxruntime

from regard.config import ModelConfig
from regard.engine import GraphPrecision
from regard.errors import ModelError, UsageError
from regard.folder import checkpoint
from regard.folder.manifest import read_manifest

MOST_THREADS = 8


class Graphs:
    """A model folder whose weights are whole, and whose graphs compute in the numbers asked for."""

    def __init__(self, folder: str | Path, threads: int | None, precision: GraphPrecision) -> None:
        self._folder = Path(folder)
        manifest = read_manifest(self._folder)
        checkpoint.check_weights(self._folder, manifest)
        self.config: ModelConfig = manifest.model
        if precision == "int8" and manifest.weights != "int8":
            raise UsageError(
                f"precision=int8 needs a model stored as int8, but {self._folder} holds "
                f"{manifest.weights}; export it as int8 first"
            )
        self._suffix = ".fp32" if precision == "fp32" and manifest.weights == "int8" else ""
        self.quantized = manifest.weights == "int8" and not self._suffix
        """whether products are of bytes"""
        self._options = _session_options(threads, quantized=self.quantized)
        self._layout = sha256(checkpoint.read_header(self._folder)).hexdigest()

    def path(self, name: Literal["encoder", "decoder"]) -> Path:
        return self._folder / f"{name}{self._suffix}.onnx"

    def open(self, name: Literal["encoder", "decoder"], takes: set[str]) -> Any:
        """A session over this graph, whose inputs are named so."""
        path = self.path(name)
        if not path.is_file():
            raise ModelError(
                f"the onnxruntime engine needs {path}, which is not there: "
                f"export the model's graphs, or use the torch engine"
            )
        providers = ["CPUExecutionProvider"]
        try:
            session = onnxruntime.InferenceSession(path, self._options, providers=providers)
        except Exception as error:  # onnxruntime's own errors have no common base
            reason = str(error).splitlines()[0]
            raise ModelError(
                f"{path} is not a graph that runs here ({reason}); export it again"
            ) from None
        if session.get_modelmeta().custom_metadata_map.get("layout") != self._layout:
            raise ModelError(
                f"{path} was made for another {checkpoint.WEIGHTS} than the one beside it; export it again"
            )
        if {each.name for each in session.get_inputs()} != takes:
            raise ModelError(f"{path} is another graph than its name says; export it again")
        return session


def _session_options(threads: int | None, *, quantized: bool) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = default_threads() if threads is None else threads
    options.inter_op_num_threads = 1
    # Planning which buffers could share memory takes longer than loading all else, and saves little.
    options.enable_mem_reuse = False
    # A waiting thread that spins takes the core from the one it waits for when the machine is busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if quantized and not _sums_bytes_exactly():
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 3
    return options


def default_threads() -> int:
    """REGARD_THREADS, or half of the cores this process may use: the rest are often hyper-threads, or busy."""
    if chosen := os.environ.get("REGARD_THREADS"):
        if not chosen.isascii() or not chosen.isdecimal() or int(chosen) < 1:
            raise UsageError(
                f"REGARD_THREADS must be a number of threads, 1 or more: got {chosen!r}; change or unset it"
            )
        return int(chosen)
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min(MOST_THREADS, cores // 2))


def _sums_bytes_exactly() -> bool:
    """Whether the processor adds products of bytes in 32 bits: every one but an x86 without VNNI.

    The others add two products in 16 bits and cut off what does not fit; onnxruntime then has a slower way
    that does not. See docs/decisions/002-int8.md.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686", "x86"):
        return True
    try:
        flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0]
    except (OSError, IndexError):
        return False
    return bool({"avx512_vnni", "avx_vnni"} & set(flags.split()))

"""One interface, two engines: torch (any model, GPU too) and onnxruntime (fast on a CPU, no torch)."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from regard.config import ModelConfig
from regard.decode.interface import StepModel
from regard.errors import ModelError, UsageError, needs_extra
from regard.folder.manifest import read_manifest

# Switches off onnxruntime's telemetry. It must be set before onnxruntime is imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

EngineKind = Literal["auto", "onnxruntime", "torch"]
Precision = Literal["auto", "fp32", "int8", "bf16"]

WRITES_NOTHING = "an encoder-only model writes nothing: use a model with a decoder"
GRAPHS = ("decoder.onnx", "encoder.onnx")  # Graphs of a model folder; an encoder-only model has no decoder.
MAX_THREADS = 8


class VectorEngine(Protocol):
    """A running encoder."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def precision(self) -> str:
        """Vectors of different precisions differ a little and must not be mixed."""

    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """[tokens, features] of each source, in float32: one vector in context for each token."""


def open_engine(folder: str | Path, kind: EngineKind = "auto", **options: Any) -> StepModel:
    """The engine for a model folder.

    `auto` is onnxruntime where the folder has graphs, and torch where it has none or a device is named. The options are
    device="auto", cpu, or a device of torch (a GPU is used only when this says so), threads=None and precision="auto".
    """
    return _open(folder, kind, **options)


def open_encoder(folder: str | Path, kind: EngineKind = "auto", **options: Any) -> VectorEngine:
    """The encoder of a model folder, by the engine that `open_engine` would take."""
    config = read_manifest(folder).model
    if not config.has_encoder:
        raise ModelError(
            f"{folder} must be a model with an encoder, which reads whole texts: got architecture="
            f"{config.architecture}; name another"
        )
    return _open(folder, kind, encoder_alone=True, **options)


def pad(sources: Sequence[Sequence[int]], pad_id: int) -> tuple[np.ndarray, np.ndarray]:
    """Sentences as the rows of one array, padded at the end, and their lengths."""
    lengths = np.array([len(source) for source in sources], dtype=np.int64)
    assert len(sources) and lengths.min() > 0, "every source ends in the end token"
    rows = np.full((len(sources), lengths.max()), pad_id, dtype=np.int64)
    for row, source in zip(rows, sources, strict=True):
        row[: len(source)] = source
    return rows, lengths


def _open(
    folder: str | Path,
    kind: EngineKind,
    *,
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
    encoder_alone: bool = False,
) -> Any:
    if threads is not None and threads < 1:
        raise UsageError(f"threads must be at least 1: got {threads}; leave it out to have it chosen")
    manifest = read_manifest(folder)
    model = manifest.model
    on_cpu = device in ("auto", "cpu")
    if kind == "auto":
        has_graphs = any((Path(folder) / name).is_file() for name in GRAPHS)
        kind = "onnxruntime" if has_graphs and on_cpu and precision != "bf16" else "torch"
    if kind == "torch":
        return _open_torch(folder, "cpu" if device == "auto" else device, threads, precision)
    if kind != "onnxruntime":
        raise UsageError(f"engine must be auto, onnxruntime or torch: got {kind!r}; auto takes the one that fits")
    if not on_cpu:
        raise UsageError(f"the onnxruntime engine runs on cpu only: got device={device}; use torch")
    if precision == "bf16":
        raise UsageError("the onnxruntime engine computes in fp32 or int8: got bf16; use torch")
    if model.is_recurrent:
        raise UsageError(f"the onnxruntime engine runs Transformers: got architecture={model.architecture}; use torch")
    if "onnx" not in model.position_traits:
        raise UsageError(f"the onnxruntime engine must have a model's positions: got {model.position}; use torch")
    if encoder_alone or not model.has_decoder:
        from regard.engine.graphs import OnnxEncoder

        return OnnxEncoder(folder, threads, precision)
    from regard.engine.native import open_kernel

    if (kernel := open_kernel(folder, manifest, threads or default_threads(), precision)) is not None:
        return kernel
    from regard.engine.onnxruntime import OnnxEngine

    return OnnxEngine(folder, threads, precision)


def _open_torch(folder: str | Path, device: str, threads: int | None, precision: Precision) -> Any:
    if precision == "int8":
        raise UsageError("the torch engine computes in fp32 or bf16: got int8; use onnxruntime")
    with needs_extra("torch", "running this model"):
        import torch

        from regard.engine.torch import TorchEngine, load_model

    try:
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError) as error:  # the latter: torch without CUDA
        raise UsageError(f"device must be one this machine has: got {device!r}; use cpu or auto") from error
    if threads is not None:
        torch.set_num_threads(threads)
    return TorchEngine(load_model(folder)[0], device, precision)


def default_threads() -> int:
    """REGARD_THREADS, or half of the available cores: the rest are often hyper-threads, or busy."""
    if chosen := os.environ.get("REGARD_THREADS"):
        if not chosen.isascii() or not chosen.isdecimal() or int(chosen) < 1:
            raise UsageError(
                f"REGARD_THREADS must be a number of threads, 1 or more: got {chosen!r}; change or unset it"
            )
        return int(chosen)
    return max(1, min(MAX_THREADS, num_cores() // 2))


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

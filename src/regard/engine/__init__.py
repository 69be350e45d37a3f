"""One interface, two engines: torch (any model, GPU too) and onnxruntime (fast on a CPU, no torch)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from regard.config import ModelConfig
from regard.decode.interface import State
from regard.errors import MissingExtra, ModelError, UsageError
from regard.folder.manifest import read_manifest

# Switches off onnxruntime's telemetry. It must be set before onnxruntime is imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

EngineKind = Literal["auto", "onnxruntime", "torch"]
Precision = Literal["auto", "fp32", "int8", "bf16"]
GraphPrecision = Literal["auto", "fp32", "int8"]
"""Precisions of the onnxruntime engine."""

WRITES_NOTHING = "an encoder-only model writes nothing: use a model with a decoder"
GRAPHS = ("decoder.onnx", "encoder.onnx")
"""Graphs of a model folder; an encoder-only model has no decoder."""


class Engine(Protocol):
    """A running model: the step interface and the configuration."""

    @property
    def config(self) -> ModelConfig: ...

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> State:
        """Read the sources, tokens and end token each: one row of the state for every source."""

    def step(self, tokens: Any, state: Any) -> tuple[Any, State]:
        """The logits [rows, vocab] after `tokens` [rows], and the state that has read them."""


class Encoder(Protocol):
    """A running encoder."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def precision(self) -> str:
        """Vectors of different precisions differ a little and must not be mixed."""

    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """[tokens, features] of each source, in float32: one vector in context for each token."""


def open_engine(
    folder: str | Path,
    kind: EngineKind = "auto",
    *,
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
) -> Engine:
    """The engine for a model folder.

    `auto` is onnxruntime where the folder has graphs, and torch where it has none or a device is named. A
    GPU is used only when the device says so.
    """
    kind, purpose = _choose_engine(folder, kind, device, threads, precision)
    if kind == "torch":
        return _open_torch(folder, device, threads, precision, purpose)
    assert precision != "bf16"
    if not read_manifest(folder).model.has_decoder:
        from regard.engine.graphs import OnnxEncoder

        return OnnxEncoder(folder, threads, precision)
    from regard.engine.onnxruntime import OnnxEngine

    return OnnxEngine(folder, threads, precision)


def open_encoder(
    folder: str | Path,
    kind: EngineKind = "auto",
    *,
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
) -> Encoder:
    """The encoder of a model folder, by the engine that `open_engine` would take."""
    config = read_manifest(folder).model
    if not config.has_encoder:
        raise ModelError(
            f"{folder} must be a model with an encoder, which reads whole texts: got architecture="
            f"{config.architecture}; name another"
        )
    kind, purpose = _choose_engine(folder, kind, device, threads, precision)
    if kind == "torch":
        return _open_torch(folder, device, threads, precision, purpose)
    from regard.engine.graphs import OnnxEncoder

    assert precision != "bf16"
    encoder = OnnxEncoder(folder, threads, precision)
    encoder.check_vectors()
    return encoder


def pad(sources: Sequence[Sequence[int]], pad_id: int) -> tuple[np.ndarray, np.ndarray]:
    """Sentences as the rows of one array, padded at the end, and their lengths."""
    lengths = np.array([len(source) for source in sources], dtype=np.int64)
    assert len(sources) and lengths.min() > 0, "every source ends in the end token"
    rows = np.full((len(sources), lengths.max()), pad_id, dtype=np.int64)
    for row, source in zip(rows, sources, strict=True):
        row[: len(source)] = source
    return rows, lengths


def _choose_engine(
    folder: str | Path, kind: EngineKind, device: str, threads: int | None, precision: Precision
) -> tuple[Literal["onnxruntime", "torch"], str]:
    """The engine, and its purpose for the message when its package is missing."""
    if threads is not None and threads < 1:
        raise UsageError(
            f"threads must be at least 1: got {threads}; leave it out to have it chosen"
        )
    purpose, model = "the torch engine", read_manifest(folder).model
    if kind == "auto":
        has_graphs = any((Path(folder) / name).is_file() for name in GRAPHS)
        on_cpu = device in ("auto", "cpu") and precision != "bf16"
        kind = "onnxruntime" if has_graphs and on_cpu else "torch"
        if has_graphs:
            purpose = "precision=bf16" if precision == "bf16" else f"device={device}"
        elif model.is_recurrent:
            purpose = "running a recurrent model"
        else:
            purpose = "running a model without the CPU engine's graphs"
    if kind not in ("onnxruntime", "torch"):
        raise UsageError(
            f"engine must be auto, onnxruntime or torch: got {kind!r}; auto takes the one that fits"
        )
    if kind == "torch":
        return kind, purpose
    if device not in ("auto", "cpu"):
        raise UsageError(f"the onnxruntime engine runs on cpu only: got device={device}; use torch")
    if precision == "bf16":
        raise UsageError("the onnxruntime engine computes in fp32 or int8: got bf16; use torch")
    if model.is_recurrent:
        raise UsageError(
            f"the onnxruntime engine runs Transformers: got architecture={model.architecture}; use torch"
        )
    return kind, purpose


def _open_torch(
    folder: str | Path, device: str, threads: int | None, precision: Precision, purpose: str
) -> Any:
    if precision == "int8":
        raise UsageError("the torch engine computes in fp32 or bf16: got int8; use onnxruntime")
    if find_spec("torch") is None:
        raise MissingExtra("torch", "torch", purpose)
    import torch

    from regard.engine.torch import TorchEngine, load_model

    device = "cpu" if device == "auto" else device
    if device.partition(":")[0] == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"device={device}: torch finds no CUDA device here; use cpu")
    try:
        torch.zeros(1, device=device).tolist()
    except RuntimeError as error:
        raise UsageError(
            f"device must be one this machine has: got {device!r}; use cpu or auto"
        ) from error
    if threads is not None:
        torch.set_num_threads(threads)
    model, _ = load_model(folder)
    return TorchEngine(model, device, precision)

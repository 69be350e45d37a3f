"""Texts in, vectors out: what a model's encoder makes of each word, by either engine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np

from regard import checkpoint
from regard.config import ModelConfig
from regard.engine import EngineKind, Precision, choose_engine, open_engine
from regard.engine.padding import pad
from regard.errors import ModelError, UsageError

MEMORY = "memory"


class Encoder(Protocol):
    """A model's encoder that runs."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def computes(self) -> str:
        """In which numbers: vectors of different ones differ a little, and are not to be mixed."""

    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """[pieces, features] of each source, in float32: one vector in context for each piece."""


def open_encoder(
    folder: str | Path,
    kind: EngineKind = "auto",
    *,
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
) -> Encoder:
    """The encoder of a model folder, by the engine that `open_engine` would take."""
    manifest = checkpoint.read_manifest(folder)
    if not manifest.model.has_encoder:
        raise ModelError(
            f"{folder} must be a model with an encoder, which reads whole texts: got architecture="
            f"{manifest.model.architecture}; name another"
        )
    chosen, _ = choose_engine(folder, kind, device, threads, precision)
    if chosen == "onnxruntime":
        return OnnxEncoder(folder, threads, cast(Literal["auto", "fp32", "int8"], precision))
    engine = open_engine(folder, kind, device=device, threads=threads, precision=precision)
    return TorchEncoder(engine)


class OnnxEncoder:
    """The encoder's graph, on the CPU without torch."""

    def __init__(
        self,
        folder: str | Path,
        threads: int | None = None,
        precision: Literal["auto", "fp32", "int8"] = "auto",
    ) -> None:
        from regard.engine.onnxruntime import open_graph, session_options

        folder = Path(folder)
        manifest = checkpoint.read_manifest(folder)
        checkpoint.check_weights(folder, manifest)
        self.config: ModelConfig = manifest.model
        if precision == "int8" and manifest.weights != "int8":
            raise UsageError(
                f"precision=int8 needs a model stored as int8, but {folder} holds {manifest.weights}; "
                "export it as int8 first"
            )
        suffix = ".fp32" if precision == "fp32" and manifest.weights == "int8" else ""
        self.computes = "int8" if manifest.weights == "int8" and not suffix else "fp32"
        layout = sha256(checkpoint.read_header(folder)).hexdigest()
        options = session_options(threads, quantized=self.computes == "int8")
        path = folder / f"encoder{suffix}.onnx"
        # An encoder alone also tells what may stand at some places; one costs little, and none fails as int8.
        self._places = {} if self.config.has_decoder else {"places": np.zeros(1, np.int64)}
        self._session = open_graph(path, options, layout, {"tokens", "lengths", *self._places})
        if MEMORY not in {each.name for each in self._session.get_outputs()}:
            raise ModelError(
                f"{path} must tell the vectors of its words: it was made before search was; "
                "write the model anew with  regard export"
            )

    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        tokens, lengths = pad(sources, self.config.pad_id)
        inputs = {"tokens": tokens, "lengths": lengths, **self._places}
        [memory] = self._session.run([MEMORY], inputs)
        return [row[:length] for row, length in zip(memory, lengths, strict=True)]


class TorchEncoder:
    """Any model, any device."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.config: ModelConfig = engine.config
        self.computes: str = engine.precision

    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        tokens, lengths = pad(sources, self.config.pad_id)
        memory = self._engine.memory(tokens, lengths)
        return [row[:length] for row, length in zip(memory, lengths, strict=True)]

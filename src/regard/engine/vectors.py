"""Texts in, vectors out: what a model's encoder makes of each word, by either engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.engine import EngineKind, GraphPrecision, Precision, choose_engine, open_engine
from regard.engine.padding import pad
from regard.errors import ModelError
from regard.folder.manifest import read_manifest

MEMORY = "memory"


class Encoder(ABC):
    """A model's encoder that runs."""

    config: ModelConfig
    computes: str
    """in which numbers: vectors of different ones differ a little, and are not to be mixed"""

    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """[pieces, features] of each source, in float32: one vector in context for each piece."""
        tokens, lengths = pad(sources, self.config.pad_id)
        memory = self._memory(tokens, lengths)
        return [row[:length] for row, length in zip(memory, lengths, strict=True)]

    @abstractmethod
    def _memory(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """[sources, pieces, features] of padded sources."""


def open_encoder(
    folder: str | Path,
    kind: EngineKind = "auto",
    *,
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
) -> Encoder:
    """The encoder of a model folder, by the engine that `open_engine` would take."""
    manifest = read_manifest(folder)
    if not manifest.model.has_encoder:
        raise ModelError(
            f"{folder} must be a model with an encoder, which reads whole texts: got architecture="
            f"{manifest.model.architecture}; name another"
        )
    chosen, _ = choose_engine(folder, kind, device, threads, precision)
    if chosen == "onnxruntime":
        assert precision != "bf16"
        return OnnxEncoder(folder, threads, precision)
    engine = open_engine(folder, kind, device=device, threads=threads, precision=precision)
    return TorchEncoder(engine)


class OnnxEncoder(Encoder):
    """The encoder's graph, on the CPU without torch."""

    def __init__(
        self,
        folder: str | Path,
        threads: int | None = None,
        precision: GraphPrecision = "auto",
    ) -> None:
        from regard.engine.graphs import Graphs

        graphs = Graphs(folder, threads, precision)
        self.config = graphs.config
        self.computes = "int8" if graphs.quantized else "fp32"
        # An encoder alone also tells what may stand at some places; one costs little, and none fails as int8.
        self._places = {} if self.config.has_decoder else {"places": np.zeros(1, np.int64)}
        self._session = graphs.open("encoder", {"tokens", "lengths", *self._places})
        if MEMORY not in {each.name for each in self._session.get_outputs()}:
            raise ModelError(
                f"{graphs.path('encoder')} must tell the vectors of its words: it was made before search was; "
                "write the model anew with  regard export"
            )

    def _memory(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        inputs = {"tokens": tokens, "lengths": lengths, **self._places}
        memory: np.ndarray = self._session.run([MEMORY], inputs)[0]
        return memory


class TorchEncoder(Encoder):
    """Any model, any device."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.config, self.computes = engine.config, engine.precision

    def _memory(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        memory: np.ndarray = self._engine.memory(tokens, lengths)
        return memory

"""An encoder alone on the CPU, without torch: what may stand at given places of a text."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np

from regard import checkpoint
from regard.config import ModelConfig
from regard.decode.interface import State
from regard.engine.onnxruntime import open_graph, session_options
from regard.errors import UsageError


class OnnxReader:
    """The encoder's graph of a model that fills in blanks."""

    def __init__(
        self,
        folder: str | Path,
        threads: int | None = None,
        precision: Literal["auto", "fp32", "int8"] = "auto",
    ) -> None:
        folder = Path(folder)
        manifest = checkpoint.read_manifest(folder)
        checkpoint.check_weights(folder, manifest)
        self.config: ModelConfig = manifest.model
        suffix = ".fp32" if precision == "fp32" and manifest.weights == "int8" else ""
        layout = sha256(checkpoint.read_header(folder)).hexdigest()
        options = session_options(threads, quantized=manifest.weights == "int8" and not suffix)
        takes = {"tokens", "lengths", "places"}
        self._session = open_graph(folder / f"encoder{suffix}.onnx", options, layout, takes)

    def log_probabilities(self, tokens: Sequence[int], places: Sequence[int]) -> np.ndarray:
        """[places, vocabulary]: what may stand at these places of a text."""
        inputs = {
            "tokens": np.array([tokens], np.int64),
            "lengths": np.array([len(tokens)], np.int64),
            "places": np.array(places, np.int64),
        }
        values: np.ndarray = self._session.run(["log_probabilities"], inputs)[0]
        return values

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> State:
        raise UsageError("an encoder-only model writes nothing: use a model with a decoder")

    def step(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        raise UsageError("an encoder-only model writes nothing: use a model with a decoder")

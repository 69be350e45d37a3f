"""An encoder alone on the CPU, without torch: what may stand at given places of a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.decode.interface import State
from regard.engine import WRITES_NOTHING, GraphPrecision
from regard.engine.graphs import Graphs
from regard.errors import UsageError


class OnnxReader:
    """The encoder's graph of a model that fills in blanks."""

    def __init__(
        self,
        folder: str | Path,
        threads: int | None = None,
        precision: GraphPrecision = "auto",
    ) -> None:
        graphs = Graphs(folder, threads, precision)
        self.config = graphs.config
        self._session = graphs.open("encoder", {"tokens", "lengths", "places"})

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
        raise UsageError(WRITES_NOTHING)

    def step(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        raise UsageError(WRITES_NOTHING)

"""A model made of several by the step interface.

An ensemble (Sutskever et al. 2014): models that were trained apart err apart, and their mean errs less.

    p(token) = (p_1(token) + … + p_n(token)) / n
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.decode.arrays import Array, Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.interface import State, StepModel


@dataclass(frozen=True, slots=True)
class _States:
    """The states of several models, row by row."""

    models: Sequence[StepModel]
    states: Sequence[State]

    @property
    def attention(self) -> Host | None:
        """The mean of all."""
        seen = [arrays_of(each.attention).host(each.attention) for each in self.states if each.attention is not None]
        return np.mean(seen, axis=0) if seen else None

    def select(self, indices: Array) -> _States:
        rows, pairs = arrays_of(indices).host(indices), zip(self.models, self.states, strict=True)
        states = [state.select(arrays_for(model).integers(rows)) for model, state in pairs]
        return _States(self.models, states)


class EnsembleModel:
    """A StepModel over others with the same tokens, by the mean of their probabilities.

    These meet in the host's memory, so that models of several engines can be in one ensemble.
    """

    normalised = True

    def __init__(self, models: Sequence[StepModel]) -> None:
        self.models, self.config = models, models[0].config

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> _States:
        return _States(self.models, [model.start(sources, attention=attention) for model in self.models])

    def step(self, tokens: Array, state: State) -> tuple[Host, _States]:
        assert isinstance(state, _States)
        found: list[Host] = []
        newer: list[State] = []
        for model, own in zip(self.models, state.states, strict=True):
            logits, own = model.step(arrays_for(model).integers(tokens), own)
            found.append(arrays_of(logits).host(log_probabilities_of(model, logits)))
            newer.append(own)
        mean = np.logaddexp.reduce(found, axis=0) - np.log(len(found), dtype=np.float32)
        return mean, _States(self.models, newer)

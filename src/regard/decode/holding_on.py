"""A model that holds on to how its text began.

A small language model soon forgets a beginning and follows its last sentence. So what it expects with the beginning is
compared with what it expects without it, and what the beginning made more probable becomes more so (context-aware
decoding, Shi et al. 2023). It reads twice for that: the whole text, and only what was written after the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.decode.arrays import Array, Host, arrays_of, log_probabilities_of
from regard.decode.interface import State, StepModel

_LEAST_SHARE = 0.05
"""of the most probable token's probability: what is less probable is not written, however well it fits the beginning"""
_MOST_GAINED = 3.0
"""nats that count as made by the beginning: a word that surprises without it is not a better one for that"""


@dataclass(frozen=True, slots=True)
class _Both:
    whole: State
    rest: State
    length: int
    attention: Array | None = None

    def select(self, indices: Array) -> _Both:
        return _Both(self.whole.select(indices), self.rest.select(indices), self.length)


class HoldingOn:
    """A StepModel around another, for texts that all begin with `num_given` tokens of their own.

    Its log-probabilities are those that it draws from.
    """

    def __init__(self, model: StepModel, num_given: int, strength: float, *, bos_id: int) -> None:
        self._model, self._strength = model, strength
        self._num_given, self._bos_id = num_given, bos_id
        self.device = getattr(model, "device", None)
        if hasattr(model, "read"):
            self.read = self._read

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> _Both:
        return _Both(self._model.start(sources), self._model.start(sources), 0)

    def step(self, tokens: Array, state: State) -> tuple[Array, _Both]:
        assert isinstance(state, _Both)
        logits, whole = self._model.step(tokens, state.whole)
        length = state.length + 1
        if length <= self._num_given:
            return logits, _Both(whole, state.rest, length)
        arrays = arrays_of(logits)
        if length == self._num_given + 1:
            tokens = arrays.integers(np.full(len(tokens), self._bos_id))
        others, rest = self._model.step(tokens, state.rest)
        with_it = log_probabilities_of(self._model, logits)
        without = log_probabilities_of(self._model, others)
        module = arrays.module
        least = module.amax(with_it, 1)[:, None] + float(np.log(_LEAST_SHARE))
        with np.errstate(invalid="ignore"):
            gained = module.clip(with_it - without, -_MOST_GAINED, _MOST_GAINED)
        stronger = module.where(with_it >= least, with_it + self._strength * gained, -float("inf"))
        return arrays.log_softmax(stronger), _Both(whole, rest, length)

    def _read(self, tokens: Host, following: Host, state: _Both) -> tuple[Host, _Both]:
        model: Any = self._model
        values, whole = model.read(tokens, following, state.whole)
        return values, _Both(whole, state.rest, state.length + tokens.shape[1])

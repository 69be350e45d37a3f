"""Context-aware decoding (Shi et al. 2023): a language model that does not forget its prompt.

    scores = log p(token | prompt, text) + weight * (log p(token | prompt, text) - log p(token | text))

A small model soon follows its last sentence alone. What the prompt made more probable becomes more so. The model reads
everything twice: with the prompt and without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.decode.arrays import Array, Host, arrays_of, log_probabilities_of
from regard.decode.interface import State, StepModel

_LEAST_SHARE = 0.05
"""share of the largest probability below which a token is never written"""
_MOST_GAINED = 3.0
"""largest difference that counts, in nats: a word that is surprising without the prompt is not better for that"""


@dataclass(frozen=True, slots=True)
class _BothStates:
    with_prompt: State
    without: State
    length: int
    attention: Array | None = None

    def select(self, indices: Array) -> _BothStates:
        return _BothStates(self.with_prompt.select(indices), self.without.select(indices), self.length)


class ContextAwareModel:
    """A StepModel around another, for outputs that begin with a prompt of `num_given` tokens.

    Its log-probabilities are those of the changed distribution.
    """

    def __init__(self, model: StepModel, num_given: int, weight: float) -> None:
        self._model, self._weight = model, weight
        self._num_given, self.config = num_given, model.config
        self.device = getattr(model, "device", None)
        if hasattr(model, "read"):
            self.read = self._read

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> _BothStates:
        return _BothStates(self._model.start(sources), self._model.start(sources), 0)

    def step(self, tokens: Array, state: State) -> tuple[Array, _BothStates]:
        assert isinstance(state, _BothStates)
        logits, with_prompt = self._model.step(tokens, state.with_prompt)
        length = state.length + 1
        if length <= self._num_given:
            return logits, _BothStates(with_prompt, state.without, length)
        arrays = arrays_of(logits)
        if length == self._num_given + 1:
            tokens = arrays.integers(np.full(len(tokens), self.config.bos_id))
        others, without = self._model.step(tokens, state.without)
        scores = log_probabilities_of(self._model, logits)
        other_scores = log_probabilities_of(self._model, others)
        module = arrays.module
        least = module.amax(scores, 1)[:, None] + float(np.log(_LEAST_SHARE))
        with np.errstate(invalid="ignore"):
            gained = module.clip(scores - other_scores, -_MOST_GAINED, _MOST_GAINED)
        changed = module.where(scores >= least, scores + self._weight * gained, -float("inf"))
        return arrays.log_softmax(changed), _BothStates(with_prompt, without, length)

    def _read(self, tokens: Host, following: Host, state: _BothStates) -> tuple[Host, _BothStates]:
        model: Any = self._model
        values, with_prompt = model.read(tokens, following, state.with_prompt)
        return values, _BothStates(with_prompt, state.without, state.length + tokens.shape[1])

"""Models made of several runs of models, all by the step interface.

Context-aware decoding (Shi et al. 2023): a language model that does not forget its prompt.

    scores = log p(token | prompt, text) + weight * (log p(token | prompt, text) - log p(token | text))

A small model soon follows its last sentence alone. What the prompt made more probable becomes more so. The model reads
everything twice: with the prompt and without it.

An ensemble (Sutskever et al. 2014): models that were trained apart err apart, and their mean errs less.

    p(token) = (p_1(token) + … + p_n(token)) / n
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.decode.arrays import Array, Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.interface import State, StepModel

_LEAST_SHARE = 0.05  # share of the largest probability below which a token is never written
_MOST_GAINED = 3.0
"""largest difference that counts, in nats: a word that is surprising without the prompt is not better for that"""


@dataclass(frozen=True, slots=True)
class _States:
    """The states of several runs, row by row."""

    models: Sequence[StepModel]
    states: Sequence[State]
    length: int = 0

    @property
    def attention(self) -> Host | None:
        """The mean of all."""
        seen = [arrays_of(each.attention).host(each.attention) for each in self.states if each.attention is not None]
        return np.mean(seen, axis=0) if seen else None

    def select(self, indices: Array) -> _States:
        rows, pairs = arrays_of(indices).host(indices), zip(self.models, self.states, strict=True)
        states = [state.select(arrays_for(model).integers(rows)) for model, state in pairs]
        return _States(self.models, states, self.length)


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

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> _States:
        return _States([self._model] * 2, [self._model.start(sources) for _ in range(2)])

    def step(self, tokens: Array, state: State) -> tuple[Array, _States]:
        assert isinstance(state, _States)
        with_prompt, without = state.states
        logits, with_prompt = self._model.step(tokens, with_prompt)
        length = state.length + 1
        if length <= self._num_given:
            return logits, _States(state.models, (with_prompt, without), length)
        arrays = arrays_of(logits)
        if length == self._num_given + 1:
            tokens = arrays.integers(np.full(len(tokens), self.config.bos_id))
        others, without = self._model.step(tokens, without)
        scores = log_probabilities_of(self._model, logits)
        other_scores = log_probabilities_of(self._model, others)
        module = arrays.module
        least = module.amax(scores, 1)[:, None] + float(np.log(_LEAST_SHARE))
        with np.errstate(invalid="ignore"):
            gained = module.clip(scores - other_scores, -_MOST_GAINED, _MOST_GAINED)
        changed = module.where(scores >= least, scores + self._weight * gained, -float("inf"))
        return arrays.log_softmax(changed), _States(state.models, (with_prompt, without), length)

    def _read(self, tokens: Host, following: Host, state: _States) -> tuple[Host, _States]:
        model: Any = self._model
        values, with_prompt = model.read(tokens, following, state.states[0])
        return values, _States(state.models, (with_prompt, state.states[1]), state.length + tokens.shape[1])

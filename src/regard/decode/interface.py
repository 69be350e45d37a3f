"""What a search knows of a model, and what it hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from regard.decode.arrays import Array

Stop = Literal["end", "length"]
"""end: the model ended the sentence; length: it was cut, at the limit or because nothing more was allowed."""

IMPOSSIBLE = -1e9
"""The log-probability of a forced token that the model holds impossible: finite, so that sums stay numbers."""


class State(Protocol):
    """What a model remembers between two steps, a row for each hypothesis."""

    @property
    def attention(self) -> Array | None:
        """[rows, source_len] of the newest step, averaged over the heads; None unless asked for at the start."""

    def select(self, indices: Array) -> State:
        """The state of these rows; a row may be repeated or left out."""


class StepModel(Protocol):
    """A model that writes one token at a time.

    A model of torch tensors also has an attribute `device`: where the tokens of the very first step
    belong. Without one, or with None, they come as a NumPy array. A model whose logits already are
    log-probabilities in single or double precision may say so by an attribute `normalised = True`, which
    saves a pass. One that can search by itself has an attribute `search_whole`, a function
    `(sources, config, limits) -> hypotheses` for greedy and beam search without constraints, by the same
    rules, with the beginning, end and padding of its own configuration; None where it cannot.

    Two more methods may be offered. `step_best(tokens, state, count)` is a step that returns
    `(values, tokens, state)`: the `count` largest log-probabilities of each row and their tokens, as lists, best
    first, equal ones in the order of their tokens. `read(tokens, following, state)`, over NumPy arrays, is many
    steps in one: for tokens [rows, length] it returns `(values, state)`, the log-probability of each of the
    tokens `following` [rows, length] after those up to its place.
    """

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> State:
        """Read the sources: one row each."""

    def step(self, tokens: Array, state: State) -> tuple[Array, State]:
        """The logits [rows, vocab] of what follows `tokens` [rows]."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output."""

    tokens: list[int]
    """without beginning and end"""
    score: float
    """normalised by length, plus the coverage penalty: what hypotheses are ranked by"""
    log_probability: float
    """the sum over the tokens, and over the end where there is one"""
    token_log_probabilities: list[float]
    """the model's own, before any filter or ban; the last one is the end's when the model ended"""
    stop: Stop
    attention: list[list[float]] | None = None
    """for each token its weights over the source"""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What a search saw at one step: a row for each hypothesis that was alive before it."""

    sources: list[int]
    """which source each row belongs to"""
    beams: list[list[int]]
    """the tokens so far"""
    scores: list[float]
    """the sum of their log-probabilities"""
    top_tokens: list[list[int]]
    """what the model found most probable next, best first"""
    top_probabilities: list[list[float]]


@dataclass(frozen=True, slots=True)
class Emission:
    """One item of a stream; the last one has no token and says why there is no more."""

    token: int | None
    log_probability: float
    """of the token, of the end, or 0 where the output was cut"""
    stop: Stop | None = None

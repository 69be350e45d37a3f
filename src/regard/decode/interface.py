"""What a search knows of a model, what it hands back, and how outputs of different length are compared.

    score = log P / lp + cp,   lp = ((5 + length) / 6) ** alpha,
    cp = beta * sum over the source of log(min(attention received, 1))

Wu et al. 2016, equation 14. The length counts every predicted token, the end included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from regard.config import DecodeConfig, ModelConfig
from regard.decode.arrays import Array, Host

Stop = Literal["end", "length"]
"""end: the model ended the sentence; length: it was cut, at the limit or because nothing more was allowed."""

IMPOSSIBLE = -1e9
"""The log-probability of a forced token that the model holds impossible: finite, so that sums stay numbers."""
_MIN_COVERAGE = 1e-9
"""Below this a source token counts as hardly seen, rather than making the whole score -inf."""


class State(Protocol):
    """What a model remembers between two steps, a row for each hypothesis."""

    @property
    def attention(self) -> Array | None:
        """[rows, source_len] of the newest step, averaged over the heads; None unless asked for at the start."""

    def select(self, indices: Array) -> State:
        """The state of these rows; a row may be repeated or left out."""


class StepModel(Protocol):
    """A model that writes one token at a time.

    A model of torch tensors also has an attribute `device`: where the tokens of the very first step belong. Without
    one, or with None, they come as a NumPy array. A model whose logits already are log-probabilities in single or
    double precision may say so by an attribute `normalised = True`, which saves a pass. One that can search by itself
    has an attribute `search_whole`, a function `(sources, config, limits) -> hypotheses` for greedy and beam search
    without constraints, by the same rules, of a decoder alone also with `prefixes`, one of each output, and for
    sampling from a few tokens with `numbers`, which identify the sources as in `search`; None where it cannot.

    One whose searches may run in several threads has an attribute `copies`: models over the same weights, one for
    each thread.

    Two more methods may be offered. `step_best(tokens, state, count, stretch)` is a step that returns
    `(taken, values, tokens, state)`: the `count` largest log-probabilities of each row and their tokens, as lists, best
    first, equal ones in the order of their tokens. Given a `Stretch` of `beam`, it may take more steps of that search:
    the values are those of the last one, and `taken` tells what was chosen in the others. `read(tokens, following,
    state)`, over NumPy arrays, is many steps in one: for tokens [rows, length] it returns `(values, state)`, the
    log-probability of each of the tokens `following` [rows, length] after those up to its place.
    """

    @property
    def config(self) -> ModelConfig:
        """A search reads from it which tokens are beginning, end and padding."""

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> State:
        """Read the sources: one row each."""

    def step(self, tokens: Array, state: State) -> tuple[Array, State]:
        """The logits [rows, vocab] of what follows `tokens` [rows]."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What a search saw at one step: a row for each hypothesis that was alive before it."""

    sources: list[int]  # index of the source of each row
    beams: list[list[int]]  # the tokens so far
    scores: list[float]  # the sum of their log-probabilities
    top_tokens: list[list[int]]  # most probable next tokens, best first
    top_probabilities: list[list[float]]


@dataclass(frozen=True, slots=True)
class Emission:
    """One item of a stream; the last one has no token and says why there is no more."""

    token: int | None
    log_probability: float  # log-probability of the token or of the end; 0 where the output was cut
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output."""

    tokens: list[int]  # without beginning and end
    score: float  # normalised by length, plus the coverage penalty: what hypotheses are ranked by
    log_probability: float  # the sum over the tokens, and over the end where there is one
    token_log_probabilities: list[float]
    """the model's own, before any filter or ban; the last one is the end's when the model ended"""
    stop: Stop
    attention: list[list[float]] | None = None  # attention weights over the source, for each token


def hypothesis(
    tokens: list[int],
    log_probabilities: list[float],
    stop: Stop,
    config: DecodeConfig,
    weights: Sequence[Host] = (),
    source_len: int | None = None,
    *,
    show: bool = False,
) -> Hypothesis:
    """A finished output with its score; with a source_len, weights are the attention of each step."""
    total = math.fsum(log_probabilities)
    score = total / length_penalty(len(log_probabilities), config.length_penalty)
    shown = None
    if source_len is not None:
        attention = np.array([each[:source_len] for each in weights]).reshape(len(weights), source_len)
        score += coverage_penalty(attention, config.coverage_penalty)
        shown = attention[: len(tokens)].tolist() if show else None
    return Hypothesis(tokens, score, total, log_probabilities, stop, shown)


def length_penalty(length: int, alpha: float) -> float:
    return float(((5 + length) / 6) ** alpha)


def coverage_penalty(attention: Host, beta: float) -> float:
    """`attention` is [steps, source_len], without padding."""
    if not beta:
        return 0.0
    covered = np.clip(attention.sum(axis=0, dtype=np.float64), _MIN_COVERAGE, 1)
    return beta * float(np.log(covered).sum())


def best_attainable(log_probability: float, length: int, limit: int, alpha: float) -> float:
    """No ended continuation of a hypothesis of `length` tokens can score above this.

    Each further token multiplies by a probability, so log P can only fall and never rises above 0; dividing
    by the largest penalty is then the best that can happen. For alpha >= 0 that is the penalty of the longest
    ended output (`limit` tokens and the end), for alpha < 0 that of ending at once. The coverage penalty is
    at most 0 and can be left out.
    """
    return log_probability / max(length_penalty(length + 1, alpha), length_penalty(limit + 1, alpha))

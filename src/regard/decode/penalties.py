"""How hypotheses of different length are compared: Wu et al. 2016, equation 14.

    score = log P / lp + cp,   lp = ((5 + length) / 6) ** alpha,
    cp = beta * sum over the source of log(min(attention received, 1))

The length counts every predicted token, the end included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regard.decode.arrays import Host
from regard.decode.interface import Hypothesis, Stop

_LEAST_COVERAGE = 1e-9
"""Below this a source token counts as hardly seen, rather than making the whole score -inf."""


def length_penalty(length: int, alpha: float) -> float:
    return float(((5 + length) / 6) ** alpha)


def coverage_penalty(attention: Host, beta: float) -> float:
    """`attention` is [steps, source_len], without padding."""
    covered = np.clip(attention.sum(axis=0, dtype=np.float64), _LEAST_COVERAGE, 1)
    return beta * float(np.log(covered).sum())


def best_attainable(log_probability: float, length: int, limit: int, alpha: float) -> float:
    """No ended continuation of a hypothesis of `length` tokens can score above this.

    Each further token multiplies by a probability, so log P can only fall and never rises above 0; dividing
    by the largest penalty is then the best that can happen. For alpha >= 0 that is the penalty of the longest
    ended output (`limit` tokens and the end), for alpha < 0 that of ending at once. The coverage penalty is
    at most 0 and can be left out.
    """
    lengths = (length + 1, limit + 1)
    return log_probability / max(length_penalty(end, alpha) for end in lengths)


def hypothesis(
    tokens: list[int],
    log_probabilities: list[float],
    stop: Stop,
    alpha: float,
    *,
    weights: Sequence[Host] = (),
    source_len: int | None = None,
    beta: float = 0.0,
    show: bool = False,
) -> Hypothesis:
    """A finished output with its score; with a source_len, weights are the attention of each step."""
    total = math.fsum(log_probabilities)
    score = total / length_penalty(len(log_probabilities), alpha)
    shown = None
    if source_len is not None:
        attention = np.array([each[:source_len] for each in weights])
        attention = attention.reshape(len(weights), source_len)
        score += coverage_penalty(attention, beta) if beta else 0.0
        shown = attention[: len(tokens)].tolist() if show else None
    return Hypothesis(tokens, score, total, log_probabilities, stop, shown)

"""Draw the next token: penalties, temperature, top-k and top-p as pure functions of the logits.

Uniform numbers are drawn in NumPy, from a generator of each row's own, and the distribution is inverted
where the logits are: the same seed gives the same text on every device, alone or among neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Arrays, Host, arrays_of

_LARGEST_UNIFORM = 1 - 2.0**-23
"""Times a sum of probabilities this stays below that sum, in single precision too (Apple's GPUs have no other), so a
draw always falls on a possible token."""


def penalise(logits: Array, written: Sequence[Sequence[int]], config: DecodeConfig) -> Array:
    """Lower the scores of tokens that a row has already written."""
    if not (config.presence_penalty or config.frequency_penalty):
        return logits
    penalties = np.zeros(logits.shape)
    for row, tokens in enumerate(written):
        for token, count in Counter(tokens).items():
            penalties[row, token] = config.presence_penalty + config.frequency_penalty * count
    arrays = arrays_of(logits)
    return arrays.doubles(logits) - arrays.numbers(penalties)


def apply_temperature(logits: Array, temperature: float) -> Array:
    """Divide by the temperature, in double precision and with the largest at 0: what is too far below is -inf."""
    arrays = arrays_of(logits)
    with np.errstate(over="ignore"):
        return _from_largest(arrays, arrays.doubles(logits)) / temperature


def keep_top_k(logits: Array, count: int) -> Array:
    """All but the `count` largest become -inf; of equals the first ones stay."""
    arrays = arrays_of(logits)
    if not 0 < count < logits.shape[1]:
        return logits
    least = arrays.nth_largest(logits, count)
    return _keep(arrays, logits, least, count)


def keep_top_p(logits: Array, mass: float) -> Array:
    """All but the smallest set with at least this probability become -inf; of equals the first ones stay."""
    if mass >= 1:
        return logits
    arrays = arrays_of(logits)
    module = arrays.module
    descending = arrays.descending(logits)
    weights = module.exp(_from_largest(arrays, arrays.doubles(descending)))
    cumulative = module.cumsum(weights, 1)
    needed = mass * cumulative[:, -1:]
    # A token belongs to the set as long as those before it do not have enough.
    count = (cumulative[:, :-1] < needed).sum(1)[:, None] + 1
    least = arrays.take(descending, count - 1)
    return _keep(arrays, logits, least, count)


def draw(logits: Array, uniforms: Host) -> Array:
    """Invert the cumulative distribution at one number of [0, 1) for each row."""
    arrays = arrays_of(logits)
    module = arrays.module
    weights = module.exp(_from_largest(arrays, arrays.doubles(logits)))
    cumulative = module.cumsum(weights, 1)
    numbers = arrays.numbers(np.minimum(uniforms, _LARGEST_UNIFORM))
    passed = (cumulative <= numbers[:, None] * cumulative[:, -1:]).sum(1)
    return module.clip(passed, 0, logits.shape[1] - 1)


def filtered(logits: Array, config: DecodeConfig) -> Array:
    """Temperature, then top-k, then top-p, as far as they are set."""
    return keep_top_p(
        keep_top_k(apply_temperature(logits, config.temperature), config.top_k), config.top_p
    )


class Uniforms:
    """A stream of uniform numbers for each row, told apart by the seed and the row's own numbers only."""

    def __init__(self, seed: int | None, keys: Sequence[tuple[int, ...]]) -> None:
        entropy = np.random.SeedSequence(seed).entropy
        assert isinstance(entropy, int)
        self._generators = [np.random.default_rng([entropy, *key]) for key in keys]

    def next(self, rows: Host) -> Host:
        return np.array([self._generators[row].random() for row in rows.tolist()])


def _from_largest(arrays: Arrays, logits: Array) -> Array:
    """Subtract each row's largest; a row of nothing but -inf stays as it is."""
    module = arrays.module
    largest = module.amax(logits, 1)[:, None]
    return logits - module.clip(largest, np.finfo(np.float64).min, None)


def _keep(arrays: Arrays, logits: Array, least: Array, count: Array | int) -> Array:
    """The `count` largest of each row, of which `least` is the smallest."""
    module = arrays.module
    above = logits > least
    equal = logits == least
    room = count - above.sum(1)[:, None]
    keep = above | (equal & (module.cumsum(equal, 1) <= room))
    return module.where(keep, logits, -np.inf)

"""Draw the next token: penalties, temperature, top-k and top-p as pure functions of the logits.

Uniform numbers are drawn in NumPy, from a generator of each path's own, and the distribution is inverted
where the logits are: the same seed gives the same text on every device, alone or among neighbours.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Arrays, Host, arrays_of

LARGEST_UNIFORM = 1 - 2.0**-23
"""Times a sum of probabilities this stays below that sum, in single precision too (Apple's GPUs have no other), so a
draw always falls on a possible token."""


class TokenSampler:
    """Draws the next token of each path."""

    def __init__(self, config: DecodeConfig, keys: Sequence[tuple[int, ...]], num_given: Sequence[int]) -> None:
        """keys: besides the seed, what seeds a path's generator; num_given: its tokens that penalties do not count."""
        self._config, self._num_given = config, num_given
        self._generators = generators(config, keys)

    def __call__(self, log_probabilities: Array, paths: list[int], so_far: Sequence[list[int]]) -> tuple[Host, Host]:
        """The next tokens and their log-probabilities; paths and tokens so far: of each row."""
        uniforms = np.array([self._generators[path].random() for path in paths])
        written = [tokens[self._num_given[path] :] for path, tokens in zip(paths, so_far, strict=True)]
        scores = penalise(log_probabilities, written, self._config)
        scores = apply_temperature(scores, self._config.temperature)
        scores = keep_top_p(keep_top_k(scores, self._config.top_k), self._config.top_p)
        arrays = arrays_of(log_probabilities)
        tokens = arrays.host(draw(scores, uniforms))
        values = arrays.host(arrays.pick(log_probabilities, np.arange(len(paths)), tokens))
        return tokens, values.astype(np.float64)

    def skip(self, num_steps: int) -> None:
        """Drop the draws of forced steps: every step has its own."""
        for generator in self._generators:
            generator.random(num_steps)


def generators(config: DecodeConfig, keys: Sequence[tuple[int, ...]]) -> list[np.random.Generator]:
    """The generator of each path: every step of it takes one number."""
    entropy = np.random.SeedSequence(config.seed).entropy
    assert isinstance(entropy, int)
    return [np.random.default_rng([entropy, *key]) for key in keys]


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
    if not 0 < count < logits.shape[1]:
        return logits
    arrays = arrays_of(logits)
    least = arrays.top(logits, count)[0][:, -1:]
    return _keep(arrays, logits, arrays.numbers(least), count)


def keep_top_p(logits: Array, mass: float) -> Array:
    """All but the smallest set with at least this probability become -inf; of equals the first ones stay."""
    if mass >= 1:
        return logits
    arrays = arrays_of(logits)
    descending = arrays.descending(logits)
    cumulative = _cumulative(arrays, descending)
    needed = mass * cumulative[:, -1:]
    # A token belongs to the set as long as those before it do not have enough.
    count = (cumulative[:, :-1] < needed).sum(1)[:, None] + 1
    return _keep(arrays, logits, arrays.take(descending, count - 1), count)


def draw(logits: Array, uniforms: Host) -> Array:
    """Invert the cumulative distribution at one number of [0, 1) for each row."""
    arrays = arrays_of(logits)
    cumulative = _cumulative(arrays, logits)
    numbers = arrays.numbers(np.minimum(uniforms, LARGEST_UNIFORM))
    passed = (cumulative <= numbers[:, None] * cumulative[:, -1:]).sum(1)
    return arrays.module.clip(passed, 0, logits.shape[1] - 1)


def _cumulative(arrays: Arrays, logits: Array) -> Array:
    """The running sum of each row's probabilities, up to a factor."""
    return arrays.module.cumsum(arrays.module.exp(_from_largest(arrays, arrays.doubles(logits))), 1)


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

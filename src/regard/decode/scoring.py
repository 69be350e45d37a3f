"""The probability of given outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.decode.arrays import Array, arrays_for, arrays_of, log_probabilities_of
from regard.decode.interface import IMPOSSIBLE, StepModel

MOST_PLACES = 512
"""tokens of outputs that are read together: each has a score for the whole vocabulary"""


def score(
    model: StepModel,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    bos_id: int,
    eos_id: int,
) -> list[list[float]]:
    """The log-probability of each token of each target, its end included."""
    assert len(sources) == len(targets)
    if not sources:
        return []
    outputs = [[*target, eos_id] for target in targets]
    if hasattr(model, "read"):
        return _read(model, sources, outputs, bos_id)
    lengths = np.array([len(output) for output in outputs])
    arrays = arrays_for(model)
    state = model.start(sources)
    alive = np.arange(len(outputs))
    inputs = np.full(len(outputs), bos_id)
    # Nothing is read before the end, so that a GPU is never waited for.
    steps: list[tuple[list[int], Array]] = []
    for length in range(int(lengths.max())):
        logits, state = model.step(arrays.integers(inputs), state)
        arrays = arrays_of(logits)
        inputs = np.array([outputs[number][length] for number in alive.tolist()])
        picked = arrays.pick(log_probabilities_of(model, logits), np.arange(len(alive)), inputs)
        steps.append((alive.tolist(), picked))
        going = np.flatnonzero(lengths[alive] > length + 1)
        if len(going) < len(alive):
            alive, inputs = alive[going], inputs[going]
            if len(going):
                state = state.select(arrays.integers(going))
    results: list[list[float]] = [[] for _ in outputs]
    for numbers, picked in steps:
        for number, value in zip(numbers, arrays.host(picked).tolist(), strict=True):
            results[number].append(max(value, IMPOSSIBLE))
    return results


def _read(
    model: Any, sources: Sequence[Sequence[int]], outputs: list[list[int]], bos_id: int
) -> list[list[float]]:
    """The same for a model that reads whole outputs, padded at their ends."""
    state = model.start(sources)
    results: list[list[float]] = []
    while len(results) < len(outputs):
        group = _group(outputs, len(results))
        longest = max(map(len, outputs[group.start : group.stop]))
        following = np.array(
            [[*outputs[i], *[bos_id] * (longest - len(outputs[i]))] for i in group]
        )
        tokens = np.concatenate([np.full((len(group), 1), bos_id), following[:, :-1]], axis=1)
        values, _ = model.read(tokens, following, state.select(np.array(group)))
        for i, row in zip(group, np.maximum(values, IMPOSSIBLE).tolist(), strict=True):
            results.append(row[: len(outputs[i])])
    return results


def _group(outputs: list[list[int]], begin: int) -> range:
    """The outputs from this one on that are read together."""
    end, longest = begin + 1, len(outputs[begin])
    while end < len(outputs):
        longest = max(longest, len(outputs[end]))
        if longest * (end + 1 - begin) > MOST_PLACES:
            break
        end += 1
    return range(begin, end)

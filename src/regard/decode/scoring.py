"""How probable a model finds given outputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.decode.arrays import Array, arrays_for, arrays_of, log_probabilities_of
from regard.decode.interface import IMPOSSIBLE, StepModel


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

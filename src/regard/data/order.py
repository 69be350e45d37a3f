"""The order of the pairs of a corpus: shuffled anew each epoch, the same from the same seed.

A corpus of at most `window` pairs is shuffled as a whole. In a larger one, blocks of neighbouring pairs are shuffled,
and then the pairs within a window of 256 blocks. Only the indices of one window, and a number for each block, lie in
memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.storage import Rows
from regard.errors import TrainingError

_BLOCKS_IN_A_WINDOW = 256


@dataclass(frozen=True)
class Lanes:
    """The number of batches of an update, and those that this process builds: every `step`th."""

    count: int = 1
    first: int = 0
    step: int = 1

    @property
    def own(self) -> range:
        # A process without a batch of its own gets one all the same, to take part in the computation.
        return range(self.first % self.count, self.count, self.step)


def check_fingerprint(state: Mapping[str, Any], fingerprint: int) -> None:
    """Refuse the position of a stream over other text, or with other settings."""
    if state["fingerprint"] != fingerprint:
        raise TrainingError(
            "a run must be resumed with the text and the batch settings it began with: "
            "they have changed; restore them, or start a new run"
        )


class Order:
    """Indices of pairs; each comes once an epoch."""

    def __init__(self, num_pairs: int, seed: int, window: int) -> None:
        self.num_pairs, self._seed = num_pairs, seed
        self._num_windows = max(1, round(num_pairs / window)) if num_pairs > window else 1
        num_blocks = self._num_windows * _BLOCKS_IN_A_WINDOW if self._num_windows > 1 else 1
        self._bounds = np.arange(num_blocks + 1) * num_pairs // num_blocks
        self._shuffled: tuple[int, Rows, Rows] | None = None
        self._last: tuple[tuple[int, int], Rows] | None = None

    def rows(self, epoch: int, start: int, stop: int) -> Rows:
        """The pairs at positions start to stop of an epoch."""
        if self._num_windows == 1:
            return self._window(epoch, 0)[start:stop]
        _, starts = self._blocks(epoch)
        first, last = np.searchsorted(starts, [start, stop - 1], side="right") - 1
        parts = [
            self._window(epoch, window)[max(start - starts[window], 0) : stop - starts[window]]
            for window in range(first, last + 1)
        ]
        return np.concatenate(parts)

    def _blocks(self, epoch: int) -> tuple[Rows, Rows]:
        """The shuffled blocks, and the position in the epoch where each window of them begins."""
        held = self._shuffled
        if held is None or held[0] != epoch:
            order = self._generator(epoch).permutation(len(self._bounds) - 1)
            lengths = np.diff(self._bounds)[order].reshape(self._num_windows, -1).sum(axis=1)
            held = self._shuffled = (epoch, order, np.cumsum(lengths) - lengths)
        return held[1:]

    def _window(self, epoch: int, window: int) -> Rows:
        # Positions come in order, so the last window is nearly always the one.
        held = self._last
        if held is None or held[0] != (epoch, window):
            held = self._last = ((epoch, window), self._shuffle(epoch, window))
        return held[1]

    def _shuffle(self, epoch: int, window: int) -> Rows:
        if self._num_windows == 1:
            return self._generator(epoch).permutation(self.num_pairs)
        order, _ = self._blocks(epoch)
        blocks = order[window * _BLOCKS_IN_A_WINDOW : (window + 1) * _BLOCKS_IN_A_WINDOW]
        pairs = np.concatenate(
            [np.arange(self._bounds[block], self._bounds[block + 1]) for block in blocks]
        )
        return self._generator(epoch, window).permutation(pairs)

    def _generator(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *numbers])

"""Sequences of unequal length in one flat array."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ragged:
    """Sequence i is ids[offsets[i] : offsets[i + 1]]."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Ragged:
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        flat = itertools.chain.from_iterable(sequences)
        return cls.of_lengths(np.fromiter(flat, np.int32, int(lengths.sum())), lengths)

    @classmethod
    def of_lengths(cls, ids: NDArray[np.int32], lengths: NDArray[np.int64]) -> Ragged:
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(ids, offsets)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        lengths = np.concatenate([part.lengths for part in parts])
        return cls.of_lengths(np.concatenate([part.ids for part in parts]), lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def lists(self) -> list[list[int]]:
        ids, offsets = self.ids.tolist(), self.offsets.tolist()
        return [ids[start:stop] for start, stop in itertools.pairwise(offsets)]

    def beginning_with(self, token: int) -> Ragged:
        ids = np.insert(self.ids, self.offsets[:-1], token)
        return Ragged(ids, self.offsets + np.arange(len(self.offsets)))

    def ending_with(self, token: int) -> Ragged:
        ids = np.insert(self.ids, self.offsets[1:], token)
        return Ragged(ids, self.offsets + np.arange(len(self.offsets)))

    def take(self, rows: NDArray[np.int64]) -> Ragged:
        return self.between(self.offsets[rows], self.offsets[rows + 1])

    def gather(self, rows: NDArray[np.int64], skip_first: int = 0, skip_last: int = 0) -> NDArray[np.int32]:
        """The tokens of some sequences end to end, each without its first or last few."""
        starts = self.offsets[rows] + skip_first
        return self.between(starts, self.offsets[rows + 1] - skip_last).ids

    def between(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Ragged:
        """Parts of the flat array as sequences; they may overlap."""
        lengths = stops - starts
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        places = np.repeat(starts - ends + lengths, lengths) + np.arange(total)
        return Ragged.of_lengths(self.ids[places], lengths)

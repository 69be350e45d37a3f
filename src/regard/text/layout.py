"""Sequences of unequal length as the rectangles a model computes on: padded rows, or one packed row."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.text.packing import Buffer, Rows
from regard.text.tokenizer import PAD_ID


@dataclass(frozen=True)
class Batch:
    """Sequences of a step, in rows padded to the longest, or packed end to end in one row.

    Packed, the lengths are in the order of the sequences; dummies of padding cover the end of the row
    and slots of length 0 come last, so that every batch of a stream has the same shape.
    """

    source: NDArray[np.int64]
    source_lengths: NDArray[np.int32]
    target_input: NDArray[np.int64]
    target_output: NDArray[np.int64]
    target_lengths: NDArray[np.int32]
    packed: bool
    num_tokens: int
    """real tokens, source and target"""


@dataclass(frozen=True)
class Ragged:
    """Sequences of unequal length, one after another in one array."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Ragged:
        offsets = np.zeros(len(sequences) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, sequences), np.int64, len(sequences)), out=offsets[1:])
        flat = itertools.chain.from_iterable(sequences)
        return cls(np.fromiter(flat, np.int32, int(offsets[-1])), offsets)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        lengths = np.concatenate([part.lengths for part in parts])
        ids = np.concatenate([part.ids for part in parts])
        return cls(ids, np.concatenate([[0], np.cumsum(lengths)]))

    def without_ids(self) -> Ragged:
        """Only the lengths, where nothing else is needed of many sequences."""
        return Ragged(self.ids[:0].copy(), self.offsets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, rows: Rows) -> Ragged:
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(self.lengths[rows], out=offsets[1:])
        return Ragged(self.gather(rows), offsets)

    def gather(self, rows: Rows, skip_first: int = 0, skip_last: int = 0) -> NDArray[np.int32]:
        """The tokens of some sequences end to end, each without its first or last few."""
        starts = self.offsets[rows] + skip_first
        lengths = self.offsets[rows + 1] - skip_last - starts
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        return self.ids[np.repeat(starts - ends + lengths, lengths) + np.arange(total)]


def packed_batch(source: Ragged, target: Ragged, rows: Rows, buffer: Buffer) -> Batch:
    source_row, input_row, output_row = (
        np.full((1, length), PAD_ID, np.int64)
        for length in (buffer.source, buffer.target, buffer.target)
    )
    source_ids = source.gather(rows)
    input_ids = target.gather(rows, skip_last=1)
    source_row[0, : len(source_ids)] = source_ids
    input_row[0, : len(input_ids)] = input_ids
    output_row[0, : len(input_ids)] = target.gather(rows, skip_first=1)
    source_lengths, target_lengths = buffer.lengths_with_tail(
        source.lengths[rows], target.lengths[rows] - 1
    )
    return Batch(
        source=source_row,
        source_lengths=source_lengths.astype(np.int32),
        target_input=input_row,
        target_output=output_row,
        target_lengths=target_lengths.astype(np.int32),
        packed=True,
        num_tokens=len(source_ids) + len(input_ids),
    )


def padded_batch(source: Ragged, target: Ragged, rows: Rows) -> Batch:
    source_lengths, target_lengths = source.lengths[rows], target.lengths[rows] - 1
    return Batch(
        source=_pad(source.gather(rows), source_lengths),
        source_lengths=source_lengths.astype(np.int32),
        target_input=_pad(target.gather(rows, skip_last=1), target_lengths),
        target_output=_pad(target.gather(rows, skip_first=1), target_lengths),
        target_lengths=target_lengths.astype(np.int32),
        packed=False,
        num_tokens=int(source_lengths.sum() + target_lengths.sum()),
    )


def _pad(ids: NDArray[np.int32], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    padded = np.full((len(lengths), int(lengths.max(initial=0))), PAD_ID, np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = ids
    return padded

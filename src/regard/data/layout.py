"""Sequences of unequal length as the rectangles a model computes on: padded rows, or one packed row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.packing import Buffer, Rows, group_by_length, pack
from regard.text.ragged import Ragged
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


def batches_of(
    source: Ragged,
    target: Ragged,
    *,
    batch_tokens: int,
    buffer: Buffer | None,
    seed: Sequence[int],
) -> list[Batch]:
    """All sequences in batches: packed where there is a buffer, else rows of like length in random order."""
    source_lengths, target_lengths = source.lengths, target.lengths - 1
    if buffer is not None:
        groups = pack(source_lengths, target_lengths, buffer)
        return [packed_batch(source, target, rows, buffer) for rows in groups]
    groups = group_by_length(source_lengths, target_lengths, batch_tokens)
    order = np.random.default_rng(list(seed)).permutation(len(groups))
    return [padded_batch(source, target, groups[place]) for place in order]


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

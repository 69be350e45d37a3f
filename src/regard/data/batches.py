"""Batches: which pairs share one, and the arrays a model computes on.

Pairs of like length are padded to the longest, or any pairs are packed end to end. All lengths are those of the
sequences a model sees, the end mark included.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from regard.errors import ModelError
from regard.text.ragged import Ragged
from regard.text.tokenizer import PAD_ID, Ends, TokenizerBase

Lengths = NDArray[np.int64]
Rows = NDArray[np.int64]

MASK = "[MASK]"  # the token of a blank
_POOL = 1024
_LOOSE_END = 0.04
_SLOT_MARGIN = 1.3


@dataclass(frozen=True)
class Buffer:
    """The fixed shape of packed batches: tokens on each side, and how many sequences may lie in them."""

    source: int
    target: int
    slots: int
    max_length: int

    @classmethod
    def sized(cls, batch_tokens: int, source_mean: float, target_mean: float, max_length: int) -> Self:
        """Both sides in the proportion of the corpus, so that they fill up together."""
        source = round(batch_tokens * source_mean / (source_mean + target_mean))
        num_pairs = batch_tokens / (source_mean + target_mean)
        buffer = cls(source, batch_tokens - source, int(num_pairs * _SLOT_MARGIN) + 16, max_length)
        return replace(buffer, slots=buffer.slots + buffer.num_dummies)

    @property
    def num_dummies(self) -> int:
        """How many dummy sequences cover the longest possible tail; each needs a token of either side."""
        return -(-max(self.source, self.target) // self.max_length)

    @property
    def source_room(self) -> int:
        return self.source - self.num_dummies if self.source else 0

    @property
    def target_room(self) -> int:
        return self.target - self.num_dummies

    @property
    def slots_room(self) -> int:
        return self.slots - self.num_dummies

    def lengths_with_tail(self, source: Lengths, target: Lengths) -> tuple[Lengths, Lengths]:
        """The lengths of all slots: the sequences, dummies over the tails, then zeros."""
        tails = (self.source - source.sum(), self.target - target.sum())
        num_dummies = -(-max(tails) // self.max_length)
        unused = np.zeros(self.slots - len(target) - num_dummies, np.int64)
        dummies = [(tail + np.arange(num_dummies)[::-1]) // max(num_dummies, 1) for tail in tails]
        return np.concatenate([source, dummies[0], unused]), np.concatenate([target, dummies[1], unused])


def pack(source: Lengths, target: Lengths, buffer: Buffer) -> list[Rows]:
    """Groups of pairs that fit into a buffer, nearly all of them nearly full; each pair once.

    A buffer takes pairs in the given order until little room is left, then those of the next ones that
    fill the rest best.
    """
    groups = []
    queue = np.arange(len(target))
    while len(queue):
        head = queue[: buffer.slots_room]
        count = min(
            int(np.searchsorted(np.cumsum(lengths[head]), room * (1 - _LOOSE_END), side="right"))
            for lengths, room in ((source, buffer.source_room), (target, buffer.target_room))
        )
        taken, queue = queue[:count], queue[count:]
        pool = queue[:_POOL]
        rooms = buffer.source_room - int(source[taken].sum()), buffer.target_room - int(target[taken].sum())
        picked = _fill(source[pool], target[pool], *rooms, buffer.slots_room - count)
        assert count or picked, "a pair is longer than the buffer"
        groups.append(np.concatenate([taken, queue[picked]]))
        queue = np.delete(queue, picked)
    return groups


def _fill(source: Lengths, target: Lengths, source_room: int, target_room: int, slots: int) -> list[int]:
    """Which pairs of the pool to add, one by one the one that leaves the least and most even rest."""
    picked: list[int] = []
    free = np.ones(len(target), bool)
    while len(picked) < slots:
        source_rest, target_rest = source_room - source, target_room - target
        fits = np.flatnonzero(free & (source_rest >= 0) & (target_rest >= 0))
        if not len(fits):
            break
        source_rest, target_rest = source_rest[fits], target_rest[fits]
        unused = source_rest + target_rest + 2 * np.abs(source_rest - target_rest)
        best = int(fits[np.argmin(unused)])
        picked.append(best)
        free[best] = False
        source_room -= int(source[best])
        target_room -= int(target[best])
    return picked


def group_by_length(source: Lengths, target: Lengths, batch_tokens: int) -> list[Rows]:
    """Groups of pairs of like length whose padded rows hold at most `batch_tokens`; each pair once."""
    order = np.lexsort((source, np.maximum(source, target)))
    groups = []
    start = longest_source = longest_target = 0
    for stop, (source_length, target_length) in enumerate(
        zip(source[order].tolist(), target[order].tolist(), strict=True)
    ):
        longest_source = max(longest_source, source_length)
        longest_target = max(longest_target, target_length)
        if (stop + 1 - start) * (longest_source + longest_target) > batch_tokens and stop > start:
            groups.append(order[start:stop])
            start, longest_source, longest_target = stop, source_length, target_length
    groups.append(order[start:])
    return groups


@dataclass(frozen=True)
class Batch:
    """Sequences of a training step: rows padded to the longest, or one row packed end to end.

    Packed, the lengths are in the order of the sequences; dummies of padding cover the end of the row
    and slots of length 0 come last, so that every batch of a stream has the same shape.
    """

    source: NDArray[np.int64]
    source_lengths: NDArray[np.int32]
    target_input: NDArray[np.int64]
    target_output: NDArray[np.int64]
    target_lengths: NDArray[np.int32]
    packed: bool
    num_tokens: int  # tokens of both sides, without padding


def with_ids(batch: Batch, dtype: DTypeLike) -> Batch:
    """The batch with token ids of another type: int32 takes half the memory, int64 is what a model reads."""
    names = ("source", "target_input", "target_output")
    return replace(batch, **{name: getattr(batch, name).astype(dtype, copy=False) for name in names})


def batches_of(
    source: Ragged, target: Ragged, *, batch_tokens: int, buffer: Buffer | None, seed: Sequence[int], pad_id: int = 0
) -> list[Batch]:
    """All sequences in batches: packed if there is a buffer, else rows of like length in random order."""
    source_lengths, target_lengths = source.lengths, target.lengths - 1
    if buffer is not None:
        groups = pack(source_lengths, target_lengths, buffer)
        return [make_batch(source, target, rows, buffer, pad_id) for rows in groups]
    groups = group_by_length(source_lengths, target_lengths, batch_tokens)
    order = np.random.default_rng(list(seed)).permutation(len(groups))
    return [make_batch(source, target, groups[place], None, pad_id) for place in order]


def make_batch(source: Ragged, target: Ragged, rows: Rows, buffer: Buffer | None = None, pad_id: int = PAD_ID) -> Batch:
    """Some sequences packed into a buffer, or padded to the longest."""
    lengths = (source.lengths[rows], target.lengths[rows] - 1)
    num_tokens = int(lengths[0].sum() + lengths[1].sum())
    if buffer is None:
        source_rows, target_rows = lengths
    else:
        lengths = buffer.lengths_with_tail(*lengths)
        source_rows, target_rows = np.array([buffer.source]), np.array([buffer.target])
    return Batch(
        source=_pad(source.gather(rows), source_rows, pad_id),
        source_lengths=lengths[0].astype(np.int32),
        target_input=_pad(target.gather(rows, skip_last=1), target_rows, pad_id),
        target_output=_pad(target.gather(rows, skip_first=1), target_rows, pad_id),
        target_lengths=lengths[1].astype(np.int32),
        packed=buffer is not None,
        num_tokens=num_tokens,
    )


def _pad(ids: NDArray[np.int32], lengths: Lengths, pad_id: int) -> NDArray[np.int64]:
    """The ids in rows of these lengths; a single row may be longer than they are."""
    padded = np.full((len(lengths), int(lengths.max(initial=0))), pad_id, np.int64)
    if len(lengths) == 1:
        padded[0, : len(ids)] = ids
    else:
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = ids
    return padded


def batches_for_inference(ids: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
    """Indices of sequences, longest first, in groups that take at most `max_tokens` when padded."""
    groups: list[list[int]] = []
    for index in sorted(range(len(ids)), key=lambda index: -len(ids[index])):
        if groups and (len(groups[-1]) + 1) * len(ids[groups[-1][0]]) <= max_tokens:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def padded_batches(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int, ends: Ends = TokenizerBase
) -> Iterator[Batch]:
    """Each pair once in padded batches of like length, for a loss over a whole set."""
    source = Ragged.of([[*ids, ends.eos_id] for ids in sources])
    target = Ragged.of([[ends.bos_id, *ids, ends.eos_id] for ids in targets])
    for rows in group_by_length(source.lengths, target.lengths - 1, batch_tokens):
        yield make_batch(source, target, rows, pad_id=ends.pad_id)


def num_asked(share: float, num_tokens: int) -> int:
    """The number of tokens to predict; it never falls with the number of tokens."""
    return min(num_tokens, max(1, round(share * num_tokens)))


@dataclass(frozen=True)
class Masking:
    """Masked language modelling: some tokens of a text are to be predicted, most of them hidden.

    Devlin et al. 2019, section 3.1: of the tokens to predict 80 % are replaced by [MASK], 10 % by a random token, and
    10 % stay, because a text in use holds no [MASK]. They are drawn anew for every batch (Liu et al. 2019, section 4.1:
    dynamic masking).

    Differs from BERT: the share is exact in every batch instead of in every text.
    """

    tokenizer: TokenizerBase
    share: float = 0.15  # share of tokens to predict
    hidden: float = 0.8
    random: float = 0.1
    """shares of those that are hidden, or replaced by a random token"""

    def __post_init__(self) -> None:
        if self.tokenizer.id_of(MASK) is None:
            raise ModelError(
                f"the tokenizer must have the token {MASK}: it has not; train a new one, or use that of a model "
                "that fills in blanks"
            )

    def __call__(self, batch: Batch, seed: Sequence[int]) -> Batch:
        """From a batch whose output is the text: the input has blanks, the output their tokens, and padding elsewhere."""
        generator = np.random.default_rng(list(seed))
        special = np.zeros(self.tokenizer.vocab_size, bool)
        special[list(self.tokenizer.special_ids)] = True
        text = batch.target_output
        places = np.flatnonzero(~special[text])
        count = num_asked(self.share, len(places))
        asked = np.sort(generator.choice(places, count, replace=False))
        drawn = generator.random(count)
        random_tokens = generator.choice(np.flatnonzero(~special), count)
        answers = text.flat[asked]
        given = np.where(drawn < self.hidden + self.random, random_tokens, answers)
        given[drawn < self.hidden] = self.tokenizer.id_of(MASK)
        with_blanks, correct = text.copy(), np.full_like(text, PAD_ID)
        with_blanks.flat[asked] = given
        correct.flat[asked] = answers
        return replace(batch, target_input=with_blanks, target_output=correct)

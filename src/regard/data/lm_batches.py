"""An endless stream of batches from running text, the same from the same seed, and exact to resume.

An epoch cuts every document into stretches of so many pieces as a row may have, each time in other places; a stretch
goes over line ends, so that a story goes on. They are shuffled and laid out window by window, as pairs are
(`regard.data.batch_stream`). Beginning and end are told only where a document begins and ends.

To fill in blanks a stretch is read whole, with its end, as any text is in use; and one in ten is cut in two, so that
short texts are read as well (Devlin et al. 2019, appendix A.2).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.batches import Batch, Buffer, batches_of
from regard.data.masking import Masking
from regard.errors import DataError, TrainingError, UsageError
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID

_BATCHES_PER_WINDOW = 64
_SHARE_CUT = 0.1

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Stretches:
    """Documents as a model reads them, and how they are cut."""

    documents: Ragged
    max_length: int
    """tokens of a row that the model reads"""
    masked: bool

    @classmethod
    def of(cls, pieces: Ragged, max_length: int, *, masked: bool) -> Stretches:
        if max_length < 2:
            raise UsageError(
                f"max_length must be at least 2 for running text: got {max_length}; raise it"
            )
        documents = pieces if masked else pieces.beginning_with(BOS_ID).ending_with(EOS_ID)
        return cls(documents, max_length, masked)

    @property
    def num_tokens(self) -> int:
        """That are read in an epoch, about."""
        rows = len(self.documents) + self.documents.offsets[-1] // self.max_length
        return int(self.documents.offsets[-1] + (rows if self.masked else -len(self.documents)))

    def cut(self, generator: np.random.Generator | None) -> tuple[Places, Places]:
        """Where stretches begin and end in the flat array: all of the text once; without a generator evenly."""
        row = self.max_length - 1 if self.masked else self.max_length
        lengths = self.documents.lengths - (not self.masked)
        first = np.full(len(lengths), row)
        if generator is not None:
            drawn = generator.integers(1, row + 1, len(lengths))
            first = np.where(lengths > row, drawn, row)
        counts = 1 + -(-np.maximum(lengths - first, 0) // row)
        document = np.repeat(np.arange(len(lengths)), counts)
        number = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
        stops = np.minimum(first[document] + number * row, lengths[document])
        starts = np.maximum(first[document] + (number - 1) * row, 0)
        begin = self.documents.offsets[document]
        starts, stops = starts + begin, stops + begin
        if self.masked and generator is not None:
            middles = starts + 1 + np.floor(generator.random(len(starts)) * (stops - starts - 1))
            cut = np.flatnonzero(
                (generator.random(len(starts)) < _SHARE_CUT) & (stops - starts > 1)
            )
            at = middles[cut].astype(np.int64)
            starts, stops = np.concatenate([starts, at]), np.concatenate([stops, stops[cut]])
            stops[cut] = at
        return starts, stops

    def sequences(self, starts: Places, stops: Places) -> Ragged:
        """The stretches as batches take them: one token more than is read, since the first has none before it."""
        if self.masked:
            return self.documents.between(starts, stops).beginning_with(EOS_ID).ending_with(EOS_ID)
        return self.documents.between(starts, stops + 1)


class ProseStream:
    """Batches without end; `masking` hides pieces of them."""

    num_too_long = 0
    """nothing is left out: what is too long for a row is cut"""

    def __init__(
        self,
        stretches: Stretches,
        *,
        batch_tokens: int,
        packing: bool,
        masking: Masking | None = None,
        seed: int = 1,
    ) -> None:
        assert stretches.masked == (masking is not None)
        self._stretches, self._masking = stretches, masking
        self._batch_tokens, self._seed = batch_tokens, seed
        self.max_sequence_length = stretches.max_length
        """no sequence of any batch is longer"""
        starts, stops = stretches.cut(None)
        if not len(starts):
            raise DataError("the text must hold a piece: got none; give more text")
        self.tokens_per_epoch = stretches.num_tokens
        mean = self.tokens_per_epoch / len(starts)
        self.buffer = (
            Buffer.sized(batch_tokens, 0.0, mean, stretches.max_length) if packing else None
        )
        room = batch_tokens if self.buffer is None else self.buffer.target_room
        if int((stops - starts).max()) + stretches.masked > room:
            raise UsageError(
                f"batch_tokens must have room for a row of {stretches.max_length} tokens: got {batch_tokens}; "
                "raise it, or lower max_length"
            )
        num_batches = self.tokens_per_epoch / batch_tokens
        self._num_windows = max(1, math.ceil(num_batches / _BATCHES_PER_WINDOW))
        settings = (batch_tokens, packing, stretches.max_length, seed, _drawn(masking))
        self._fingerprint = zlib.crc32(repr(settings).encode())
        # One after the other: joined they would be another copy of the text.
        for numbers in (stretches.documents.offsets, stretches.documents.ids):
            self._fingerprint = zlib.crc32(numbers.data, self._fingerprint)
        self._last_epoch: tuple[int, Places, Places] | None = None
        self.restore({"epoch": 0, "window": 0, "batch": 0, "fingerprint": self._fingerprint})

    @property
    def epoch(self) -> int:
        """Of the last batch; a fresh stream is in epoch 0."""
        return self._position[0]

    def state(self) -> dict[str, int]:
        """Where the stream stands after the last batch, for `restore`; fit for JSON."""
        epoch, window = self._position
        return {
            "epoch": epoch,
            "window": window,
            "batch": self._next_batch,
            "fingerprint": self._fingerprint,
        }

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to a position; the batches after it are the same as they were."""
        if state["fingerprint"] != self._fingerprint:
            raise TrainingError(
                "a run must be resumed with the text and the batch settings it began with: "
                "they have changed; restore them, or start a new run"
            )
        self._position = (state["epoch"], state["window"])
        self._next_batch = state["batch"]
        self._window: list[Batch] | None = None

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._window is None:
            self._window = self._build()
        while self._next_batch >= len(self._window):
            epoch, window = self._position
            is_last = window + 1 == self._num_windows
            self._position = (epoch + 1, 0) if is_last else (epoch, window + 1)
            self._next_batch = 0
            self._window = self._build()
        batch = self._window[self._next_batch]
        if self._masking is not None:
            batch = self._masking(batch, [self._seed, *self._position, self._next_batch])
        self._next_batch += 1
        return batch

    def _build(self) -> list[Batch]:
        epoch, window = self._position
        starts, stops = self._cut(epoch)
        bounds = np.linspace(0, len(starts), self._num_windows + 1).astype(np.int64)
        part = slice(bounds[window], bounds[window + 1])
        target = self._stretches.sequences(starts[part], stops[part])
        return batches_of(
            Ragged.of([()] * len(target)),
            target,
            batch_tokens=self._batch_tokens,
            buffer=self.buffer,
            seed=[self._seed, *self._position],
        )

    def _cut(self, epoch: int) -> tuple[Places, Places]:
        """The stretches of an epoch, shuffled."""
        # Windows of one epoch follow one another, so the last one is nearly always the one.
        if self._last_epoch is None or self._last_epoch[0] != epoch:
            generator = np.random.default_rng([self._seed, epoch])
            starts, stops = self._stretches.cut(generator)
            order = generator.permutation(len(starts))
            self._last_epoch = (epoch, starts[order], stops[order])
        return self._last_epoch[1:]

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> ProseStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _drawn(masking: Masking | None) -> tuple[float, ...]:
    return () if masking is None else (masking.share, masking.hidden, masking.random)


def even_batches(
    stretches: Stretches, batch_tokens: int, masking: Masking | None, seed: int
) -> Iterator[Batch]:
    """All of a text once in padded batches, always the same, blanks included: for losses that compare."""
    target = stretches.sequences(*stretches.cut(None))
    source = Ragged.of([()] * len(target))
    batches = batches_of(source, target, batch_tokens=batch_tokens, buffer=None, seed=[seed])
    for number, batch in enumerate(batches):
        yield batch if masking is None else masking(batch, [seed, number])

"""An endless stream of batches from running text, the same from the same seed, and exact to resume.

Each epoch cuts every document into chunks as long as a row, each time in other places; a chunk goes over line ends. The
chunks are shuffled and made into batches window by window, as pairs are (`batch_stream`). Only chunks at the beginning
or the end of a document have its begin or end token.

For masked language modelling a chunk always has an end token, as any text in use; and one chunk in ten is cut in two, so
that short texts are read as well (Devlin et al. 2019, appendix A.2).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.batches import Batch, Buffer, batches_of
from regard.data.masking import Masking
from regard.data.order import check_fingerprint
from regard.errors import DataError, UsageError
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID

_BATCHES_PER_WINDOW = 64
_SHARE_CUT = 0.1

Places = NDArray[np.int64]


@dataclass(frozen=True)
class TextChunks:
    """Documents as token ids, and how they are cut into chunks."""

    documents: Ragged
    max_length: int
    """tokens of a row that the model reads"""
    masked: bool

    @classmethod
    def of(cls, tokens: Ragged, max_length: int, *, masked: bool) -> TextChunks:
        if max_length < 2:
            raise UsageError(
                f"max_length must be at least 2 for running text: got {max_length}; raise it"
            )
        documents = tokens if masked else tokens.beginning_with(BOS_ID).ending_with(EOS_ID)
        return cls(documents, max_length, masked)

    @property
    def num_tokens(self) -> int:
        """About the number of tokens read in an epoch."""
        rows = len(self.documents) + self.documents.offsets[-1] // self.max_length
        return int(self.documents.offsets[-1] + (rows if self.masked else -len(self.documents)))

    def cut(self, generator: np.random.Generator | None) -> tuple[Places, Places]:
        """Where the chunks begin and end in the flat array; without a generator they are cut evenly."""
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
        """The chunks with one token more than is read: what comes after the last."""
        if self.masked:
            return self.documents.between(starts, stops).beginning_with(EOS_ID).ending_with(EOS_ID)
        return self.documents.between(starts, stops + 1)


class ProseStream(AbstractContextManager["ProseStream"]):
    """Batches of running text without end."""

    num_too_long = 0
    """nothing is left out: long documents are cut"""

    def __init__(
        self,
        chunks: TextChunks,
        *,
        batch_tokens: int,
        packing: bool,
        masking: Masking | None = None,
        seed: int = 1,
    ) -> None:
        assert chunks.masked == (masking is not None)
        self._chunks, self._masking = chunks, masking
        self._batch_tokens, self._seed = batch_tokens, seed
        self.max_sequence_length = chunks.max_length
        starts, stops = chunks.cut(None)
        if not len(starts):
            raise DataError("the text must hold a token: got none; give more text")
        self.tokens_per_epoch = chunks.num_tokens
        mean = self.tokens_per_epoch / len(starts)
        self.buffer = Buffer.sized(batch_tokens, 0.0, mean, chunks.max_length) if packing else None
        room = batch_tokens if self.buffer is None else self.buffer.target_room
        if int((stops - starts).max()) + chunks.masked > room:
            raise UsageError(
                f"batch_tokens must have room for a row of {chunks.max_length} tokens: got {batch_tokens}; "
                "raise it, or lower max_length"
            )
        num_batches = self.tokens_per_epoch / batch_tokens
        self._num_windows = max(1, math.ceil(num_batches / _BATCHES_PER_WINDOW))
        shares = () if masking is None else (masking.share, masking.hidden, masking.random)
        settings = (batch_tokens, packing, chunks.max_length, seed, shares)
        self._fingerprint = zlib.crc32(repr(settings).encode())
        # One after the other: joined they would be another copy of the text.
        for numbers in (chunks.documents.offsets, chunks.documents.ids):
            self._fingerprint = zlib.crc32(numbers.data, self._fingerprint)
        self._last_epoch: tuple[int, Places, Places] | None = None
        self.restore({"epoch": 0, "window": 0, "batch": 0, "fingerprint": self._fingerprint})

    @property
    def epoch(self) -> int:
        """The epoch of the last batch; a fresh stream is in epoch 0."""
        return self._position[0]

    def state(self) -> dict[str, int]:
        """The position after the last batch, for `restore`; fit for JSON."""
        values = (*self._position, self._next_batch, self._fingerprint)
        return dict(zip(("epoch", "window", "batch", "fingerprint"), values, strict=True))

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to a position; the batches after it are the same as they were."""
        check_fingerprint(state, self._fingerprint)
        self._position = (state["epoch"], state["window"])
        self._next_batch = state["batch"]
        self._window: list[Batch] | None = None

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        self._window = self._window or self._build()
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
        # Windows of one epoch follow one another, so the last epoch is nearly always the one.
        if self._last_epoch is None or self._last_epoch[0] != epoch:
            generator = np.random.default_rng([self._seed, epoch])
            starts, stops = self._chunks.cut(generator)
            order = generator.permutation(len(starts))
            self._last_epoch = (epoch, starts[order], stops[order])
        _, starts, stops = self._last_epoch
        bounds = np.linspace(0, len(starts), self._num_windows + 1).astype(np.int64)
        part = slice(bounds[window], bounds[window + 1])
        target = self._chunks.sequences(starts[part], stops[part])
        return batches_of(
            Ragged.of([()] * len(target)),
            target,
            batch_tokens=self._batch_tokens,
            buffer=self.buffer,
            seed=[self._seed, *self._position],
        )

    def __exit__(self, *_: object) -> None:
        """Nothing is open; a `BatchStream` has workers."""


def even_batches(
    chunks: TextChunks, batch_tokens: int, masking: Masking | None, seed: int
) -> Iterator[Batch]:
    """All of a text once in padded batches, always the same, blanks included: for comparable losses."""
    target = chunks.sequences(*chunks.cut(None))
    source = Ragged.of([()] * len(target))
    batches = batches_of(source, target, batch_tokens=batch_tokens, buffer=None, seed=[seed])
    for number, batch in enumerate(batches):
        yield batch if masking is None else masking(batch, [seed, number])

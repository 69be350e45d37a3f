"""An endless stream of batches from a corpus, the same from the same seed, and exact to resume.

An epoch is one shuffle of the pairs, cut into windows. A window is encoded (drawing new segmentations
when sampling), grouped and laid out by itself, from nothing but its pairs and (seed, epoch, window):
so any window can be built by any process in any order, and a position in the stream is three numbers.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, TrainingError, UsageError
from regard.text.layout import Batch, padded_batch
from regard.text.packing import Buffer, Rows, group_by_length
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID, Tokenizer
from regard.text.windows import Builder, batch_from_message, checksum, texts_to_arrays
from regard.text.workers import Message, Workers

__all__ = ["Batch", "BatchStream", "Pairs", "batches_for_inference", "padded_batches"]

_BATCHES_PER_WINDOW = 64
_MIN_PAIRS_PER_WINDOW = 1024
_NUM_PAIRS_MEASURED = 2000
_CHUNK = 100_000


class Pairs(Protocol):
    """What a stream needs of a corpus; without sources it is text for a language model."""

    @property
    def sources(self) -> Sequence[str]: ...
    @property
    def targets(self) -> Sequence[str]: ...


class BatchStream:
    """Batches without end; iterate, and `close` (or use as a context) when workers were asked for.

    tokenizers: of the source and of the target; no source tokenizer means a language model.
    batch_tokens: tokens of a batch, both sides and padding included.
    num_workers: processes that prepare batches ahead; any number gives the same batches.
    """

    def __init__(
        self,
        corpus: Pairs,
        tokenizers: tuple[Tokenizer | None, Tokenizer],
        *,
        batch_tokens: int,
        packing: bool,
        sampling: float = 0.0,
        max_length: int = 256,
        seed: int = 1,
        num_workers: int = 0,
    ) -> None:
        assert tokenizers[0] is not None or not any(corpus.sources)
        self._sources, self._targets = corpus.sources, corpus.targets
        self._seed = seed
        self._last_shuffle: tuple[int, Rows] | None = None
        plain = Builder(*tokenizers, batch_tokens, 0.0, max_length, None)
        source_lengths, target_lengths, self._encoded = _encode_all(
            plain, self._sources, self._targets, keep=not sampling
        )
        longest = np.maximum(source_lengths, target_lengths)
        self.max_sequence_length = max_length + 1
        """no sequence of any batch is longer, its end included"""
        self._kept = np.flatnonzero(longest <= self.max_sequence_length)
        self.num_pairs = len(self._kept)
        self.num_too_long = len(longest) - self.num_pairs
        """pairs left out because a side has more than max_length pieces"""
        if not self.num_pairs:
            raise DataError(
                f"the corpus must hold a pair of at most {max_length} pieces a side: got none of "
                f"{len(longest)}; raise max_length"
            )
        checksums = [checksum(texts) for texts in (self._sources, self._targets)]
        self._fingerprint = zlib.crc32(
            repr((batch_tokens, packing, sampling, max_length, seed, *checksums)).encode()
            + source_lengths.tobytes()
            + target_lengths.tobytes()
        )
        self._builder = self._prepare(plain, packing, sampling)
        source_longest, target_longest = (
            int(lengths[self._kept].max()) for lengths in (source_lengths, target_lengths)
        )
        self._check_room(source_longest, target_longest)
        self.restore({"epoch": 0, "window": 0, "batch": 0, "fingerprint": self._fingerprint})
        self._workers: Workers | None = None
        if num_workers:
            self._workers = Workers(num_workers, "regard.text.windows", self._builder.to_message())

    def _prepare(self, plain: Builder, packing: bool, sampling: float) -> Builder:
        """Measure what a pair of sequences takes, and size windows and buffers by it."""
        builder = dataclasses.replace(plain, sampling=sampling)
        num_measured = min(self.num_pairs, _NUM_PAIRS_MEASURED)
        rows = self._kept[np.linspace(0, self.num_pairs - 1, num_measured).astype(np.int64)]
        source, target = builder.encode(*self._texts(rows), [self._seed])
        source_mean = source.lengths.mean()
        target_mean = target.lengths.mean() - 1
        self.tokens_per_epoch = round(float(source_mean + target_mean) * self.num_pairs)
        """an estimate, both sides, as segmented in training"""
        pairs_per_batch = plain.batch_tokens / (source_mean + target_mean)
        self._num_windows = math.ceil(
            self.num_pairs / max(_BATCHES_PER_WINDOW * pairs_per_batch, _MIN_PAIRS_PER_WINDOW)
        )
        if packing:
            buffer = Buffer.sized(plain.batch_tokens, source_mean, target_mean, plain.max_length)
            rooms = [buffer.target_room] + [buffer.source_room] * bool(buffer.source)
            builder = dataclasses.replace(
                builder, buffer=buffer, max_length=min(plain.max_length, *(r - 1 for r in rooms))
            )
        else:
            builder = dataclasses.replace(
                builder, max_length=min(plain.max_length, plain.batch_tokens // 2 - 1)
            )
        return builder

    def _check_room(self, source_longest: int, target_longest: int) -> None:
        buffer = self._builder.buffer
        if buffer is None:
            fits = source_longest + target_longest <= self._builder.batch_tokens
        else:
            fits = source_longest <= buffer.source_room and target_longest <= buffer.target_room
        if not fits:
            raise UsageError(
                f"batch_tokens must have room for the longest pair, {source_longest} and "
                f"{target_longest} tokens: got {self._builder.batch_tokens}; raise it, or lower max_length"
            )

    @property
    def buffer(self) -> Buffer | None:
        """The fixed shape of the batches when packing."""
        return self._builder.buffer

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
        self._window: _Window | None = None
        self._ahead: deque[Future[Message]] = deque()
        self._ahead_position = self._position

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._window is None:
            self._window = self._build(self._position)
        while self._next_batch >= self._window[0]:
            self._position = self._after(self._position)
            self._next_batch = 0
            self._window = self._build(self._position)
        batch = self._window[1](self._next_batch)
        self._next_batch += 1
        return batch

    def _after(self, position: tuple[int, int]) -> tuple[int, int]:
        epoch, window = position
        return (epoch, window + 1) if window + 1 < self._num_windows else (epoch + 1, 0)

    def _build(self, position: tuple[int, int]) -> _Window:
        """The batches at a position: from the workers, which then go on with a later one, or made here."""
        if self._workers is None:
            batches = self._builder.build(*self._sequences(position), self._window_seed(position))
            return len(batches), batches.__getitem__
        while len(self._ahead) < self._workers.num_workers + 2:
            self._ahead.append(self._workers.submit(partial(self._task, self._ahead_position)))
            self._ahead_position = self._after(self._ahead_position)
        message = self._ahead.popleft().result()
        packed = self.buffer is not None
        return len(message[0]["num_tokens"]), partial(batch_from_message, message, packed)

    def _task(self, position: tuple[int, int]) -> Message:
        header = {"seed": self._window_seed(position)}
        if self._encoded is None:
            sources, targets = self._texts(self._rows(position))
            return header, {
                **texts_to_arrays("source", sources),
                **texts_to_arrays("target", targets),
            }
        source, target = self._sequences(position)
        return header, {
            "source_ids": source.ids,
            "source_offsets": source.offsets,
            "target_ids": target.ids,
            "target_offsets": target.offsets,
        }

    def _sequences(self, position: tuple[int, int]) -> tuple[Ragged, Ragged]:
        rows = self._rows(position)
        if self._encoded is None:
            return self._builder.encode(*self._texts(rows), self._window_seed(position))
        return self._encoded[0].take(rows), self._encoded[1].take(rows)

    def _texts(self, rows: Rows) -> tuple[list[str], list[str]]:
        indices = rows.tolist()
        sources = [self._sources[index] for index in indices] if self._sources else []
        return sources, [self._targets[index] for index in indices]

    def _rows(self, position: tuple[int, int]) -> Rows:
        epoch, window = position
        bounds = np.linspace(0, self.num_pairs, self._num_windows + 1).astype(np.int64)
        return self._kept[self._shuffle(epoch)[bounds[window] : bounds[window + 1]]]

    def _shuffle(self, epoch: int) -> Rows:
        # Windows of one epoch follow one another, so the last shuffle is nearly always the one.
        cached = self._last_shuffle
        if cached is None or cached[0] != epoch:
            order = np.random.default_rng([self._seed, epoch]).permutation(self.num_pairs)
            cached = self._last_shuffle = (epoch, order)
        return cached[1]

    def _window_seed(self, position: tuple[int, int]) -> list[int]:
        return [self._seed, *position]

    def close(self) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def __enter__(self) -> BatchStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_Window = tuple[int, Callable[[int], Batch]]
"""How many batches a window has, and how to get one"""


def _encode_all(
    builder: Builder, sources: Sequence[str], targets: Sequence[str], *, keep: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[Ragged, Ragged] | None]:
    """The sequence lengths of both sides without sampling, and the sequences if they are to be kept."""
    chunks = []
    for start in range(0, len(targets), _CHUNK):
        source, target = builder.encode(
            sources[start : start + _CHUNK], targets[start : start + _CHUNK], [0]
        )
        chunks.append((source, target) if keep else (source.without_ids(), target.without_ids()))
    source, target = (Ragged.joined(side) for side in zip(*chunks, strict=True))
    return source.lengths, target.lengths - 1, (source, target) if keep else None


def batches_for_inference(ids: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
    """Indices of sequences, longest first, in groups that take at most `max_tokens` when padded."""
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    order = np.argsort(-lengths, kind="stable")
    groups: list[list[int]] = []
    for index in order.tolist():
        if groups and (len(groups[-1]) + 1) * len(ids[groups[-1][0]]) <= max_tokens:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def padded_batches(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int
) -> Iterator[Batch]:
    """Given pieces, each pair once in padded batches of like length: for a loss over a whole set.

    For a language model the sources are empty.
    """
    source = Ragged.of([[*ids, EOS_ID] for ids in sources] if sources else [()] * len(targets))
    target = Ragged.of([[BOS_ID, *ids, EOS_ID] for ids in targets])
    for rows in group_by_length(source.lengths, target.lengths - 1, batch_tokens):
        yield padded_batch(source, target, rows)

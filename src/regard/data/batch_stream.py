"""An endless stream of batches from a corpus, the same from the same seed, and exact to resume.

An epoch is one shuffle of the pairs (`order`), cut into windows. The batches of a window depend only on its pairs and on
(seed, epoch, window), so any process can build any window in any order.

An update of N batches reads N lanes: lane n reads windows n, n + N, n + 2N and so on, over all epochs. A process builds
the windows of its own lanes only, so the text comes in the same order on any number of processes. A position in the
stream is two numbers for each lane: its window, counted over all epochs, and the batch.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import tempfile
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from regard.data.batches import Batch, Buffer, Rows
from regard.data.encoding import Builder, EncodedPairs, batch_from_message, start_workers
from regard.data.order import Lanes, Order, check_fingerprint
from regard.data.workers import Message, Workers, texts_to_arrays, tokens_to_arrays
from regard.errors import DataError, UsageError
from regard.text.ragged import Ragged
from regard.text.tokenizer import Tokenizer

_BATCHES_IN_WORK = 64
"""batches of the current windows of all lanes"""
_MIN_BATCHES_PER_WINDOW = 8
_MIN_PAIRS_PER_WINDOW = 1024
_NUM_PAIRS_MEASURED = 2000
_SHUFFLE_WINDOW = 1_000_000


class Pairs(Protocol):
    """A corpus; without sources it is text for a language model."""

    @property
    def sources(self) -> Sequence[str]: ...
    @property
    def targets(self) -> Sequence[str]: ...


_Window = tuple[int, Callable[[int], Batch]]
"""number of batches of a window, and a function that returns one of them"""


@dataclass
class _Lane:
    """The position of a lane, its current window, and windows that workers are building for it."""

    window: int
    batch: int = 0
    built: _Window | None = None
    ahead: deque[Future[Message]] = field(default_factory=deque)


class BatchStream(AbstractContextManager["BatchStream"]):
    """Batches without end; `close` it (or use it as a context) if it has workers.

    tokenizers: of the source and of the target; no source tokenizer means a language model.
    batch_tokens: tokens of a batch, both sides and padding included.
    num_workers: processes that build batches ahead; any number gives the same batches.
    lanes: those of this process; None stands for the batches of other processes.
    shuffle_window: pairs that are shuffled with one another; see `order`.
    folder: where the tokens of this corpus are kept, for other processes and later runs.
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
        lanes: Lanes | None = None,
        shuffle_window: int = _SHUFFLE_WINDOW,
        folder: Path | None = None,
        num_readers: int = 1,
    ) -> None:
        assert tokenizers[0] is not None or not any(corpus.sources)
        self._seed = seed
        self._lanes = lanes or Lanes()
        plain = Builder(*tokenizers, batch_tokens, 0.0, max_length, None)
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="regard-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._pairs = EncodedPairs(
            corpus.sources,
            corpus.targets,
            plain,
            folder,
            keeps_tokens=not sampling,
            num_processes=num_readers,
        )
        facts = self._pairs.facts
        self.max_sequence_length = max_length + 1
        """maximum tokens of a sequence, its end included"""
        self.num_pairs = len(self._pairs)
        self.num_too_long = facts.num_read - self.num_pairs
        """pairs left out because a side has more than max_length tokens"""
        if not self.num_pairs:
            raise DataError(
                f"the corpus must hold a pair of at most {max_length} tokens a side: got none of "
                f"{facts.num_read}; raise max_length"
            )
        settings = (batch_tokens, packing, sampling, max_length, seed, self._lanes.count)
        self._fingerprint = zlib.crc32(repr((settings, shuffle_window, facts.checksum)).encode())
        self._order = Order(self.num_pairs, seed, shuffle_window)
        self._builder = self._prepare(plain, packing, sampling)
        self._check_room(facts.source_longest, facts.target_longest)
        self._begin({lane: (lane, 0) for lane in self._lanes.own})
        self._workers: Workers | None = None
        if num_workers:
            self._workers = start_workers(self._builder, num_workers)

    def _prepare(self, plain: Builder, packing: bool, sampling: float) -> Builder:
        """Measure the mean length of a pair, and size windows and buffers by it."""
        builder = dataclasses.replace(plain, sampling=sampling)
        num_measured = min(self.num_pairs, _NUM_PAIRS_MEASURED)
        places = np.linspace(0, self.num_pairs - 1, num_measured).astype(np.int64)
        source, target = builder.encode(*self._pairs.texts(places), [self._seed])
        source_mean = source.lengths.mean()
        target_mean = target.lengths.mean() - 1
        self.tokens_per_epoch = round(float(source_mean + target_mean) * self.num_pairs)
        """estimate, both sides, as segmented in training"""
        pairs_per_batch = plain.batch_tokens / (source_mean + target_mean)
        batches = max(_MIN_BATCHES_PER_WINDOW, _BATCHES_IN_WORK // self._lanes.count)
        wanted = math.ceil(self.num_pairs / max(batches * pairs_per_batch, _MIN_PAIRS_PER_WINDOW))
        # A window for each lane lets all of them read the same epoch.
        self._num_windows = min(max(wanted, self._lanes.count), self.num_pairs)
        buffer, rooms = None, [plain.batch_tokens // 2]
        if packing:
            buffer = Buffer.sized(plain.batch_tokens, source_mean, target_mean, plain.max_length)
            rooms = [buffer.target_room] + [buffer.source_room] * bool(buffer.source)
        max_length = min(plain.max_length, *(room - 1 for room in rooms))
        return dataclasses.replace(plain, sampling=sampling, buffer=buffer, max_length=max_length)

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
        """The fixed shape of packed batches."""
        return self._builder.buffer

    @property
    def epoch(self) -> int:
        """The epoch of the last batch; a fresh stream is in epoch 0."""
        return self._current[self._last_lane].window // self._num_windows

    def state(self) -> dict[str, Any]:
        """The position after the last batch of this process's lanes, for `restore`; fit for JSON."""
        lanes = {str(number): [lane.window, lane.batch] for number, lane in self._current.items()}
        return {"lanes": lanes, "fingerprint": self._fingerprint}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go to a position of all lanes, before an update; the batches after it are the same as they were."""
        check_fingerprint(state, self._fingerprint)
        self._begin({lane: state["lanes"][str(lane)] for lane in self._lanes.own})

    def _begin(self, positions: Mapping[int, Sequence[int]]) -> None:
        self._current = {lane: _Lane(window, batch) for lane, (window, batch) in positions.items()}
        self._next_lane = 0
        self._last_lane = self._lanes.own[0]

    def __iter__(self) -> Iterator[Batch | None]:
        return self

    def __next__(self) -> Batch | None:
        number = self._next_lane
        self._next_lane = (number + 1) % self._lanes.count
        if number not in self._lanes.own:
            return None
        self._last_lane = number
        lane = self._current[number]
        lane.built = lane.built or self._build(lane)
        while lane.batch >= lane.built[0]:
            lane.window += self._lanes.count
            lane.batch = 0
            lane.built = self._build(lane)
        lane.batch += 1
        return lane.built[1](lane.batch - 1)

    def _build(self, lane: _Lane) -> _Window:
        """The batches of a lane's window: built here, or by workers, which go on with later windows."""
        if self._workers is None:
            seed = self._window_seed(lane.window)
            batches = self._builder.build(*self._sequences(lane.window), seed)
            return len(batches), batches.__getitem__
        num_ahead = math.ceil((self._workers.num_workers + 2) / len(self._lanes.own))
        while len(lane.ahead) < 1 + num_ahead:
            window = lane.window + len(lane.ahead) * self._lanes.count
            lane.ahead.append(self._workers.submit(partial(self._task, window)))
        message = lane.ahead.popleft().result()
        packed = self.buffer is not None
        return len(message[0]["num_tokens"]), partial(batch_from_message, message, packed)

    def _task(self, window: int) -> Message:
        header = {"seed": self._window_seed(window)}
        if self._pairs.keeps_tokens:
            return header, tokens_to_arrays(*self._sequences(window))
        return header, texts_to_arrays(*self._pairs.texts(self._places(window)))

    def _sequences(self, window: int) -> tuple[Ragged, Ragged]:
        places = self._places(window)
        if self._pairs.keeps_tokens:
            return self._pairs.tokens(places)
        return self._builder.encode(*self._pairs.texts(places), self._window_seed(window))

    def _places(self, window: int) -> Rows:
        epoch, number = divmod(window, self._num_windows)
        start, stop = (n * self.num_pairs // self._num_windows for n in (number, number + 1))
        return self._order.rows(epoch, start, stop)

    def _window_seed(self, window: int) -> list[int]:
        return [self._seed, *divmod(window, self._num_windows)]

    def close(self) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def __exit__(self, *_: object) -> None:
        self.close()

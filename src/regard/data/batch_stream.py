"""A stream of batches without end, the same from the same seed, and exact to resume.

An epoch is one shuffle of the text, cut into windows. The batches of a window depend only on its text and on
(seed, epoch, window), so any process can build any window in any order.

An update of N batches reads N lanes: lane n reads windows n, n + N, n + 2N and so on, over all epochs. A process builds
the windows of its own lanes only, so the text comes in the same order on any number of processes. A position in the
stream is two numbers for each lane: its window, counted over all epochs, and the batch.
"""

import dataclasses
import math
import shutil
import tempfile
import weakref
import zlib
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.batches import Batch, Buffer, with_ids
from regard.data.corpus import Corpus
from regard.data.encoding import Builder, EncodedPairs, Order, build_worker
from regard.data.workers import Workers
from regard.errors import DataError, TrainingError, UsageError
from regard.text.tokenizer import PAD_ID, Tokenizer, TokenizerBase

_BATCHES_IN_WORK = 64  # batches of the current windows of all lanes
_MIN_BATCHES_PER_WINDOW = 8
_MIN_PAIRS_PER_WINDOW = 1024
_NUM_PAIRS_MEASURED = 2000
_SHUFFLE_WINDOW = 1_000_000


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


@dataclass
class _Lane:
    """The position of a lane, its current window, and windows that workers are building for it."""

    window: int
    batch: int = 0
    built: list[Batch] | None = None
    ahead: deque[Future[Any]] = field(default_factory=deque)


class BatchStream(AbstractContextManager["BatchStream"]):
    """Batches without end; None stands for the batches of other processes' lanes."""

    num_too_long = 0  # texts left out because they are too long
    max_sequence_length: int  # maximum tokens of a sequence, its end included
    buffer: Buffer | None  # the fixed shape of packed batches
    pad_id = PAD_ID
    _read: Callable[[int, int], Any]  # epoch and window to the message from which a worker builds it; with workers only

    def __init__(self, num_windows: int, fingerprint: int, lanes: Lanes) -> None:
        """num_windows: of an epoch. fingerprint: of the text and the settings."""
        self._num_windows, self._fingerprint, self._lanes = num_windows, fingerprint, lanes
        self._workers: Workers | None = None
        self._begin({lane: (lane, 0) for lane in lanes.own})

    @abstractmethod
    def _build(self, epoch: int, window: int) -> list[Batch]: ...

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
        if state["fingerprint"] != self._fingerprint:
            raise TrainingError(
                "a run must be resumed with the text and the batch settings it began with: "
                "they have changed; restore them, or start a new run"
            )
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
        lane.built = lane.built or self._built(lane)
        while lane.batch >= len(lane.built):
            lane.window += self._lanes.count
            lane.batch = 0
            lane.built = self._built(lane)
        lane.batch += 1
        return with_ids(lane.built[lane.batch - 1], np.int64)

    def _built(self, lane: _Lane) -> list[Batch]:
        """The batches of a lane's window: built here, or by workers, which go on with later windows."""
        if self._workers is None:
            return self._build(*divmod(lane.window, self._num_windows))
        num_ahead = math.ceil((self._workers.num_workers + 2) / len(self._lanes.own))
        while len(lane.ahead) < 1 + num_ahead:
            window = lane.window + len(lane.ahead) * self._lanes.count
            position = divmod(window, self._num_windows)
            lane.ahead.append(self._workers.submit(self._read, *position))
        return [Batch(**batch) for batch in lane.ahead.popleft().result()]

    def __exit__(self, *_: object) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.__exit__()
            self._workers = None


class PairStream(BatchStream):
    """The batches of a parallel corpus; use it as a context if it has workers.

    tokenizers: of the source and of the target. batch_tokens: tokens of a batch, both sides and padding included.
    num_workers: processes that build batches ahead; any number gives the same batches. lanes: those of this process.
    shuffle_window: pairs that are shuffled together; see `Order`. folder: where the tokens are kept, for other
    processes and later runs.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizers: tuple[TokenizerBase, TokenizerBase],
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
        lanes = lanes or Lanes()
        plain = Builder(*tokenizers, batch_tokens, 0.0, max_length, None)
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="regard-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._pairs = EncodedPairs(
            corpus.sources, corpus.targets, plain, folder, keeps_tokens=not sampling, num_processes=num_readers
        )
        facts = self._pairs.facts
        self.max_sequence_length = max_length + 1
        self._mixture = self._pairs.mixed(corpus.mixture)
        self.num_pairs = len(self._mixture)
        self.num_too_long = facts.num_read - len(self._pairs)
        if not self.num_pairs:
            raise DataError(
                f"the corpus must hold a pair of at most {max_length} tokens a side: got none of "
                f"{facts.num_read}; raise max_length"
            )
        self._seed, self.pad_id = seed, tokenizers[1].pad_id
        self._order = Order(self.num_pairs, seed, shuffle_window)
        settings = (batch_tokens, packing, sampling, max_length, seed, lanes.count)
        fingerprint = zlib.crc32(repr((settings, shuffle_window, facts.checksum)).encode())
        if corpus.mixture is not None:
            fingerprint = zlib.crc32(repr(corpus.mixture.weights).encode(), fingerprint)
        source_mean, target_mean = self._mean_lengths(dataclasses.replace(plain, sampling=sampling))
        pair_mean = source_mean + target_mean
        batches = max(_MIN_BATCHES_PER_WINDOW, _BATCHES_IN_WORK // lanes.count)
        pairs = max(batches * batch_tokens / pair_mean, _MIN_PAIRS_PER_WINDOW)
        # A window for each lane lets all of them read the same epoch.
        num_windows = min(max(math.ceil(self.num_pairs / pairs), lanes.count), self.num_pairs)
        self.buffer, room = None, batch_tokens // 2
        if packing:
            self.buffer = Buffer.sized(batch_tokens, source_mean, target_mean, max_length)
            room = min(self.buffer.target_room, self.buffer.source_room)
        max_length = min(max_length, room - 1)
        self._builder = dataclasses.replace(plain, sampling=sampling, buffer=self.buffer, max_length=max_length)
        self._check_room(batch_tokens)
        super().__init__(num_windows, fingerprint, lanes)
        if num_workers and isinstance(tokenizers[1], Tokenizer):
            self._workers = Workers(build_worker, [self._builder.to_message()] * num_workers)

    def _check_room(self, batch_tokens: int) -> None:
        """Refuse batches without room for the longest pair."""
        source, target = self._pairs.facts.source_longest, self._pairs.facts.target_longest
        if self.buffer is None:
            fits = source + target <= batch_tokens
        else:
            fits = source <= self.buffer.source_room and target <= self.buffer.target_room
        if not fits:
            raise UsageError(
                f"batch_tokens must have room for the longest pair, {source} and {target} tokens: got {batch_tokens}; "
                "raise it, or lower max_length"
            )

    def _mean_lengths(self, builder: Builder) -> tuple[float, float]:
        """Tokens of a source and of a target, as segmented in training, measured on some."""
        num_measured = min(self.num_pairs, _NUM_PAIRS_MEASURED)
        places = np.linspace(0, self.num_pairs - 1, num_measured).astype(np.int64)
        source, target = builder.encode(self._pairs.texts(self._mixture.rows(0, places)), [self._seed])
        return float(source.lengths.mean()), float(target.lengths.mean() - 1)

    def _read(self, epoch: int, window: int) -> dict[str, Any]:
        start, stop = (n * self.num_pairs // self._num_windows for n in (window, window + 1))
        places = self._mixture.rows(epoch, self._order.rows(epoch, start, stop))
        found: dict[str, Any] = {"seed": [self._seed, epoch, window]}
        if self._pairs.keeps_tokens:
            return {**found, "tokens": [vars(side) for side in self._pairs.tokens(places)]}
        return {**found, "texts": self._pairs.texts(places)}

    def _build(self, epoch: int, window: int) -> list[Batch]:
        return [Batch(**batch) for batch in self._builder.build(self._read(epoch, window))]

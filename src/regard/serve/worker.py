"""One thread for each model: it works on the requests of all clients in shared batches.

Jobs wait in a ring. A batch begins with an item of the job that has waited longest and takes one item of each job in
turn, so that a text of a thousand sentences takes its turn like one of a single sentence. The items of a batch are of
similar length, because all are answered when the longest is done, and a batch is small: a larger one is hardly faster
on a CPU, and delays the requests that come meanwhile.

A stream writes a text token by token. Between two steps of a batch every stream makes one step, so that neither waits
for the other. Streams are not batched: they come and go at any step, and a model's state can drop rows but not add
them. Cancelled work is not computed: items that wait are dropped, and a batch that nobody waits for ends at its next
step.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, NamedTuple

from regard.decode import StepModel
from regard.serve.monitoring import Metrics
from regard.serve.request import RequestError
from regard.translate.pipeline import Translator

_MAX_BATCH = {"cpu": (16, 512), "cuda": (256, 16384)}
"""items and source tokens in a batch, padding included, by device"""
_MAX_LENGTH_RATIO = 2  # longest to shortest item of a batch
_SHORT = 8  # tokens up to which all items count as equally long
_STALLED_AFTER = 4.0  # seconds without a step after which a model counts as dead
_STEP_METHODS = ("start", "step", "step_best", "read", "search_whole")
"""methods with which an engine makes steps"""


class ModelStopped(RequestError):
    def __init__(self) -> None:
        super().__init__(503, "the model does not answer", code="model_unavailable", retry_after=10)


class WorkItem(NamedTuple):
    value: Any
    length: int  # tokens
    future: Future[Any]


class ModelJob:
    """The items of one request, each with a future for its result."""

    def __init__(self, task: Any, values: Sequence[Any], lengths: Sequence[int], *, in_order: bool = False) -> None:
        """task: its `run(translator, values)` has a result for each value; jobs with equal tasks share batches.
        in_order: begin with the first item, for a client that reads along; else with the longest."""
        self.task = task
        items = [WorkItem(*each, Future()) for each in zip(values, lengths, strict=True)]
        self.futures = [item.future for item in items]
        self.waiting = deque(items if in_order else sorted(items, key=lambda item: -item.length))
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True
        for future in self.futures:
            future.cancel()

    def fail(self, error: BaseException) -> None:
        self.waiting.clear()
        for future in self.futures:
            with suppress(InvalidStateError):  # done or cancelled
                future.set_exception(error)


class TextStream:
    """A text being written: each step's result is delivered, then None or an error."""

    def __init__(self, begin: Callable[[StepModel], Iterator[Any]], deliver: Callable[[Any], object]) -> None:
        self._begin, self.deliver = begin, deliver
        self._steps: Iterator[Any] | None = None
        self.is_cancelled = False

    def advance(self, model: StepModel) -> bool:
        """Make one step; whether there may be another."""
        try:
            if not self.is_cancelled:
                if self._steps is None:
                    self._steps = self._begin(model)
                self.deliver(next(self._steps))
                return True
        except StopIteration:
            self.deliver(None)
        except Exception as error:
            self.deliver(error)
        self._steps = None  # the model's state is freed in its own thread
        return False


class _BatchCancelled(Exception):
    """Nobody waits for anything of the running batch."""


class Worker:
    def __init__(self, name: str, translator: Translator, queue: int, metrics: Metrics) -> None:
        self.name, self.metrics, self._max_waiting = name, metrics, queue
        self._engine = translator.engine
        watched: Any = _WatchedEngine(translator.engine, self._between_steps)
        self._translator = QuietTranslator(watched, translator.manifest, translator.source, translator.target)
        device = getattr(getattr(translator.engine, "device", None), "type", "cpu")
        self._max_items, self._max_tokens = _MAX_BATCH.get(device, _MAX_BATCH["cpu"])
        self._changed, self._advancing = threading.Condition(), threading.Lock()
        self._jobs: deque[ModelJob] = deque()
        self._streams: list[TextStream] = []
        self._batch: list[tuple[ModelJob, WorkItem]] = []
        self._is_stopping = self._is_working = False
        self.fault: BaseException | None = None
        """error that ended the thread unexpectedly"""
        self._last_step = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"regard-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Fail whatever is left and end the thread."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        if self._thread.is_alive() and not self._is_stalled:
            self._thread.join(timeout=_STALLED_AFTER)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive() and self.fault is None and not self._is_stalled

    @property
    def num_waiting(self) -> int:
        return len(self._jobs) + len(self._streams)

    @property
    def _is_stalled(self) -> bool:
        return self._is_working and time.monotonic() - self._last_step > _STALLED_AFTER

    def check(self) -> None:
        """Raise the error that a new request would get now, before any work is done for it."""
        if not self.is_alive or self._is_stopping:
            raise ModelStopped
        if self.num_waiting >= self._max_waiting:
            raise RequestError(503, "too many requests are waiting: come back in a moment", code="busy", retry_after=1)

    def submit(self, work: ModelJob | TextStream) -> None:
        with self._changed:
            self.check()
            if isinstance(work, ModelJob):
                self._jobs.append(work)
            else:
                self._streams.append(work)
            self._changed.notify()

    def _run(self) -> None:
        try:
            while self._wait():
                self._batch = self._take()
                if self._batch:
                    self._answer(self._batch)
                else:
                    self._advance_streams()
                self._batch = []
        except BaseException as error:
            self.fault = error
        finally:
            with self._changed:
                self._is_stopping, self._is_working = True, False
                jobs = [*(job for job, _ in self._batch), *self._jobs]
            for job in jobs:
                job.fail(ModelStopped())
            for stream in self._streams:
                stream.deliver(ModelStopped())

    def _wait(self) -> bool:
        """Wait for work; whether there is any, or the thread is to end."""
        with self._changed:
            while not (self._jobs or self._streams or self._is_stopping):
                self._is_working = False
                self._changed.wait()
            self._last_step = time.monotonic()
            self._is_working = True
            return not self._is_stopping

    def _take(self) -> list[tuple[ModelJob, WorkItem]]:
        with self._changed:
            jobs = [job for job in self._jobs if job.waiting and not job.is_cancelled]
            batch: list[tuple[ModelJob, WorkItem]] = []
            shortest = longest = max(jobs[0].waiting[0].length, _SHORT) if jobs else 0
            ring = deque(job for job in jobs if job.task == jobs[0].task)
            while ring and len(batch) < self._max_items:
                job = ring.popleft()
                length = max(job.waiting[0].length, _SHORT)
                low, high = min(shortest, length), max(longest, length)
                if batch and (high > _MAX_LENGTH_RATIO * low or high * (len(batch) + 1) > self._max_tokens):
                    continue
                shortest, longest = low, high
                batch.append((job, job.waiting.popleft()))
                if job.waiting:
                    ring.append(job)
            taken = {id(job) for job, _ in batch}
            # Those that had their turn go to the end of the ring.
            jobs.sort(key=lambda job: id(job) in taken)
            self._jobs = deque(job for job in jobs if job.waiting)
        return batch

    def _answer(self, batch: list[tuple[ModelJob, WorkItem]]) -> None:
        self.metrics.observe("regard_batch_sentences", len(batch), model=self.name)
        try:
            results = batch[0][0].task.run(self._translator, [item.value for _, item in batch])
        except _BatchCancelled:
            return
        except Exception as error:
            if len(batch) == 1:
                batch[0][0].fail(error)
                return
            # One item is at fault: run them one by one, so that the others do not fail with it.
            for each in batch:
                self._batch = [each]
                self._answer(self._batch)
            return
        self.metrics.add("regard_sentences_total", len(batch), model=self.name)
        for (_, item), result in zip(batch, results, strict=True):
            with suppress(InvalidStateError):  # cancelled meanwhile
                item.future.set_result(result)

    def _between_steps(self) -> None:
        self._last_step = time.monotonic()
        self._advance_streams()
        if self._batch and all(job.is_cancelled for job, _ in self._batch):
            raise _BatchCancelled

    def _advance_streams(self) -> None:
        # One of the threads that search side by side does it; the others go on.
        if not self._advancing.acquire(blocking=False):
            return
        try:
            for stream in list(self._streams):
                self._last_step = time.monotonic()
                if not stream.advance(self._engine):
                    with self._changed:
                        self._streams.remove(stream)
        finally:
            self._advancing.release()


class QuietTranslator(Translator):
    """Without warnings: they would quote a text in the log, and the flags say the same."""

    def _warn(self, *_: object) -> None:
        pass


class _WatchedEngine:
    """An engine that calls a function before each step, its own or of a copy's."""

    def __init__(self, engine: StepModel, before_step: Callable[[], None]) -> None:
        self._engine, self._before_step = engine, before_step

    @property
    def copies(self) -> list[Any]:
        return [_WatchedEngine(copy, self._before_step) for copy in getattr(self._engine, "copies", ())]

    def __getattr__(self, name: str) -> Any:
        offered = getattr(self._engine, name)
        if name not in _STEP_METHODS or offered is None:
            return offered

        def step(*arguments: Any, **options: Any) -> Any:
            self._before_step()
            return offered(*arguments, **options)

        return step

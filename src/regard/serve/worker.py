"""The threads of each model: they work on the requests of all clients in shared batches.

An engine may have several copies, which share its weights. Each copy has a thread, called a lane, with a batch of its own;
lanes do not wait for each other. While another lane works, a free one waits a moment before it takes a batch, because
clients who just got an answer send their next request. A lane takes an equal share of all items, so that batches are equal.

Jobs wait in a ring. A batch begins with an item of the job that has waited longest and takes one item of each job in
turn, so that a text of a thousand sentences takes its turn like one of a single sentence. The items of a batch are of
similar length, because all are answered when the longest is done. A batch is small: a larger one is hardly faster on a CPU
and delays the requests that arrive meanwhile.

A stream writes a text token by token. Between two steps of the first lane's batch every stream makes one step, so that
neither waits for the other. Streams are not batched: they come and go at any step, and a model's state can drop rows but not add
them. Cancelled work is not computed: items that wait are dropped, a batch that nobody waits for ends at its next step.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple

from regard.decode import StepModel
from regard.serve.monitoring import Metrics
from regard.serve.request import RequestError
from regard.translate.pipeline import Translator

_MAX_BATCH = {"cpu": (12, 512), "cuda": (256, 16384)}  # items and source tokens of a batch, padding included
_GATHER = 0.003  # seconds in which a further item must come, while another thread works, for a lane to wait for it
_MAX_LENGTH_RATIO = 4  # longest to shortest item of a batch
_SHORT = 8  # tokens up to which all items count as equally long
_STALLED_AFTER = 4.0  # seconds without a step after which a model counts as dead
_STEP_METHODS = ("start", "step", "step_best", "read", "search_whole")  # methods with which an engine makes steps


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


class _Lane:
    """A thread that works on one batch at a time, by its own copy of the engine."""

    def __init__(self, number: int, name: str, engine: StepModel, worker: "Worker") -> None:
        self.number, self.batch = number, list[tuple[ModelJob, WorkItem]]()
        self.engine: Any = _WatchedEngine(engine, lambda: worker.between_steps(self))
        self.is_working, self.last_step = False, time.monotonic()
        self.thread = threading.Thread(target=lambda: worker.run(self), name=f"regard-{name}-{number}", daemon=True)

    @property
    def is_stalled(self) -> bool:
        return self.is_working and time.monotonic() - self.last_step > _STALLED_AFTER


class Worker:
    def __init__(self, name: str, translator: Translator, queue: int, metrics: Metrics) -> None:
        self.name, self.metrics, self._max_waiting = name, metrics, queue
        self._engine, self._translator = translator.engine, translator
        device = getattr(getattr(translator.engine, "device", None), "type", "cpu")
        self._max_items, self._max_tokens = _MAX_BATCH.get(device, _MAX_BATCH["cpu"])
        self._changed = threading.Condition()
        self._jobs: deque[ModelJob] = deque()
        self._streams: list[TextStream] = []
        self._is_stopping = False
        self.fault: BaseException | None = None  # error that ended a thread unexpectedly
        copies = getattr(self._engine, "copies", ())
        engines = copies if len(copies) > 1 else [self._engine]
        self._lanes = [_Lane(number, name, each, self) for number, each in enumerate(engines)]
        # A sentence that comes alone has all threads.
        self._whole: Any = _WatchedEngine(self._engine, lambda: self.between_steps(self._lanes[0]))

    def start(self) -> None:
        for lane in self._lanes:
            lane.thread.start()

    def stop(self) -> None:
        """Fail whatever is left and end the threads."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        for lane in self._lanes:
            if lane.thread.is_alive() and not lane.is_stalled:
                lane.thread.join(timeout=_STALLED_AFTER)

    @property
    def is_alive(self) -> bool:
        return self.fault is None and all(each.thread.is_alive() and not each.is_stalled for each in self._lanes)

    @property
    def num_waiting(self) -> int:
        return len(self._jobs) + len(self._streams)

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
            self._changed.notify_all()

    def run(self, lane: _Lane) -> None:
        try:
            while engine := self._next(lane):
                if lane.batch:
                    self._answer(lane, engine)
                else:
                    self._advance_streams(lane)
                lane.batch = []
        except BaseException as error:
            self.fault = error
        finally:
            with self._changed:
                self._is_stopping, lane.is_working = True, False
                jobs = [*(job for job, _ in lane.batch), *self._jobs]
                self._changed.notify_all()
            for job in jobs:
                job.fail(ModelStopped())
            for stream in self._streams if lane.number == 0 else ():
                stream.deliver(ModelStopped())

    def _next(self, lane: _Lane) -> Any:
        """Wait for work and take a batch, or none for the streams; the engine to run it by, or None at the end."""
        with self._changed:
            lane.is_working = False
            self._changed.wait_for(lambda: self._is_stopping or self._has_work(lane))
            while any(each.is_working for each in self._lanes) and (before := self._num_items) < self._max_items:
                if not self._changed.wait_for(lambda: self._num_items > before, _GATHER):
                    break
            if self._is_stopping:
                return None
            lane.last_step, lane.is_working = time.monotonic(), True
            num_asked = self._num_items + sum(len(each.batch) for each in self._lanes)
            is_alone = lane.number == 0 and num_asked == self._num_items == 1
            lane.batch = self._take(-(-num_asked // len(self._lanes)))
            return self._whole if is_alone else lane.engine

    def _has_work(self, lane: _Lane) -> bool:
        """Whether there is more than the free lanes before this one take; the streams are the first one's."""
        num_before = sum(not each.is_working for each in self._lanes[: lane.number])
        return self._num_items > num_before or lane.number == 0 and bool(self._jobs or self._streams)

    @property
    def _num_items(self) -> int:
        return sum(len(job.waiting) for job in self._jobs)

    def _take(self, most: int) -> list[tuple[ModelJob, WorkItem]]:
        jobs = [job for job in self._jobs if job.waiting and not job.is_cancelled]
        batch: list[tuple[ModelJob, WorkItem]] = []
        shortest = longest = max(jobs[0].waiting[0].length, _SHORT) if jobs else 0
        ring = deque(job for job in jobs if job.task == jobs[0].task)
        while ring and len(batch) < min(most, self._max_items):
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

    def _answer(self, lane: _Lane, engine: Any) -> None:
        batch = lane.batch
        self.metrics.observe("regard_batch_sentences", len(batch), model=self.name)
        translator = copy(self._translator)
        translator.engine = engine
        try:
            results = batch[0][0].task.run(translator, [item.value for _, item in batch])
        except _BatchCancelled:
            return
        except Exception as error:
            if len(batch) == 1:
                batch[0][0].fail(error)
                return
            # One item is at fault: run them one by one, so that the others do not fail with it.
            for each in batch:
                lane.batch = [each]
                self._answer(lane, engine)
            return
        self.metrics.add("regard_sentences_total", len(batch), model=self.name)
        for (_, item), result in zip(batch, results, strict=True):
            with suppress(InvalidStateError):  # cancelled meanwhile
                item.future.set_result(result)

    def between_steps(self, lane: _Lane) -> None:
        lane.last_step = time.monotonic()
        self._advance_streams(lane)
        if lane.batch and all(job.is_cancelled for job, _ in lane.batch):
            raise _BatchCancelled

    def _advance_streams(self, lane: _Lane) -> None:
        for stream in list(self._streams) if lane.number == 0 else ():
            lane.last_step = time.monotonic()
            if not stream.advance(self._engine):
                with self._changed:
                    self._streams.remove(stream)


class QuietTranslator(Translator):
    """Without warnings: they would quote a text in the log, and the flags say the same."""

    def _warn(self, *_: object) -> None:
        pass


class _WatchedEngine:
    """An engine that calls a function before each step."""

    def __init__(self, engine: StepModel, before_step: Callable[[], None]) -> None:
        self._engine, self._before_step = engine, before_step

    def __getattr__(self, name: str) -> Any:
        offered = None if name == "copies" else getattr(self._engine, name)
        if name not in _STEP_METHODS or offered is None:
            return offered

        def step(*arguments: Any, **options: Any) -> Any:
            self._before_step()
            return offered(*arguments, **options)

        return step

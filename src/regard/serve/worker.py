"""One thread a model: sentences and replies of all requests in shared batches, and stories between their steps.

Requests stand in a ring. A batch begins with the sentence of the request that has waited longest, and is filled
with one sentence of each request in turn, so that a text of a thousand sentences takes its turn like one of a single
sentence. Sentences of a batch are of like length, for all of them are answered when the last is done, and a batch is
small: a larger one is hardly faster on a CPU, and lets those wait who come while it runs. What a chat model has to
answer is an item of a batch like a sentence is.

A stream writes a text piece by piece. Between two steps of a batch each stream goes one step on, so that neither
waits for the other, and no stream for another. Streams have no batch: they come and go at any step, and a model's
state lets rows go but takes none in. What nobody waits for any more is not computed: a sentence that has not begun is
dropped, and a batch of which nobody waits for anything ends at its next step.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from regard.decode import State, StepModel
from regard.serve.metrics import Metrics
from regard.serve.ticket import Busy, Dead, Job, Stream, Ticket
from regard.translate.translation import Translation
from regard.translate.translator import Translator

_MOST_SENTENCES = {"cpu": 16, "cuda": 256}
_MOST_PIECES = {"cpu": 512, "cuda": 16384}
"""of a batch, padding included"""
_LIKE = 2
"""how many times as long the longest sentence of a batch may be as its shortest"""
_SHORT = 8
"""pieces up to which all sentences are alike"""
_STALLED_AFTER = 4.0
"""seconds without a step after which the model is given up for dead"""


_OTHER_STEPS = ("step_best", "read", "search_whole")


class Abandoned(Exception):
    """Nobody waits for anything of this batch."""


class Worker:
    """The thread of one model."""

    def __init__(
        self, name: str, translator: Translator, most_waiting: int, metrics: Metrics
    ) -> None:
        self.name, self.metrics = name, metrics
        self._engine = translator.engine
        self._translator = _Quiet(
            _Interleaved(translator.engine, self._between_steps),
            translator.manifest,
            translator.source,
            translator.target,
        )
        self._most_waiting = most_waiting
        device = getattr(getattr(translator.engine, "device", None), "type", "cpu")
        self._most_sentences = _MOST_SENTENCES.get(device, _MOST_SENTENCES["cpu"])
        self._most_pieces = _MOST_PIECES.get(device, _MOST_PIECES["cpu"])
        self._changed = threading.Condition()
        self._tickets: deque[Ticket] = deque()
        self._streams: list[Stream] = []
        self._batch: list[tuple[Ticket, Job]] = []
        self._is_stopping = False
        self._is_busy = False
        self.fault: BaseException | None = None
        """what ended the thread, where that was not us"""
        self._beat = time.monotonic()
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
    def is_well(self) -> bool:
        return self._thread.is_alive() and self.fault is None and not self._is_stalled

    @property
    def num_waiting(self) -> int:
        return len(self._tickets) + len(self._streams)

    def submit(self, ticket: Ticket) -> None:
        self._admit(lambda: self._tickets.append(ticket))

    def stream(self, stream: Stream) -> None:
        self._admit(lambda: self._streams.append(stream))

    @property
    def _is_stalled(self) -> bool:
        return self._is_busy and time.monotonic() - self._beat > _STALLED_AFTER

    def check(self) -> None:
        """Raise what a new request would be told now, before any work is put into it."""
        if not self.is_well or self._is_stopping:
            raise Dead
        if self.num_waiting >= self._most_waiting:
            raise Busy

    def _admit(self, enter: Callable[[], None]) -> None:
        with self._changed:
            self.check()
            enter()
            self._changed.notify()

    def _run(self) -> None:
        try:
            while self._wait():
                self._batch = self._take()
                if self._batch:
                    self._answer(self._batch)
                    self._batch = []
                else:
                    self._advance_streams()
        except BaseException as error:
            self.fault = error
        finally:
            with self._changed:
                self._is_stopping, self._is_busy = True, False
                tickets = [*(ticket for ticket, _ in self._batch), *self._tickets]
            for ticket in tickets:
                ticket.fail(Dead())
            for stream in self._streams:
                stream.fail(Dead())

    def _wait(self) -> bool:
        with self._changed:
            while not (self._tickets or self._streams or self._is_stopping):
                self._is_busy = False
                self._changed.wait()
            self._beat = time.monotonic()
            self._is_busy = True
            return not self._is_stopping

    def _take(self) -> list[tuple[Ticket, Job]]:
        """The next batch."""
        with self._changed:
            kept = [each for each in self._tickets if not each.is_abandoned and each.waiting]
            if not kept:
                self._tickets.clear()
                return []
            batch: list[tuple[Ticket, Job]] = []
            shortest = longest = max(kept[0].waiting[0].length, _SHORT)
            ring = deque(each for each in kept if each.wish == kept[0].wish)
            while ring and len(batch) < self._most_sentences:
                ticket = ring.popleft()
                length = max(ticket.waiting[0].length, _SHORT)
                low, high = min(shortest, length), max(longest, length)
                if batch and (high > _LIKE * low or high * (len(batch) + 1) > self._most_pieces):
                    continue
                shortest, longest = low, high
                batch.append((ticket, ticket.waiting.popleft()))
                if ticket.waiting:
                    ring.append(ticket)
            served = {id(ticket) for ticket, _ in batch}
            self._tickets = deque(each for each in kept if id(each) not in served)
            self._tickets += [each for each in kept if id(each) in served and each.waiting]
            return batch

    def _answer(self, batch: list[tuple[Ticket, Job]]) -> None:
        self.metrics.batches.observe(len(batch), model=self.name)
        try:
            wish = batch[0][0].wish
            answers = wish.answer(self._translator, [job.item for _, job in batch])
        except Abandoned:
            return
        except Exception as error:
            if len(batch) == 1:
                batch[0][0].fail(error)
                return
            # One of them is at fault: the others shall not suffer for it.
            for each in batch:
                self._batch = [each]
                self._answer(self._batch)
            return
        self.metrics.sentences.add(len(batch), model=self.name)
        for (ticket, job), answer in zip(batch, answers, strict=True):
            ticket.give(job.place, answer)

    def _between_steps(self) -> None:
        self._beat = time.monotonic()
        if self._streams:
            self._advance_streams()
        if self._batch and all(ticket.is_abandoned for ticket, _ in self._batch):
            raise Abandoned

    def _advance_streams(self) -> None:
        for stream in list(self._streams):
            self._beat = time.monotonic()
            if not stream.advance(self._engine):
                with self._changed:
                    self._streams.remove(stream)


class _Quiet(Translator):
    """What is wrong with a sentence is in its flags; a server has nobody to warn."""

    def _warn(self, results: Sequence[Translation], num_cut: int, where: object) -> None:
        pass


class _Interleaved:
    """An engine that lets the worker look around before each step."""

    def __init__(self, engine: StepModel, look_around: Callable[[], None]) -> None:
        self._engine, self._look_around = engine, look_around

    def __getattr__(self, name: str) -> Any:
        """Other ways to take steps that an engine may offer, and what else it says of itself."""
        offered = getattr(self._engine, name)
        if name not in _OTHER_STEPS or offered is None:
            return offered

        def step(*arguments: Any) -> Any:
            self._look_around()
            return offered(*arguments)

        return step

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> State:
        self._look_around()
        return self._engine.start(sources, attention=attention)

    def step(self, tokens: Any, state: State) -> tuple[Any, State]:
        self._look_around()
        return self._engine.step(tokens, state)

"""What a request leaves with a model's thread: sentences to translate, a reply to draft, or a text to be written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any, Protocol

from regard.config import DecodeConfig
from regard.decode import StepModel
from regard.generate.chat import ReplyCandidate, reply_candidates
from regard.generate.prompts import Prompt
from regard.translate.translation import Translation
from regard.translate.translator import Translator


class Busy(Exception):
    """As many requests wait as may."""


class Dead(Exception):
    """The model's thread has ended or does not move."""


class Wish(Protocol):
    """What is to be done; of requests that wish the same, the items are done together."""

    def answer(self, translator: Translator, items: Sequence[Any]) -> Sequence[Any]:
        """An answer for each item, in the model's thread."""


@dataclass(frozen=True, slots=True)
class Translating:
    """Items are sentences, answers are translations."""

    decode: DecodeConfig
    alignment: bool = False

    def answer(self, translator: Translator, items: Sequence[str]) -> list[Translation]:
        return translator.translate(items, self.decode, sentences=False, alignment=self.alignment)


@dataclass(frozen=True, slots=True)
class Drafting:
    """Items are conversations, each with the number that tells its draws apart; answers are drafts of a reply."""

    decode: DecodeConfig
    num_top: int = 0

    def answer(
        self, translator: Translator, items: Sequence[tuple[Prompt, int]]
    ) -> list[list[ReplyCandidate]]:
        prompts, numbers = zip(*items, strict=True)
        return reply_candidates(translator, prompts, self.decode, numbers, self.num_top)


@dataclass(slots=True)
class Job:
    place: int
    item: Any
    length: int


class Ticket:
    """The items of one request; `future` is given all answers when the last is there."""

    def __init__(
        self,
        wish: Wish,
        items: Sequence[Any],
        lengths: Sequence[int],
        *,
        on_each: Callable[[int, Any], None] | None = None,
    ) -> None:
        self.wish = wish
        self.future: Future[list[Any]] = Future()
        self.results: list[Any] = [None] * len(items)
        self._on_each = on_each
        jobs = [
            Job(place, item, length)
            for place, (item, length) in enumerate(zip(items, lengths, strict=True))
        ]
        if on_each is None:
            # Like ones together; who reads along as they come wants them in order.
            jobs.sort(key=lambda job: -job.length)
        self.waiting = deque(jobs)
        self.num_open = len(jobs)

    @property
    def is_abandoned(self) -> bool:
        return self.future.cancelled()

    def give(self, place: int, answer: Any) -> None:
        self.results[place] = answer
        self.num_open -= 1
        if self._on_each is not None and not self.is_abandoned:
            self._on_each(place, answer)
        if not self.num_open:
            _settle(self.future, lambda: self.future.set_result(self.results))

    def fail(self, error: BaseException) -> None:
        self.waiting.clear()
        _settle(self.future, lambda: self.future.set_exception(error))


class Stream:
    """A text that is being written: what `steps` yields is delivered one by one, then None or an error."""

    def __init__(
        self,
        begin: Callable[[StepModel], Iterator[Any]],
        deliver: Callable[[Any], None],
    ) -> None:
        self._begin, self._deliver = begin, deliver
        self._steps: Iterator[Any] | None = None
        self.is_abandoned = False

    def advance(self, model: StepModel) -> bool:
        """One step; whether there may be another."""
        goes_on = not self.is_abandoned and self._step(model)
        if not goes_on:
            # What the model remembers for it is let go in the model's thread.
            self._steps = None
        return goes_on

    def _step(self, model: StepModel) -> bool:
        try:
            if self._steps is None:
                self._steps = self._begin(model)
            self._deliver(next(self._steps))
        except StopIteration:
            self._deliver(None)
            return False
        except Exception as error:
            self._deliver(error)
            return False
        return True

    def fail(self, error: BaseException) -> None:
        self._deliver(error)


def _settle(future: Future[Any], settle: Callable[[], None]) -> None:
    try:
        settle()
    except InvalidStateError:
        assert future.cancelled() or future.done()

"""What a request leaves with a model's thread: items for its batches, or a text stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from regard.config import DecodeConfig
from regard.decode import StepModel
from regard.generate.chat import ReplyCandidate, reply_candidates
from regard.generate.prompts import Prompt
from regard.serve.request import RequestError
from regard.translate.options import TranslateOptions
from regard.translate.pipeline import Translator
from regard.translate.translation import Translation


class Overloaded(RequestError):
    def __init__(self) -> None:
        message = "too many requests are waiting: come back in a moment"
        super().__init__(503, message, retry_after=1, code="busy")


class ModelStopped(RequestError):
    def __init__(self) -> None:
        message = "the model does not answer"
        super().__init__(503, message, retry_after=10, code="model_unavailable")


# A task runs in the model's thread and has a result for each item of a batch. Jobs with equal tasks share batches.


@dataclass(frozen=True, slots=True)
class TranslateTask:
    """Items are sentences, results are translations."""

    decode: DecodeConfig
    alignment: bool = False

    def run(self, translator: Translator, items: Sequence[str]) -> list[Translation]:
        return translator.translate(
            items, self.decode, TranslateOptions(split=False, alignment=self.alignment)
        )


@dataclass(frozen=True, slots=True)
class ReplyTask:
    """Items are conversations with a number that decides what is sampled; results are candidates for the reply."""

    decode: DecodeConfig
    num_top: int = 0

    def run(
        self, translator: Translator, items: Sequence[tuple[Prompt, int]]
    ) -> list[list[ReplyCandidate]]:
        prompts, numbers = zip(*items, strict=True)
        return reply_candidates(translator, prompts, self.decode, numbers, self.num_top)


class Item(NamedTuple):
    value: Any
    length: int
    """tokens"""
    future: Future[Any]


class ModelJob:
    """The items of one request, each with a future for its result."""

    def __init__(
        self,
        task: TranslateTask | ReplyTask,
        values: Sequence[Any],
        lengths: Sequence[int],
        *,
        in_order: bool = False,
    ) -> None:
        """in_order: begin with the first item, for a client that reads along; else with the longest."""
        self.task = task
        items = [Item(*each, Future()) for each in zip(values, lengths, strict=True)]
        self.futures = [item.future for item in items]
        if not in_order:
            items.sort(key=lambda item: -item.length)
        self.waiting = deque(items)
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

    def __init__(
        self, begin: Callable[[StepModel], Iterator[Any]], deliver: Callable[[Any], object]
    ) -> None:
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

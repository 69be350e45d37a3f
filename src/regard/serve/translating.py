"""Texts of a request become sentences for a model's thread, and translations again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from regard.serve.models import Models, Served
from regard.serve.refusal import Refusal
from regard.serve.ticket import Busy, Dead, Ticket, Translating
from regard.text import language
from regard.text.sentences import Parts, split
from regard.translate.translation import Translation, put_together

_LONG = 2000
"""characters above which cutting a text into sentences would keep other requests waiting"""

_ENOUGH_LETTERS = 40
_SURE = 0.8
"""a text of so many letters that is so surely in another language is not taken for one we know"""


@dataclass(frozen=True, slots=True)
class Detected:
    language: str
    probability: float


class Work:
    """The texts of one request on their way through one model."""

    def __init__(
        self,
        served: Served,
        texts: Sequence[str],
        num_alternatives: int = 0,
        *,
        alignment: bool = False,
        on_each: Callable[[int, Translation], None] | None = None,
    ) -> None:
        self._served, self._texts = served, texts
        translator = served.translator
        count = _Counter(translator.source.encode)
        self.parts = [
            split(text, served.languages[0], count, translator.longest)
            if any(map(str.isalpha, text))
            else Parts([], [text])
            for text in texts
        ]
        sentences = [each for parts in self.parts for each in parts.sentences]
        self.num_pieces = sum(map(count, sentences))
        decode, num_best = served.manifest.decode, num_alternatives + 1
        if num_best > 1:
            decode = replace(decode, n_best=num_best, beam=max(decode.beam, num_best))
        lengths = [count(each) + 1 for each in sentences]
        self.ticket = Ticket(Translating(decode, alignment), sentences, lengths, on_each=on_each)

    def submit(self) -> Future[list[Translation]]:
        if not self.ticket.results:
            self.ticket.future.set_result([])
            return self.ticket.future
        return submit(self._served, self.ticket)

    def put_together(self, translations: Sequence[Translation]) -> list[Translation]:
        """The whole texts, from the translations of their sentences."""
        rest = iter(translations)
        return [
            put_together(text, parts, [next(rest).sentences[0] for _ in parts.sentences])
            for text, parts in zip(self._texts, self.parts, strict=True)
        ]


class _Counter:
    """How many pieces a sentence has, each counted once."""

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        self._encode = encode
        self._known: dict[str, int] = {}

    def __call__(self, sentence: str) -> int:
        if sentence not in self._known:
            self._known[sentence] = len(self._encode(sentence))
        return self._known[sentence]


async def translate(
    served: Served, texts: Sequence[str], num_alternatives: int = 0, *, alignment: bool = False
) -> list[Translation]:
    """Translate for a request; when it is cancelled, so is the work."""
    work = await prepared(served, texts, num_alternatives, alignment=alignment)
    return work.put_together(await finished(work.submit()))


async def translate_in_order(
    served: Served, text: str, tell: Callable[[int, int], None]
) -> AsyncGenerator[str, None]:
    """A translation as it grows, a sentence and the white space after it at a time.

    `tell` hears how many pieces were read, and how many written, since it was last told.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[int] = asyncio.Queue()
    ready: dict[int, Translation] = {}

    def on_each(place: int, translation: Translation) -> None:
        ready[place] = translation
        loop.call_soon_threadsafe(arrived.put_nowait, place)

    work = await prepared(served, [text], on_each=on_each)
    [parts] = work.parts
    tell(work.num_pieces, 0)
    future = work.submit()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(arrived.put_nowait, -1))
    try:
        yield parts.glue[0]
        for place in range(len(parts.sentences)):
            while place not in ready:
                if await arrived.get() < 0 and place not in ready:
                    await finished(future)
            translation = ready.pop(place)
            tell(0, sum(len(each.candidates[0].tokens) for each in translation.sentences))
            yield translation.text + parts.glue[place + 1]
    finally:
        future.cancel()


async def prepared(served: Served, texts: Sequence[str], *arguments: Any, **options: Any) -> Work:
    try:
        served.worker.check()
    except (Busy, Dead) as error:
        raise refusal_of(error) from error
    if sum(map(len, texts)) <= _LONG:
        return Work(served, texts, *arguments, **options)
    return await asyncio.to_thread(Work, served, texts, *arguments, **options)


def submit(served: Served, ticket: Ticket) -> Future[list[Any]]:
    try:
        served.worker.submit(ticket)
    except (Busy, Dead) as error:
        raise refusal_of(error) from error
    return ticket.future


async def finished(future: Future[list[Any]]) -> list[Any]:
    try:
        return await asyncio.wrap_future(future)
    except Dead as error:
        raise refusal_of(error) from error


def refusal_of(error: Busy | Dead) -> Refusal:
    if isinstance(error, Busy):
        return Refusal(
            503, "too many requests are waiting: come back in a moment", retry_after=1, code="busy"
        )
    return Refusal(503, "the model does not answer", retry_after=10, code="model_unavailable")


def detect(models: Models, text: str) -> Detected:
    """The language of a text, one that can be translated if that may well be.

    Of a few words hardly anything is sure, so that the languages of our models go before all others.
    """
    ranked = language.rank(text)
    known = [
        Detected(code, probability) for code, probability in ranked if code in models.languages
    ]
    surely = sum(map(str.isalpha, text)) >= _ENOUGH_LETTERS and ranked[0][1] >= _SURE
    if known and (known[0].language == ranked[0][0] or not surely):
        return known[0]
    if surely or (ranked and not models.languages):
        return Detected(*ranked[0])
    return Detected(models.sources[0] if models.sources else "en", 0.0)

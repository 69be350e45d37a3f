"""What a request gets from a model: translations, a reply, or a text as it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from regard.config import DecodeConfig
from regard.generate.chat import Judge, search_plan, stream_reply
from regard.generate.continuation import continue_text
from regard.generate.prompts import Prompt, max_output
from regard.generate.stream import TextChunk
from regard.serve.jobs import ModelJob, ReplyTask, TextStream, TranslateTask
from regard.serve.models import ServedModel
from regard.translate.translation import Translation, join

_LONG = 2000
"""characters above which a text is split in another thread, so that other requests do not wait"""
_NEXT_CHOICE = 1_000_003
"""offset between the sampling numbers of two choices, so that no choice draws what a later turn draws"""


class TextsJob:
    """The texts of one request, split into sentences for the model's batches and joined again."""

    def __init__(
        self,
        served: ServedModel,
        texts: Sequence[str],
        num_alternatives: int = 0,
        *,
        alignment: bool = False,
        in_order: bool = False,
    ) -> None:
        self._served, self._texts = served, texts
        translator = served.translator
        self.parts = [translator.split(text) for text in texts]
        sentences = [each for parts in self.parts for each in parts.sentences]
        lengths = [translator.num_tokens(each) for each in sentences]
        self.num_tokens = sum(lengths)
        decode, n_best = served.manifest.decode, num_alternatives + 1
        if n_best > 1:
            decode = replace(decode, n_best=n_best, beam=max(decode.beam, n_best))
        task = TranslateTask(decode, alignment)
        self._job = ModelJob(task, sentences, [each + 1 for each in lengths], in_order=in_order)

    def submit(self) -> ModelJob:
        if self._job.futures:
            self._served.worker.submit(self._job)
        return self._job

    def join(self, translations: Sequence[Translation]) -> list[Translation]:
        """The whole texts, from the translations of their sentences."""
        rest = iter(translations)
        return [
            join(text, parts, [next(rest).sentences[0] for _ in parts.sentences])
            for text, parts in zip(self._texts, self.parts, strict=True)
        ]


async def translate(
    served: ServedModel, texts: Sequence[str], num_alternatives: int = 0, *, alignment: bool = False
) -> list[Translation]:
    """Translate texts; cancelling this cancels the work."""
    job = await _prepare(served, texts, num_alternatives, alignment=alignment)
    return job.join([each async for each in _results(job.submit())])


async def translate_in_order(
    served: ServedModel, text: str, count: Callable[[int, int], None]
) -> AsyncGenerator[TextChunk, None]:
    """The translation sentence by sentence, each with the white space after it.

    count: told how many tokens were read and written since the last call.
    """
    job = await _prepare(served, [text], in_order=True)
    [parts] = job.parts
    count(job.num_tokens, 0)
    yield TextChunk(parts.glue[0])
    glue = iter(parts.glue[1:])
    async with aclosing(_results(job.submit())) as results:
        async for translation in results:
            count(0, sum(len(each.candidates[0].tokens) for each in translation.sentences))
            yield TextChunk(translation.text + next(glue))
    yield TextChunk("", (), "stop")


async def _prepare(
    served: ServedModel, texts: Sequence[str], *arguments: Any, **options: Any
) -> TextsJob:
    served.worker.check()
    if sum(map(len, texts)) <= _LONG:
        return TextsJob(served, texts, *arguments, **options)
    return await asyncio.to_thread(TextsJob, served, texts, *arguments, **options)


async def _results(job: ModelJob) -> AsyncGenerator[Any, None]:
    """The results of a submitted job in order; whoever stops reading cancels the rest."""
    try:
        for future in job.futures:
            yield await asyncio.wrap_future(future)
    finally:
        job.cancel()


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What a request asks of each text; None is the model's own setting."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    """a client's 0 asks for nothing, and is None too"""
    seed: int | None = None
    stops: tuple[str, ...] = ()
    num_top: int = 0
    """most probable tokens shown beside each token"""


async def reply(
    served: ServedModel, turns: Sequence[str], options: TextOptions, number: int
) -> AsyncGenerator[TextChunk, None]:
    """A chat model's reply, chosen as `regard chat` chooses it, then given token by token.

    Its candidates are searched for in batches with those of other conversations.
    """
    translator, judge = served.translator, Judge(turns)
    decode = _decode(served.manifest.decode, options, greedy="beam")
    decode = replace(decode, max_length=options.max_tokens or decode.max_length)
    number = len(turns) // 2 + _NEXT_CHOICE * number
    plan = search_plan(translator, decode, served.manifest.generate, turns, judge)
    # Long turns take long to read and to compare, so this runs outside the event loop.
    while (planned := await asyncio.to_thread(next, plan, None)) is not None:
        prompt, searched = planned
        task = ReplyTask(searched, options.num_top)
        job = ModelJob(task, [(prompt, number)], [prompt.num_tokens])
        served.worker.submit(job)
        [found] = [each async for each in _results(job)]
        await asyncio.to_thread(judge.consider, found)
    for part in stream_reply(translator, judge.chosen, options.stops):
        served.worker.metrics.tokens.add(len(part.tokens), model=served.name)
        yield part


async def write(
    served: ServedModel, prompt: Prompt, options: TextOptions, number: int
) -> AsyncGenerator[TextChunk, None]:
    """A language model's text as it is written; when the reader leaves, the writing stops."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[TextChunk | BaseException | None] = asyncio.Queue()
    decode = _decode(served.manifest.decode, options, greedy="greedy")
    num_tokens = options.max_tokens or decode.max_length or prompt.num_default
    limit = min(len(prompt.prefix) + num_tokens, max_output(served.translator))
    # A beam knows its text only at the end, and a story of the most probable words repeats itself.
    method = "sample" if decode.method == "beam" else decode.method
    decode = replace(decode, method=method, n_best=1, max_length=limit)
    asked = (served.translator, prompt, decode, served.manifest.generate)
    about: dict[str, Any] = {"number": number, "stops": options.stops, "num_top": options.num_top}
    stream = TextStream(
        lambda model: continue_text(model, *asked, **about),
        lambda item: loop.call_soon_threadsafe(arrived.put_nowait, item),
    )
    served.worker.submit(stream)
    try:
        while (item := await arrived.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            served.worker.metrics.tokens.add(len(item.tokens), model=served.name)
            yield item
    finally:
        stream.is_cancelled = True


def _decode(decode: DecodeConfig, options: TextOptions, greedy: str) -> DecodeConfig:
    """The model's own search with the request's options; temperature 0 asks for the method `greedy`."""
    names = ("top_p", "presence_penalty", "frequency_penalty", "seed")
    given = {name: getattr(options, name) for name in names}
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if options.temperature is not None:
        changes["method"] = greedy if options.temperature == 0 else "sample"
        changes["temperature"] = options.temperature or 1.0
    return replace(decode, **changes)

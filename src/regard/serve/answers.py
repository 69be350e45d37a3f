"""What a request gets from a model: translations, a translated document, a reply, or a text as it is written."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from regard.config import DecodeConfig
from regard.documents.document import translate_document
from regard.generate.chat import ReplyCandidate, choose, reply_candidates, reply_searches, stream_reply
from regard.generate.continuation import continue_text
from regard.generate.prompts import Prompt, max_output
from regard.generate.stream import TextChunk
from regard.search.encoder import TextEncoder
from regard.serve.models import ServedModel, Translators
from regard.serve.request import BadField
from regard.serve.worker import ModelJob, TextStream
from regard.translate.pipeline import Translator
from regard.translate.search import TranslateOptions
from regard.translate.translation import Translation, by_way_of, join

_LONG = 2000  # characters above which a text is split in another thread, so that other requests do not wait
_NEXT_CHOICE = 1_000_003
"""offset between the sampling numbers of two choices, so that no choice draws what a later turn draws"""
document_threads = ThreadPoolExecutor(16, "regard-document")
"""threads that read and write documents; more documents wait"""

Chunks = AsyncGenerator[TextChunk, None]


@dataclass(frozen=True, slots=True)
class TranslateTask:
    """Items are sentences, results are translations."""

    decode: DecodeConfig
    alignment: bool = False

    def run(self, translator: Translator, items: Sequence[str]) -> list[Translation]:
        return translator.translate(items, self.decode, TranslateOptions(split=False, alignment=self.alignment))


@dataclass(frozen=True, slots=True)
class ReplyTask:
    """Items are conversations with a number that decides what is sampled; results are candidates for the reply."""

    decode: DecodeConfig
    num_top: int = 0

    def run(self, translator: Translator, items: Sequence[tuple[Prompt, int]]) -> list[list[ReplyCandidate]]:
        prompts, numbers = zip(*items, strict=True)
        return reply_candidates(translator, prompts, self.decode, numbers, self.num_top)


@dataclass(frozen=True, slots=True)
class EmbedTask:
    """Items are texts, results are their vectors."""

    encoder: TextEncoder

    def run(self, translator: Translator, items: Sequence[str]) -> list[np.ndarray]:
        return list(self.encoder.vectors(items))


class TextsJob:
    """The texts of one request, split into sentences for the model's batches and joined again."""

    def __init__(
        self,
        served: ServedModel,
        texts: Sequence[str],
        *,
        n_best: int = 1,
        alignment: bool = False,
        in_order: bool = False,
    ) -> None:
        self._served, self._texts = served, texts
        self.parts = [served.translator.split(text) for text in texts]
        self.sentences = [each for parts in self.parts for each in parts.sentences]
        decode = served.manifest.decode
        if n_best > 1:
            decode = replace(decode, n_best=n_best, beam=max(decode.beam, n_best))
        lengths = [len(each) // 4 + 1 for each in self.sentences]  # an estimate is enough: four characters a token
        self._job = ModelJob(TranslateTask(decode, alignment), self.sentences, lengths, in_order=in_order)

    def submit(self) -> ModelJob:
        if self._job.futures:
            self._served.worker.submit(self._job)
        return self._job

    def join(self, translations: Sequence[Translation]) -> list[Translation]:
        """The whole texts, from the translations of their sentences."""
        rest, texts = iter(translations), zip(self._texts, self.parts, strict=True)
        return [join(text, parts, [next(rest).sentences[0] for _ in parts.sentences]) for text, parts in texts]


async def translate(
    translators: Translators, texts: Sequence[str], num_alternatives: int = 0, *, alignment: bool = False
) -> list[Translation]:
    """Translate texts; cancelling this cancels the work."""
    served, *rest = translators
    job = await _prepare(served, texts, n_best=1 if rest else num_alternatives + 1, alignment=alignment)
    found = job.join([each async for each in _results(job.submit())])
    if not rest:
        return found
    between = [sentence.candidates[0].text for each in found for sentence in each.sentences]
    further = iter(await translate(tuple(rest), between, num_alternatives, alignment=alignment))
    return [by_way_of(each, [next(further) for _ in each.sentences]) for each in found]


async def embed(served: ServedModel, encoder: TextEncoder, texts: Sequence[str]) -> tuple[list[np.ndarray], int]:
    """A vector of length 1 for each text, and the number of their tokens."""
    lengths = await asyncio.to_thread(lambda: [encoder.count(text) for text in texts])
    if max(lengths) > encoder.longest:
        message = f"a text must have at most {encoder.longest} tokens: got {max(lengths)}; embed it in parts"
        raise BadField("input", message, code="context_length_exceeded")
    job = ModelJob(EmbedTask(encoder), texts, lengths)
    served.worker.submit(job)
    return [each async for each in _results(job)], sum(lengths)


async def translate_in_order(served: ServedModel, text: str, usage: Counter[str]) -> Chunks:
    """The translation sentence by sentence, each with the white space after it; usage counts the tokens."""
    job = await _prepare(served, [text], in_order=True)
    [parts] = job.parts
    usage["prompt_tokens"] += sum(map(served.translator.num_tokens, job.sentences))
    yield TextChunk(parts.separators[0])
    separators = iter(parts.separators[1:])
    async with aclosing(_results(job.submit())) as results:
        async for translation in results:
            for sentence in translation.sentences:
                usage["completion_tokens"] += len(sentence.candidates[0].tokens)
            yield TextChunk(translation.text + next(separators))
    yield TextChunk("", (), "stop")


async def _prepare(served: ServedModel, texts: Sequence[str], **options: Any) -> TextsJob:
    served.worker.check()
    if sum(map(len, texts)) <= _LONG:
        return TextsJob(served, texts, **options)
    return await asyncio.to_thread(TextsJob, served, texts, **options)


async def _results(job: ModelJob) -> AsyncGenerator[Any, None]:
    """The results of a submitted job in order; whoever stops reading cancels the rest."""
    try:
        for future in job.futures:
            yield await asyncio.wrap_future(future)
    finally:
        job.cancel()


async def translate_file(
    translators: Translators, data: bytes, suffix: str, languages: tuple[str, str], encoding: str | None = None
) -> bytes:
    """A translated document. Its thread has its texts translated by this one; cancelling this stops both."""
    loop, is_cancelled = asyncio.get_running_loop(), threading.Event()
    running: list[Future[list[Translation]]] = []

    def translate_texts(texts: list[str]) -> list[Translation]:
        running[:] = [asyncio.run_coroutine_threadsafe(translate(translators, texts, alignment=True), loop)]
        if is_cancelled.is_set():
            running[0].cancel()
        return running[0].result()

    about: dict[str, Any] = {"languages": languages, "encoding": encoding, "is_cancelled": is_cancelled.is_set}
    work = partial(translate_document, data, suffix, translate_texts, **about)
    try:
        return (await loop.run_in_executor(document_threads, work)).data
    finally:
        is_cancelled.set()
        for each in running:
            each.cancel()


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What a request asks of each text."""

    decode: DecodeConfig  # the model's own search, with what the request changes
    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    num_top: int = 0  # most probable tokens shown beside each token


async def reply(served: ServedModel, turns: Sequence[str], options: TextOptions, number: int) -> Chunks:
    """A chat model's reply, chosen as `regard chat` chooses it, then given token by token.

    Its candidates are searched for in batches with those of other conversations.
    """
    translator, own = served.translator, served.manifest.generate
    decode = replace(options.decode, max_length=options.max_tokens or options.decode.max_length)
    number = len(turns) // 2 + _NEXT_CHOICE * number
    # Long turns take long to read and to compare, so this runs outside the event loop.
    prompts, searched = await asyncio.to_thread(reply_searches, translator, decode, own, turns)
    items = [(prompt, number) for prompt in prompts]
    job = ModelJob(ReplyTask(searched, options.num_top), items, [prompt.num_tokens for prompt in prompts])
    served.worker.submit(job)
    found = [each async for each in _results(job)]
    chosen = await asyncio.to_thread(choose, turns, found, own.min_probability)
    for part in stream_reply(translator, chosen, options.stops):
        yield part


async def write(served: ServedModel, prompt: Prompt, options: TextOptions, number: int) -> Chunks:
    """A language model's text as it is written; when the reader leaves, the writing stops."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[TextChunk | BaseException | None] = asyncio.Queue()
    num_tokens = options.max_tokens or options.decode.max_length or prompt.num_default
    limit = min(len(prompt.prefix) + num_tokens, max_output(served.translator))
    decode = replace(options.decode, n_best=1, max_length=limit)
    about: dict[str, Any] = {"number": number, "stops": options.stops, "num_top": options.num_top}
    begin = partial(continue_text, translator=served.translator, prompt=prompt, decode=decode, **about)
    stream = TextStream(begin, lambda item: loop.call_soon_threadsafe(arrived.put_nowait, item))
    served.worker.submit(stream)
    try:
        while (item := await arrived.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stream.is_cancelled = True

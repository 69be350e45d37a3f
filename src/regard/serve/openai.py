"""OpenAI's interface: chat completions and completions, whole or as a stream, and embeddings.

A chat model answers the conversation; a language model continues the last message or the prompt; a translator
translates it, sentence by sentence when it is streamed. A chat reply is chosen whole before its first token is sent.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from regard.generate.interpreter import TranslationRequest, fixed_reply
from regard.generate.prompts import Prompt, chat_prompt, text_prompt
from regard.generate.stream import TextChunk
from regard.serve.answers import Chunks, TextOptions, embed, reply, translate_in_order, write
from regard.serve.models import Models, ServedModel
from regard.serve.monitoring import Log
from regard.serve.openai_fields import ResponseFormat, model_of, options_of, texts_of, turns_of, vector_format
from regard.serve.request import BadField, RequestError, flag, integer, json_bytes, json_response, parse_object
from regard.serve.settings import MAX_CHOICES, MAX_TEXTS, ServerSettings


class TextRequest(NamedTuple):
    """One prompt, for as many choices as are asked for."""

    model: ServedModel
    options: TextOptions
    turns: Sequence[str]  # turns of a conversation; a translator or language model reads the last
    prompt: Prompt | None  # input of the model; None for a translator
    echo: str
    said: str | None = None  # answer that takes no model


class OpenAI:
    def __init__(self, models: Models, settings: ServerSettings, log: Log) -> None:
        self._models, self._settings, self._log = models, settings, log

    async def models(self, request: Request) -> Response:
        listed = [_about(each) for each in self._models.all.values()]
        return json_response({"object": "list", "data": listed})

    async def model(self, request: Request) -> Response:
        return json_response(_about(self._models.find(request.path_params["name"])))

    async def chat(self, request: Request) -> Response:
        fields = parse_object(await request.body())
        model = model_of(self._models, fields)
        turns = turns_of(fields, self._settings.characters)
        options = options_of(model, fields, is_chat=True)
        form = ResponseFormat(model.name, fields, is_chat=True)
        count = integer(fields, "n", 1, 1, MAX_CHOICES)
        wanted = await self._text_request(model, options, turns)
        if wanted.model is not model:
            form.head |= {"model": wanted.model.name, "translated": wanted.turns[-1]}
        return await self._answer([wanted], count, form)

    async def completions(self, request: Request) -> Response:
        fields = parse_object(await request.body())
        model = model_of(self._models, fields)
        prompts = texts_of({"prompt": "", **fields}, "prompt", self._settings.characters)
        echo = flag(fields, "echo")
        options = options_of(model, fields, is_chat=False)
        form = ResponseFormat(model.name, fields, is_chat=False)
        count = integer(fields, "n", 1, 1, MAX_CHOICES)
        if integer(fields, "best_of", count, 1, MAX_CHOICES) != count or count * len(prompts) > MAX_TEXTS:
            raise BadField("best_of", "best_of must be n, and there may be fewer texts")
        asked = [await self._text_request(model, options, [each], echo=echo) for each in prompts]
        return await self._answer(asked, count, form)

    async def embeddings(self, request: Request) -> Response:
        fields = parse_object(await request.body())
        model = model_of(self._models, fields, ("search",))
        texts = texts_of(fields, "input", self._settings.characters)
        assert model.encoder is not None
        written = vector_format(fields, model.encoder.width)
        vectors, num_tokens = await embed(model, model.encoder, texts)
        listed = [{"object": "embedding", "index": i, "embedding": written(each)} for i, each in enumerate(vectors)]
        usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
        return json_response({"object": "list", "data": listed, "model": model.name, "usage": usage})

    async def _answer(self, asked: Sequence[TextRequest], count: int, form: ResponseFormat) -> Response:
        num_read = sum(each.prompt.num_tokens for each in asked if each.prompt)
        usage = Counter(prompt_tokens=num_read, completion_tokens=0)
        # However many texts a request asks for, so many of them stand in the queue at a time.
        room = asyncio.Semaphore(MAX_CHOICES)
        wanted = [each for each in asked for _ in range(count)]
        texts = [_written(each, number, usage, room) for number, each in enumerate(wanted)]
        if form.streams:
            return await self._stream(texts, form, usage)
        parts: list[list[TextChunk]] = [[] for _ in texts]
        async with aclosing(_merged(texts)) as merged:
            async for number, part in merged:
                parts[number].append(part)
        choices = [form.choice(number, each) for number, each in enumerate(parts)]
        return json_response({**form.head, "choices": choices, "usage": _total(usage)})

    async def _stream(self, texts: list[Chunks], form: ResponseFormat, usage: Counter[str]) -> Response:
        """The first event is awaited before the answer begins, so that an error has its own status."""
        events = self._events(texts, form, usage)
        first = await anext(events)

        async def all_events() -> AsyncGenerator[bytes, None]:
            async with aclosing(events):
                yield first
                async for event in events:
                    yield event

        return StreamingResponse(all_events(), 200, {"X-Accel-Buffering": "no"}, "text/event-stream")

    async def _events(
        self, texts: list[Chunks], form: ResponseFormat, usage: Counter[str]
    ) -> AsyncGenerator[bytes, None]:
        """When the model takes too long, or fails in the middle, the last event is the error."""
        ends = time.monotonic() + self._settings.timeout
        begun: set[int] = set()
        try:
            async with aclosing(_merged(texts)) as merged:
                while True:
                    async with asyncio.timeout(ends - time.monotonic()):
                        found = await anext(merged, None)
                    if found is None:
                        break
                    number, part = found
                    if part.text or part.tokens or part.finish:
                        chunks = form.chunks(number, part, is_first=number not in begun)
                        begun.add(number)
                        for chunk in chunks:
                            yield _event(chunk)
            if form.shows_usage:
                yield _event({**form.head, "choices": [], "usage": _total(usage)})
            yield b"data: [DONE]\n\n"
        except Exception as error:
            if isinstance(error, TimeoutError):
                error = RequestError(504, f"this took longer than {self._settings.timeout:g} seconds", code="timeout")
            if not begun:
                raise error from None
            if not isinstance(error, RequestError):
                self._log.fault(error, route="stream")
                error = RequestError(500, "something went wrong here")
            yield _event(error.openai())

    async def _text_request(
        self, model: ServedModel, options: TextOptions, turns: list[str], *, echo: bool = False
    ) -> TextRequest:
        prompt, said, echoed = None, None, turns[-1] if echo else ""
        if model.manifest.task == "chat":
            alone = {pair: each[0] for pair, each in self._models.pairs.items() if len(each) == 1}
            found = await asyncio.to_thread(fixed_reply, turns, [*alone], model.manifest.generate)
            if isinstance(found, TranslationRequest):
                return TextRequest(alone[found.pair], options, [found.text], None, echoed)
            said = found
            prompt = await asyncio.to_thread(chat_prompt, model.translator, turns)
        elif model.manifest.task == "write":
            prompt = await asyncio.to_thread(text_prompt, model.translator, turns[-1])
        return TextRequest(model, options, turns, prompt, echoed, said)


async def _merged(texts: Sequence[Chunks]) -> AsyncGenerator[tuple[int, TextChunk], None]:
    """The parts of several texts as they arrive, each with its text's number; an error of one ends all."""
    arrived: asyncio.Queue[tuple[int, TextChunk | None | Exception]] = asyncio.Queue()

    async def follow(number: int, text: Chunks) -> None:
        try:
            async with aclosing(text) as parts:
                async for part in parts:
                    arrived.put_nowait((number, part))
            arrived.put_nowait((number, None))
        except Exception as error:
            arrived.put_nowait((number, error))

    tasks = [asyncio.ensure_future(follow(number, text)) for number, text in enumerate(texts)]
    num_open = len(tasks)
    try:
        while num_open:
            number, item = await arrived.get()
            if isinstance(item, Exception):
                raise item
            if item is None:
                num_open -= 1
            else:
                yield number, item
    finally:
        for task in tasks:
            task.cancel()


async def _said(text: str) -> Chunks:
    yield TextChunk(text, (), "stop")


async def _written(asked: TextRequest, number: int, usage: Counter[str], room: asyncio.Semaphore) -> Chunks:
    model, prompt = asked.model, asked.prompt
    async with room:
        if asked.echo:
            yield TextChunk(asked.echo)
        if prompt is None:
            written = translate_in_order(model, asked.turns[-1], usage)
        elif asked.said is not None:
            written = _said(asked.said)
        elif model.manifest.task == "chat" and model.manifest.generate.chat_template == "lines":
            written = reply(model, asked.turns, asked.options, number)
        else:
            written = write(model, prompt, asked.options, number)
        async with aclosing(written) as parts:
            async for part in parts:
                usage["completion_tokens"] += len(part.tokens)
                model.worker.metrics.add("regard_tokens_total", len(part.tokens), model=model.name)
                yield part


def _total(usage: Counter[str]) -> dict[str, int]:
    return {**usage, "total_tokens": usage.total()}


def _about(served: ServedModel) -> dict[str, Any]:
    about = {"id": served.name, "object": "model", "created": served.created, "owned_by": "regard"}
    return {**about, "task": served.manifest.task}


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + json_bytes(content) + b"\n\n"

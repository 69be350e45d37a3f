"""OpenAI's interface: chat completions and completions, whole or as a stream.

A chat model answers the conversation; a language model continues the last message or the prompt; a translator
translates it, sentence by sentence when it is streamed. A chat reply is chosen whole before its first token is sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from regard.generate.stream import TextChunk, WrittenToken
from regard.serve.answers import TextOptions, reply, translate_in_order, write
from regard.serve.models import Models, ServedModel
from regard.serve.monitoring import Log
from regard.serve.openai_request import (
    TextRequest,
    find_model,
    model_of,
    options_of,
    prompts_of,
    text_request,
    turns_of,
)
from regard.serve.openai_response import ResponseFormat, Usage
from regard.serve.request import (
    BadField,
    Fields,
    RequestError,
    flag,
    integer,
    json_bytes,
    json_response,
    parse_object,
)
from regard.serve.settings import MAX_CHOICES, MAX_TEXTS, Settings

Text = AsyncGenerator[TextChunk, None]


class OpenAI:
    def __init__(self, models: Models, settings: Settings, log: Log) -> None:
        self._models, self._settings, self._log = models, settings, log

    async def models(self, request: Request) -> Response:
        listed = [_about(each) for each in self._models.all.values()]
        return json_response({"object": "list", "data": listed})

    async def model(self, request: Request) -> Response:
        return json_response(_about(find_model(self._models, request.path_params["name"])))

    async def chat(self, request: Request) -> Response:
        fields = parse_object(await request.body())
        model = model_of(self._models, fields)
        turns = turns_of(fields, self._settings)
        options = options_of(fields, "max_completion_tokens", "max_tokens")
        shows_tokens = flag(fields, "logprobs")
        form = ResponseFormat(model.name, fields, is_chat=True, shows_tokens=shows_tokens)
        count = _count(fields, "n", 1)
        asked = await text_request(model, turns, options, count, shows_tokens=shows_tokens)
        return await self._answer([asked] * count, options, form)

    async def completions(self, request: Request) -> Response:
        fields = parse_object(await request.body())
        model = model_of(self._models, fields)
        prompts = prompts_of(fields, self._settings)
        options = options_of(fields, "max_tokens", num_top="logprobs")
        shows_tokens = fields.get("logprobs") is not None
        form = ResponseFormat(model.name, fields, is_chat=False, shows_tokens=shows_tokens)
        count = _count(fields, "n", 1)
        if _count(fields, "best_of", count) != count or count * len(prompts) > MAX_TEXTS:
            raise BadField("best_of", "best_of must be n, and there may be fewer texts")
        shown = {"shows_tokens": shows_tokens, "echo": flag(fields, "echo")}
        asked: list[TextRequest] = []
        for prompt in prompts:
            asked += [await text_request(model, [prompt], options, count, **shown)] * count
        return await self._answer(asked, options, form)

    async def _answer(
        self, asked: list[TextRequest], options: TextOptions, form: ResponseFormat
    ) -> Response:
        # The choices of one prompt share it, so it is counted once.
        prompts = {id(each): each.prompt for each in asked}.values()
        usage = Usage(sum(prompt.num_tokens for prompt in prompts if prompt))
        # However many texts a request asks for, so many of them stand in the queue at a time.
        room = asyncio.Semaphore(MAX_CHOICES)
        texts = [_written(each, options, i, usage, room) for i, each in enumerate(asked)]
        if form.streams:
            return await self._stream(texts, form, usage)
        tasks = [asyncio.ensure_future(_whole(each)) for each in texts]
        try:
            choices = await asyncio.gather(*tasks)
        finally:
            # Where one is refused, nobody waits for the others.
            for task in tasks:
                task.cancel()
        listed = [form.choice(number, *each) for number, each in enumerate(choices)]
        return json_response({**form.head, "choices": listed, "usage": usage.to_dict()})

    async def _stream(self, texts: list[Text], form: ResponseFormat, usage: Usage) -> Response:
        """The first event is awaited before the answer begins, so that an error has its own status."""
        events = self._events(texts, form, usage)
        first = await anext(events)

        async def all_events() -> AsyncGenerator[bytes, None]:
            async with aclosing(events):
                yield first
                async for event in events:
                    yield event

        headers = {"X-Accel-Buffering": "no"}
        return StreamingResponse(all_events(), 200, headers, "text/event-stream")

    async def _events(
        self, texts: list[Text], form: ResponseFormat, usage: Usage
    ) -> AsyncGenerator[bytes, None]:
        """When the model takes too long, or fails in the middle, the last event is the error."""
        ends = time.monotonic() + self._settings.timeout
        arrived: asyncio.Queue[tuple[int, TextChunk | None | Exception]] = asyncio.Queue()
        tasks = [asyncio.ensure_future(_follow(i, each, arrived)) for i, each in enumerate(texts)]
        begun: set[int] = set()
        num_open = len(tasks)
        try:
            while num_open:
                try:
                    async with asyncio.timeout(ends - time.monotonic()):
                        number, item = await arrived.get()
                except TimeoutError:
                    message = f"this took longer than {self._settings.timeout:g} seconds"
                    raise RequestError(504, message, code="timeout") from None
                if item is None:
                    num_open -= 1
                elif isinstance(item, Exception):
                    raise item
                elif item.text or item.tokens or item.finish:
                    is_first = number not in begun
                    begun.add(number)
                    for chunk in form.chunks(number, item, is_first=is_first):
                        yield _event(chunk)
            if form.shows_usage:
                yield _event({**form.head, "choices": [], "usage": usage.to_dict()})
            yield b"data: [DONE]\n\n"
        except Exception as error:
            if not begun:
                raise
            if not isinstance(error, RequestError):
                self._log.fault("fault", error, route="stream")
                error = RequestError(500, "something went wrong here")
            yield _event(error.openai())
        finally:
            for task in tasks:
                task.cancel()


def _count(fields: Fields, name: str, default: int) -> int:
    given = {} if fields.get(name) is None else fields
    return integer(given, name, default, 1, MAX_CHOICES)


async def _follow(number: int, text: Text, arrived: asyncio.Queue[Any]) -> None:
    """Put the parts of a text into the queue, then None or its error."""
    try:
        async with aclosing(text) as parts:
            async for part in parts:
                arrived.put_nowait((number, part))
        arrived.put_nowait((number, None))
    except Exception as error:
        arrived.put_nowait((number, error))


async def _whole(text: Text) -> tuple[str, list[WrittenToken], str]:
    whole, finish = "", "stop"
    tokens: list[WrittenToken] = []
    async with aclosing(text) as parts:
        async for part in parts:
            whole += part.text
            tokens += part.tokens
            finish = part.finish or finish
    return whole, tokens, finish


async def _written(
    asked: TextRequest, options: TextOptions, number: int, usage: Usage, room: asyncio.Semaphore
) -> Text:
    async with room:
        if asked.echo:
            yield TextChunk(asked.echo)
        if asked.prompt is None:
            written = translate_in_order(asked.model, asked.turns[-1], usage.add)
        elif asked.model.manifest.task == "chat":
            written = reply(asked.model, asked.turns, options, number)
        else:
            written = write(asked.model, asked.prompt, options, number)
        async with aclosing(written) as parts:
            async for part in parts:
                usage.add(0, len(part.tokens))
                yield part


def _about(served: ServedModel) -> dict[str, Any]:
    return {
        "id": served.name,
        "object": "model",
        "created": served.created,
        "owned_by": "regard",
        "task": served.manifest.task,
    }


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + json_bytes(content) + b"\n\n"

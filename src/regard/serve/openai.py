"""OpenAI's interface: chat completions and completions, whole or as a stream.

A chat model answers the conversation and a language model goes on with the last message or the prompt. A model that
translates does that, with the last user message or the prompt: sentence by sentence when it is streamed. A reply is
chosen whole, so that it repeats nothing, before its first piece is sent.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from regard.generate.stream import TextChunk, WrittenToken
from regard.serve import reading
from regard.serve.asking import (
    Asked,
    asked_of,
    model_of,
    named,
    present,
    prompts_of,
    turns_of,
    wanted_of,
)
from regard.serve.logs import Log
from regard.serve.models import Models, Served
from regard.serve.refusal import Refusal, json_response
from regard.serve.settings import MOST_CHOICES, MOST_TEXTS, Settings
from regard.serve.shapes import Chat, Completion, Shape, Usage
from regard.serve.translating import translate_in_order
from regard.serve.writing import Wanted, reply, write

Text = AsyncGenerator[TextChunk, None]


class OpenAI:
    def __init__(self, models: Models, settings: Settings, log: Log) -> None:
        self._models, self._settings, self._log = models, settings, log

    async def models(self, request: Request) -> Response:
        listed = [_shown(each) for each in self._models.all.values()]
        return json_response({"object": "list", "data": listed})

    async def model(self, request: Request) -> Response:
        return json_response(_shown(named(self._models, request.path_params["name"])))

    async def chat(self, request: Request) -> Response:
        fields = reading.parse_object(await request.body())
        model = model_of(self._models, fields)
        turns = turns_of(fields, self._settings)
        wanted = wanted_of(fields, "max_completion_tokens", "max_tokens")
        shape = Chat(model.name, fields, reading.flag(fields, "logprobs"))
        count = reading.whole(present(fields, "n"), "n", 1, 1, MOST_CHOICES)
        asked = await asked_of(model, turns, wanted, count, shows_tokens=shape.shows_tokens)
        return await self._answer([asked] * count, wanted, shape)

    async def completions(self, request: Request) -> Response:
        fields = reading.parse_object(await request.body())
        model = model_of(self._models, fields)
        prompts = prompts_of(fields, self._settings)
        wanted = wanted_of(fields, "max_tokens", num_top="logprobs")
        shape = Completion(model.name, fields, fields.get("logprobs") is not None)
        count = reading.whole(present(fields, "n"), "n", 1, 1, MOST_CHOICES)
        best_of = reading.whole(present(fields, "best_of"), "best_of", count, 1, MOST_CHOICES)
        if best_of != count or count * len(prompts) > MOST_TEXTS:
            raise Refusal(400, "best_of must be n, and there may be fewer texts", param="best_of")
        echo = reading.flag(fields, "echo")
        asked: list[Asked] = []
        for prompt in prompts:
            tokens = shape.shows_tokens
            one = await asked_of(model, [prompt], wanted, count, shows_tokens=tokens, echo=echo)
            asked += [one] * count
        return await self._answer(asked, wanted, shape)

    async def _answer(self, asked: list[Asked], wanted: Wanted, shape: Shape) -> Response:
        # The choices of one prompt have read it together.
        prompts = {id(each): each.prompt for each in asked}.values()
        usage = Usage(sum(prompt.num_tokens for prompt in prompts if prompt))
        # However many texts one request asks for, it does not stand in the queue more often than this.
        room = asyncio.Semaphore(MOST_CHOICES)
        texts = [_written(each, wanted, i, usage, room) for i, each in enumerate(asked)]
        if shape.streams:
            return await self._stream(texts, shape, usage)
        tasks = [asyncio.ensure_future(_whole(each)) for each in texts]
        try:
            choices = await asyncio.gather(*tasks)
        finally:
            # Where one is refused, nobody waits for the others.
            for task in tasks:
                task.cancel()
        listed = [
            shape.choice(number, text, tokens, finish)
            for number, (text, tokens, finish) in enumerate(choices)
        ]
        return json_response({**shape.head(), "choices": listed, "usage": usage.shown()})

    async def _stream(self, texts: list[Text], shape: Shape, usage: Usage) -> Response:
        """The first piece is awaited before the answer begins, so that a refusal has its own status."""
        events = self._events(texts, shape, usage)
        first = await anext(events)

        async def all_of_them() -> AsyncGenerator[bytes, None]:
            async with aclosing(events):
                yield first
                async for event in events:
                    yield event

        headers = {"X-Accel-Buffering": "no"}
        return StreamingResponse(all_of_them(), 200, headers, "text/event-stream")

    async def _events(
        self, texts: list[Text], shape: Shape, usage: Usage
    ) -> AsyncGenerator[bytes, None]:
        ends = time.monotonic() + self._settings.timeout
        arrived: asyncio.Queue[tuple[int, TextChunk | None | Exception]] = asyncio.Queue()

        async def follow(number: int, text: Text) -> None:
            try:
                async with aclosing(text) as parts:
                    async for part in parts:
                        arrived.put_nowait((number, part))
                arrived.put_nowait((number, None))
            except Exception as error:
                arrived.put_nowait((number, error))

        tasks = [asyncio.ensure_future(follow(i, each)) for i, each in enumerate(texts)]
        begun: set[int] = set()
        num_open = len(tasks)
        try:
            while num_open:
                async with asyncio.timeout(ends - time.monotonic()):
                    number, item = await arrived.get()
                if isinstance(item, Exception):
                    if not begun:
                        raise item
                    if not isinstance(item, Refusal):
                        self._log.fault("fault", item, route="stream")
                    yield _event(_shown_error(item))
                    return
                if item is None:
                    num_open -= 1
                    continue
                if not (item.text or item.tokens or item.finish):
                    continue
                if number not in begun:
                    begun.add(number)
                    if shape.opening is not None:
                        yield _event(shape.chunk(number, shape.opening))
                if item.text or item.tokens:
                    yield _event(shape.chunk(number, shape.delta(item.text, list(item.tokens))))
                if item.finish is not None:
                    yield _event(shape.chunk(number, shape.closing, item.finish))
            if shape.shows_usage:
                yield _event({**shape.head(), "choices": [], "usage": usage.shown()})
            yield b"data: [DONE]\n\n"
        except TimeoutError:
            seconds = f"{self._settings.timeout:g}"
            late = Refusal(504, f"this took longer than {seconds} seconds", code="timeout")
            if not begun:
                raise late from None
            yield _event(late.openai())
        finally:
            for task in tasks:
                task.cancel()


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
    asked: Asked, wanted: Wanted, number: int, usage: Usage, room: asyncio.Semaphore
) -> Text:
    async with room:
        if asked.prompt is None:
            last = asked.turns[-1]
            async with aclosing(translate_in_order(asked.model, last, usage.add)) as texts:
                async for text in texts:
                    yield TextChunk(text)
            yield TextChunk("", (), "stop")
            return
        if asked.echo:
            yield TextChunk(asked.echo)
        if asked.model.manifest.task == "chat":
            written = reply(asked.model, asked.turns, wanted, number)
        else:
            written = write(asked.model, asked.prompt, wanted, number)
        async with aclosing(written) as parts:
            async for part in parts:
                usage.add(0, len(part.tokens))
                yield part


def _shown(served: Served) -> dict[str, Any]:
    return {
        "id": served.name,
        "object": "model",
        "created": served.created,
        "owned_by": "regard",
        "task": served.manifest.task,
    }


def _event(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return b"data: " + text.encode("utf-8", "replace") + b"\n\n"


def _shown_error(error: Exception) -> dict[str, Any]:
    if isinstance(error, Refusal):
        return error.openai()
    return Refusal(500, "something went wrong here").openai()

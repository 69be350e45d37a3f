"""Texts that a chat model answers with, or a language model goes on with, as requests ask for them.

Instructions to a chat model (the roles system and developer) are left out, for small models do not follow any.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from regard.config import DecodeConfig
from regard.decode import StepModel
from regard.generate.chat import Judge, search_plan, stream_reply
from regard.generate.continuation import continue_text
from regard.generate.prompts import Prompt, max_output
from regard.generate.stream import TextChunk
from regard.serve.models import Served
from regard.serve.ticket import Busy, Dead, Drafting, Stream, Ticket
from regard.serve.translating import finished, refusal_of, submit

_NEXT_CHOICE = 1_000_003
"""further choices draw other numbers than later turns do"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks of each text; None is the model's own way."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    """a client's 0 asks for nothing, and is the model's own way too"""
    seed: int | None = None
    stops: tuple[str, ...] = ()
    num_top: int = 0
    """most probable pieces that are shown beside each piece"""


async def reply(
    served: Served, turns: Sequence[str], wanted: Wanted, number: int
) -> AsyncGenerator[TextChunk, None]:
    """A chat model's reply, chosen as `regard chat` chooses it and then given piece by piece.

    Its drafts are made in batches with those of other conversations.
    """
    translator, judge = served.translator, Judge(turns)
    decode = _changed(served.manifest.decode, wanted, not_drawn="beam")
    decode = replace(decode, max_length=wanted.max_tokens or decode.max_length)
    number = len(turns) // 2 + _NEXT_CHOICE * number
    plan = search_plan(translator, decode, served.manifest.generate, turns, judge)
    # Who sends long turns has them read and compared for long: others do not wait meanwhile.
    while (planned := await asyncio.to_thread(next, plan, None)) is not None:
        prompt, searched = planned
        kind, item = Drafting(searched, wanted.num_top), (prompt, number)
        [found] = await finished(submit(served, Ticket(kind, [item], [prompt.num_tokens])))
        await asyncio.to_thread(judge.consider, found)
    for part in stream_reply(translator, judge.chosen, wanted.stops):
        served.worker.metrics.tokens.add(len(part.tokens), model=served.name)
        yield part


async def write(
    served: Served, prompt: Prompt, wanted: Wanted, number: int
) -> AsyncGenerator[TextChunk, None]:
    """One text as it is being written; when the reader goes, the writing stops."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[TextChunk | BaseException | None] = asyncio.Queue()

    def deliver(item: TextChunk | BaseException | None) -> None:
        loop.call_soon_threadsafe(arrived.put_nowait, item)

    writing = Stream(lambda model: _steps(served, model, prompt, wanted, number), deliver)
    try:
        served.worker.stream(writing)
    except (Busy, Dead) as error:
        raise refusal_of(error) from error
    try:
        while (item := await arrived.get()) is not None:
            if isinstance(item, Dead):
                raise refusal_of(item) from item
            if isinstance(item, BaseException):
                raise item
            served.worker.metrics.tokens.add(len(item.tokens), model=served.name)
            yield item
    finally:
        writing.is_abandoned = True


def _steps(
    served: Served, model: StepModel, prompt: Prompt, wanted: Wanted, number: int
) -> Iterator[TextChunk]:
    """In the model's thread."""
    decode = _decode(served, prompt, wanted)
    return continue_text(
        model,
        served.translator,
        prompt,
        decode,
        served.manifest.generate,
        number=number,
        stops=wanted.stops,
        num_top=wanted.num_top,
    )


def _decode(served: Served, prompt: Prompt, wanted: Wanted) -> DecodeConfig:
    """The model's own way of searching, with what is wished; one piece at a time."""
    decode = _changed(served.manifest.decode, wanted, not_drawn="greedy")
    num_tokens = wanted.max_tokens or decode.max_length or prompt.num_default
    limit = min(len(prompt.prefix) + num_tokens, max_output(served.translator))
    # A beam knows its text only at the end, and a story of the most probable words goes round in circles.
    method = "sample" if decode.method == "beam" else decode.method
    return replace(decode, method=method, n_best=1, max_length=limit)


def _changed(
    decode: DecodeConfig, wanted: Wanted, not_drawn: Literal["beam", "greedy"]
) -> DecodeConfig:
    """A temperature asks for draws, and one of 0 for none of them."""
    changes: dict[str, Any] = {}
    if wanted.temperature is not None:
        changes["method"] = not_drawn if wanted.temperature == 0 else "sample"
        changes["temperature"] = wanted.temperature or 1.0
    for name in ("top_p", "presence_penalty", "frequency_penalty", "seed"):
        if getattr(wanted, name) is not None:
            changes[name] = getattr(wanted, name)
    return replace(decode, **changes)

"""Texts that a chat model answers with, or a language model goes on with, as requests ask for them.

Instructions to a chat model (the roles system and developer) are left out, for small models do not follow any.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from regard.config import DecodeConfig
from regard.decode import StepModel
from regard.serve.models import Served
from regard.serve.ticket import Busy, Dead, Stream
from regard.serve.translating import refusal_of
from regard.writing import Prompt, Written, follow, positions


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks of each text; None is the model's own way."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stops: tuple[str, ...] = ()
    num_top: int = 0
    """most probable pieces that are shown beside each piece"""


async def write(
    served: Served, prompt: Prompt, wanted: Wanted, number: int
) -> AsyncGenerator[Written, None]:
    """One text as it is being written; when the reader goes, the writing stops."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[Written | BaseException | None] = asyncio.Queue()

    def deliver(item: Written | BaseException | None) -> None:
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
) -> Iterator[Written]:
    """In the model's thread."""
    decode = _decode(served, prompt, wanted)
    return follow(
        model,
        served.translator,
        prompt,
        decode,
        number=number,
        stops=wanted.stops,
        num_top=wanted.num_top,
    )


def _decode(served: Served, prompt: Prompt, wanted: Wanted) -> DecodeConfig:
    """The model's own way of searching, with what is wished."""
    decode = served.manifest.decode
    # A beam knows its text only at the end, and a story of the most probable words goes round in circles.
    streamed = "sample" if served.manifest.task == "write" else "greedy"
    method = streamed if decode.method == "beam" else decode.method
    room = positions(served.translator) - 1
    num_tokens = wanted.max_tokens or decode.max_length or prompt.num_default
    limit = min(len(prompt.prefix) + num_tokens, room)
    changes: dict[str, Any] = {"method": method, "n_best": 1, "max_length": limit}
    if served.manifest.task == "chat":
        changes["min_length"] = max(decode.min_length, 1)  # a reply is never empty
    if wanted.temperature is not None:
        changes["method"] = "greedy" if wanted.temperature == 0 else "sample"
        changes["temperature"] = wanted.temperature or 1.0
    if wanted.top_p is not None:
        changes["top_p"] = wanted.top_p
    if wanted.seed is not None:
        changes["seed"] = wanted.seed
    return replace(decode, **changes)

"""Texts that a chat model answers with, or a language model goes on with, piece by piece.

A chat model reads the conversation, a turn a line, as far back as it was trained to read; instructions to it (the
roles system and developer) are left out, for small models do not follow any. A language model goes on from the text
it is given.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from regard.config import DecodeConfig
from regard.decode import Constraints, StepModel, StepRecord, stream
from regard.errors import UsageError
from regard.serve.models import Served
from regard.serve.ticket import Busy, Dead, Stream
from regard.serve.translating import refusal_of
from regard.text.growing import GrowingText

_REPLY_TOKENS = 128
_STORY_TOKENS = 192
"""pieces that are written when nobody says how many"""


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


@dataclass(frozen=True, slots=True)
class Written:
    """Some more of a text."""

    text: str
    tokens: tuple[Token, ...] = ()
    finish: str | None = None
    """stop or length, with the last"""


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    log_probability: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads, and what its output begins with."""

    source: list[int]
    prefix: list[int]
    num_default: int
    stops: tuple[str, ...] = ()
    """what ends the text besides what a request names"""

    @property
    def num_tokens(self) -> int:
        return len(self.source) + len(self.prefix)


def conversation(served: Served, turns: Sequence[str]) -> Prompt:
    """The turns as a chat model reads them: the last ones that fit, the first of them cut at its beginning."""
    text = "\n".join(" ".join(turn.split()) for turn in turns)
    tokenizer = served.translator.source
    ids = tokenizer.encode(text)
    if served.translator.config.has_encoder:
        room = served.translator.longest - 1
        return Prompt([*ids[-room:], served.translator.config.eos_id], [], _REPLY_TOKENS)
    return replace(beginning(served, text + "\n", _REPLY_TOKENS), stops=("\n",))


def beginning(served: Served, text: str, num_default: int = _STORY_TOKENS) -> Prompt:
    """The text that a language model goes on from; of a long one its end."""
    ids = served.translator.target.encode(text)
    if served.translator.config.has_encoder:
        raise UsageError(f"{served.name} must be a language model to go on with a text: it is none")
    room = _positions(served) - 1
    return Prompt([], ids[-max(room - num_default, room // 2, 1) :], num_default)


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
    """In the model's thread: a piece a step, and the text that is sure by then."""
    translator = served.translator
    config, target = translator.config, translator.target
    decode = _decode(served, prompt, wanted)
    history: list[StepRecord] | None = [] if wanted.num_top else None
    emissions = stream(
        model,
        prompt.source,
        decode,
        bos_id=config.bos_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        constraints=Constraints(prefix=prompt.prefix) if prompt.prefix else None,
        history=history,
        number=number,
    )
    ids = list(prompt.prefix)
    text = GrowingText(target.decode(ids), (*wanted.stops, *prompt.stops))
    for emission in emissions:
        if emission.stop is not None or emission.token is None:
            yield Written(text.rest(), (), "stop" if emission.stop == "end" else "length")
            return
        ids.append(emission.token)
        top: list[tuple[str, float]] = []
        if history:
            record = history[-1]
            history.clear()
            top = _top(target, record, wanted.num_top)
        [piece] = target.pieces([emission.token])
        new = text.grow(target.decode(ids))
        token = Token(piece.replace("\u2581", " "), emission.log_probability, tuple(top))
        if text.is_stopped:
            yield Written(new, (token,), "stop")
            return
        yield Written(new, (token,))


def _decode(served: Served, prompt: Prompt, wanted: Wanted) -> DecodeConfig:
    """The model's own way of searching, with what is wished."""
    decode = served.manifest.decode
    # A beam knows its text only at the end, and a story of the most probable words goes round in circles.
    streamed = "sample" if served.manifest.task == "write" else "greedy"
    method = streamed if decode.method == "beam" else decode.method
    room = _positions(served) - 1
    num_tokens = wanted.max_tokens or decode.max_length or prompt.num_default
    limit = min(len(prompt.prefix) + num_tokens, room)
    changes: dict[str, Any] = {"method": method, "n_best": 1, "max_length": limit}
    if wanted.temperature is not None:
        changes["method"] = "greedy" if wanted.temperature == 0 else "sample"
        changes["temperature"] = wanted.temperature or 1.0
    if wanted.top_p is not None:
        changes["top_p"] = wanted.top_p
    if wanted.seed is not None:
        changes["seed"] = wanted.seed
    return replace(decode, **changes)


def _positions(served: Served) -> int:
    """How many pieces an output can have."""
    config = served.translator.config
    return config.max_positions if config.position == "learned" else 1 << 16


def _top(target: Any, record: StepRecord, count: int) -> list[tuple[str, float]]:
    tokens, probabilities = record.top_tokens[0][:count], record.top_probabilities[0][:count]
    pieces = [piece.replace("\u2581", " ") for piece in target.pieces(tokens)]
    return [
        (piece, math.log(max(p, 1e-300))) for piece, p in zip(pieces, probabilities, strict=True)
    ]

"""What a request to OpenAI's interface asks for: each field checked, the texts as the model will read them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.generate.prompts import Prompt, chat_prompt, text_prompt
from regard.serve import reading
from regard.serve.models import Models, Served
from regard.serve.reading import Fields
from regard.serve.refusal import Refusal
from regard.serve.settings import (
    MOST_MESSAGES,
    MOST_STOPS,
    MOST_TEXTS,
    MOST_TOKENS,
    Settings,
)
from regard.serve.writing import Wanted

_ROLES = ("system", "developer", "user", "assistant")
_MOST_TOP = 20
_MOST_STOP_LENGTH = 64
_MOST_SEED = (1 << 63) - 1

# What would change the meaning of an answer, and which value of it asks for nothing.
_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "tools": ([],),
    "functions": ([],),
    "audio": (),
    "modalities": (["text"],),
    "response_format": ({"type": "text"},),
    "logit_bias": ({},),
    "suffix": ("",),
    "prediction": (),
    "web_search_options": (),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One text that is to be written."""

    model: Served
    turns: Sequence[str]
    """of a conversation; others read the last"""
    prompt: Prompt | None
    """what the model reads; None for a translator"""
    echo: str = ""


def model_of(models: Models, fields: Fields) -> Served:
    for name, harmless in _UNSUPPORTED.items():
        if fields.get(name) is not None and fields[name] not in harmless:
            raise Refusal(400, f"{name} is not supported here: leave it out", param=name)
    wanted = fields.get("model")
    if not isinstance(wanted, str):
        raise Refusal(400, "model must be the name of a model", param="model")
    return named(models, wanted)


def named(models: Models, name: str) -> Served:
    if name not in models.all:
        known = ", ".join(f"{each} ({served.manifest.task})" for each, served in models.all.items())
        raise Refusal(
            404,
            f"no model here goes by that name: ask for one of {known}, or start the server with "
            "another:  regard serve --model NAME --model FOLDER",
            param="model",
            code="model_not_found",
        )
    return models.all[name]


def turns_of(fields: Fields, settings: Settings) -> list[str]:
    """The contents of the user's and the assistant's messages, in order; the last one is the user's."""
    messages = fields.get("messages")
    if not isinstance(messages, list) or not 1 <= len(messages) <= MOST_MESSAGES:
        raise Refusal(
            400, f"messages must be a list of 1 to {MOST_MESSAGES} messages", param="messages"
        )
    turns = []
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise Refusal(
                400, f"{where} must have one of the roles {', '.join(_ROLES)}", param=where
            )
        content = _content(message.get("content"), where)
        if message["role"] in ("user", "assistant"):
            turns.append((message["role"], content))
    if not turns or turns[-1][0] != "user":
        raise Refusal(400, "the last message must be the user's", param="messages")
    _check_length(sum(len(content) for _, content in turns), "messages", settings)
    return [content for _, content in turns]


def prompts_of(fields: Fields, settings: Settings) -> list[str]:
    given = fields.get("prompt", "")
    prompts = given if isinstance(given, list) else [given]
    if not 1 <= len(prompts) <= MOST_TEXTS or not all(isinstance(each, str) for each in prompts):
        raise Refusal(400, f"prompt must be a text or 1 to {MOST_TEXTS} texts", param="prompt")
    _check_length(sum(map(len, prompts)), "prompt", settings)
    return [reading.clean(each, "prompt") for each in prompts]


def _check_length(length: int, name: str, settings: Settings) -> None:
    most = settings.characters
    if length > most:
        raise Refusal(
            400,
            f"{name} must have at most {most} characters: got {length}",
            param=name,
            code="context_length_exceeded",
        )


def wanted_of(fields: Fields, *lengths: str, num_top: str = "top_logprobs") -> Wanted:
    length = next((name for name in lengths if fields.get(name) is not None), None)
    return Wanted(
        max_tokens=None if length is None else reading.whole(fields, length, 1, 1, MOST_TOKENS),
        temperature=reading.number(fields, "temperature", 0, 2),
        top_p=_above_zero(reading.number(fields, "top_p", 0, 1), "top_p"),
        presence_penalty=reading.number(fields, "presence_penalty", 0, 2) or None,
        frequency_penalty=reading.number(fields, "frequency_penalty", 0, 2) or None,
        seed=None
        if fields.get("seed") is None
        else reading.whole(fields, "seed", 0, 0, _MOST_SEED),
        stops=_stops(fields.get("stop")),
        num_top=reading.whole(present(fields, num_top), num_top, 0, 0, _MOST_TOP),
    )


async def asked_of(
    model: Served,
    turns: list[str],
    wanted: Wanted,
    count: int,
    *,
    shows_tokens: bool,
    echo: bool = False,
) -> Asked:
    task = model.manifest.task
    if task != "translate":
        _check_penalties(model, wanted)
        read: Callable[[], Prompt] = (
            (lambda: chat_prompt(model.translator, turns))
            if task == "chat"
            else (lambda: text_prompt(model.translator, turns[-1]))
        )
        return Asked(model, turns, await asyncio.to_thread(read), turns[-1] if echo else "")
    unfit = {
        "n": count > 1,
        "logprobs": shows_tokens,
        "stop": bool(wanted.stops),
        "echo": echo,
        "presence_penalty": wanted.presence_penalty is not None,
        "frequency_penalty": wanted.frequency_penalty is not None,
    }
    if name := next((name for name, is_asked in unfit.items() if is_asked), None):
        raise Refusal(400, f"{name} is nothing for a translation: leave it out", param=name)
    return Asked(model, turns, None)


def _check_penalties(model: Served, wanted: Wanted) -> None:
    """They change the odds of a draw; where nothing is drawn they would be passed over in silence."""
    is_drawn = model.manifest.task == "write" or model.manifest.decode.method == "sample"
    if wanted.temperature is not None:
        is_drawn = wanted.temperature > 0
    for name in ("presence_penalty", "frequency_penalty"):
        if getattr(wanted, name) is not None and not is_drawn:
            raise Refusal(
                400,
                f"{name} is for texts that are drawn: ask for a temperature above 0 as well, or leave it out",
                param=name,
            )


def _content(content: object, where: str) -> str:
    """A message's text: a string, or parts that are all texts."""
    if isinstance(content, str):
        return reading.clean(content, where)
    if isinstance(content, list):
        texts = [
            part.get("text")
            for part in content
            if isinstance(part, dict) and part.get("type") == "text"
        ]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return reading.clean("".join(map(str, texts)), where)
    raise Refusal(400, f"{where}.content must be a text, or parts of type text", param=where)


def _stops(given: object) -> tuple[str, ...]:
    stops = given if isinstance(given, list) else [] if given is None else [given]
    if len(stops) > MOST_STOPS or not all(
        isinstance(each, str) and 0 < len(each) <= _MOST_STOP_LENGTH for each in stops
    ):
        raise Refusal(
            400,
            f"stop must be up to {MOST_STOPS} texts of up to {_MOST_STOP_LENGTH} characters",
            param="stop",
        )
    return tuple(stops)


def present(fields: Fields, name: str) -> Fields:
    """The field alone, or nothing where it is null: then its default holds."""
    return {} if fields.get(name) is None else {name: fields[name]}


def _above_zero(value: float | None, name: str) -> float | None:
    if value == 0:
        raise Refusal(400, f"{name} must be above 0", param=name)
    return value

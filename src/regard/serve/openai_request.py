"""Requests of OpenAI's interface: every field checked, and the prompt as the model reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.generate.prompts import Prompt, chat_prompt, text_prompt
from regard.serve.answers import TextOptions
from regard.serve.models import Models, ServedModel
from regard.serve.request import BadField, Fields, RequestError, integer, number, valid_text
from regard.serve.settings import MAX_MESSAGES, MAX_STOPS, MAX_TEXTS, MAX_TOKENS, Settings

_ROLES = ("system", "developer", "user", "assistant")
_MAX_TOP = 20
_MAX_STOP_LENGTH = 64
_MAX_SEED = (1 << 63) - 1

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
"""fields that would change the meaning of an answer, with the values that ask for nothing"""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """One text that is to be written."""

    model: ServedModel
    turns: Sequence[str]
    """of a conversation; a translator or language model reads the last"""
    prompt: Prompt | None
    """what the model reads; None for a translator"""
    echo: str = ""


def model_of(models: Models, fields: Fields) -> ServedModel:
    for name, harmless in _UNSUPPORTED.items():
        if fields.get(name) is not None and fields[name] not in harmless:
            raise BadField(name, f"{name} is not supported here: leave it out")
    if not isinstance(fields.get("model"), str):
        raise BadField("model", "model must be the name of a model")
    return find_model(models, fields["model"])


def find_model(models: Models, name: str) -> ServedModel:
    if name not in models.all:
        known = ", ".join(f"{each} ({served.manifest.task})" for each, served in models.all.items())
        message = (
            f"no model here goes by that name: ask for one of {known}, or start the server with "
        )
        message += "another:  regard serve --model NAME --model FOLDER"
        raise RequestError(404, message, param="model", code="model_not_found")
    return models.all[name]


def turns_of(fields: Fields, settings: Settings) -> list[str]:
    """The contents of the user's and the assistant's messages, in order; the last is the user's.

    Instructions (the roles system and developer) are left out: small models do not follow them.
    """
    messages = fields.get("messages")
    if not isinstance(messages, list) or not 1 <= len(messages) <= MAX_MESSAGES:
        raise BadField("messages", f"messages must be a list of 1 to {MAX_MESSAGES} messages")
    turns = []
    for place, each in enumerate(messages):
        where = f"messages[{place}]"
        if not isinstance(each, dict) or each.get("role") not in _ROLES:
            raise BadField(where, f"{where} must have one of the roles {', '.join(_ROLES)}")
        content = _content(each.get("content"), where)
        if each["role"] in ("user", "assistant"):
            turns.append((each["role"], content))
    if not turns or turns[-1][0] != "user":
        raise BadField("messages", "the last message must be the user's")
    texts = [content for _, content in turns]
    _check_length(texts, "messages", settings)
    return texts


def prompts_of(fields: Fields, settings: Settings) -> list[str]:
    given = fields.get("prompt", "")
    prompts = given if isinstance(given, list) else [given]
    if not 1 <= len(prompts) <= MAX_TEXTS or not all(isinstance(each, str) for each in prompts):
        raise BadField("prompt", f"prompt must be a text or 1 to {MAX_TEXTS} texts")
    _check_length(prompts, "prompt", settings)
    return [valid_text(each, "prompt") for each in prompts]


def _check_length(texts: list[str], name: str, settings: Settings) -> None:
    length, most = sum(map(len, texts)), settings.characters
    if length > most:
        message = f"{name} must have at most {most} characters: got {length}"
        raise RequestError(400, message, param=name, code="context_length_exceeded")


def options_of(fields: Fields, *max_tokens: str, num_top: str = "top_logprobs") -> TextOptions:
    """max_tokens, num_top: the names of these fields in the interface, the preferred one first."""
    given = {name: value for name, value in fields.items() if value is not None}
    length = next((name for name in max_tokens if name in given), None)
    top_p = number(fields, "top_p", 0, 1)
    if top_p == 0:
        raise BadField("top_p", "top_p must be above 0")
    return TextOptions(
        max_tokens=None if length is None else integer(given, length, 1, 1, MAX_TOKENS),
        temperature=number(fields, "temperature", 0, 2),
        top_p=top_p,
        presence_penalty=number(fields, "presence_penalty", 0, 2) or None,
        frequency_penalty=number(fields, "frequency_penalty", 0, 2) or None,
        seed=integer(given, "seed", 0, 0, _MAX_SEED) if "seed" in given else None,
        stops=_stops(fields.get("stop")),
        num_top=integer(given, num_top, 0, 0, _MAX_TOP),
    )


async def text_request(
    model: ServedModel,
    turns: list[str],
    options: TextOptions,
    count: int,
    *,
    shows_tokens: bool,
    echo: bool = False,
) -> TextRequest:
    """count: choices asked for; shows_tokens: whether log-probabilities are."""
    task, translator = model.manifest.task, model.translator
    if task != "translate":
        _check_penalties(model, options)
        if task == "chat":
            prompt = await asyncio.to_thread(chat_prompt, translator, turns)
        else:
            prompt = await asyncio.to_thread(text_prompt, translator, turns[-1])
        return TextRequest(model, turns, prompt, turns[-1] if echo else "")
    unfit = {
        "n": count > 1,
        "logprobs": shows_tokens,
        "stop": bool(options.stops),
        "echo": echo,
        "presence_penalty": options.presence_penalty is not None,
        "frequency_penalty": options.frequency_penalty is not None,
    }
    if name := next((name for name, is_asked in unfit.items() if is_asked), None):
        raise BadField(name, f"{name} is nothing for a translation: leave it out")
    return TextRequest(model, turns, None)


def _check_penalties(model: ServedModel, options: TextOptions) -> None:
    """Penalties change what is sampled; a search without sampling would ignore them silently."""
    is_sampled = model.manifest.task == "write" or model.manifest.decode.method == "sample"
    if options.temperature is not None:
        is_sampled = options.temperature > 0
    for name in ("presence_penalty", "frequency_penalty"):
        if getattr(options, name) is not None and not is_sampled:
            message = f"{name} is for sampled texts: ask for a temperature above 0 as well, or leave it out"
            raise BadField(name, message)


def _content(content: object, where: str) -> str:
    """A message's text: a string, or a list of parts that are all texts."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if isinstance(parts, list):
        read = [part for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        texts = [part["text"] for part in read if isinstance(part.get("text"), str)]
        if len(texts) == len(parts):
            return valid_text("".join(texts), where)
    raise BadField(where, f"{where}.content must be a text, or parts of type text")


def _stops(given: object) -> tuple[str, ...]:
    stops = given if isinstance(given, list) else [] if given is None else [given]
    fit = [each for each in stops if isinstance(each, str) and 0 < len(each) <= _MAX_STOP_LENGTH]
    if len(stops) > MAX_STOPS or fit != stops:
        message = f"stop must be up to {MAX_STOPS} texts of up to {_MAX_STOP_LENGTH} characters"
        raise BadField("stop", message)
    return tuple(fit)

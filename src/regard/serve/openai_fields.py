"""OpenAI's formats: the fields of a request, each checked, and the answers."""

import time
import uuid
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from regard.config import DecodeConfig
from regard.generate.stream import TextChunk, WrittenToken
from regard.serve.answers import TextOptions
from regard.serve.models import WRITING, Models, ServedModel
from regard.serve.request import BadField, Fields, check_length, flag, integer, number, valid_text
from regard.serve.settings import MAX_MESSAGES, MAX_STOPS, MAX_TEXTS, MAX_TOKENS

_ROLES = ("system", "developer", "user", "assistant")
_MAX_TOP = 20
_MAX_STOP_LENGTH = 64

_UNSUPPORTED: Fields = {"tools": [], "functions": [], "logit_bias": {}, "suffix": "", "modalities": ["text"]}
_UNSUPPORTED |= {"response_format": {"type": "text"}, "audio": None, "prediction": None, "web_search_options": None}
"""fields that would change the meaning of an answer, with the value besides null that asks for nothing"""
_PENALTIES = ("presence_penalty", "frequency_penalty")


def model_of(models: Models, fields: Fields, tasks: Sequence[str] = WRITING) -> ServedModel:
    for name, harmless in _UNSUPPORTED.items():
        if fields.get(name) not in (None, harmless):
            raise BadField(name, f"{name} is not supported here: leave it out")
    if not isinstance(fields.get("model"), str):
        raise BadField("model", "model must be the name of a model")
    found = models.find(fields["model"])
    if found.manifest.task not in tasks:
        raise BadField(
            "model", f"the model must be one to {' or '.join(tasks)}: {found.name} is to {found.manifest.task}"
        )
    return found


def turns_of(fields: Fields, most: int) -> list[str]:
    """The contents of the user's and the assistant's messages, in order; the last is the user's.

    Instructions (the roles system and developer) are left out: small models do not follow them.
    """
    messages = fields.get("messages")
    if not isinstance(messages, list) or not 1 <= len(messages) <= MAX_MESSAGES:
        raise BadField("messages", f"messages must be a list of 1 to {MAX_MESSAGES} messages")
    turns, last = [], ""
    for place, each in enumerate(messages):
        where = f"messages[{place}]"
        if not isinstance(each, dict) or each.get("role") not in _ROLES:
            raise BadField(where, f"{where} must have one of the roles {', '.join(_ROLES)}")
        content, role = _content(each.get("content"), where), each["role"]
        if role in ("user", "assistant"):
            turns.append(content)
            last = role
    if last != "user":
        raise BadField("messages", "the last message must be the user's")
    check_length(turns, "messages", most)
    return turns


def _content(content: object, where: str) -> str:
    """A message's text: a string, or a list of parts that are all texts."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if isinstance(parts, list):
        read = [part for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        texts = [part["text"] for part in read if isinstance(part.get("text"), str)]
        if len(texts) == len(parts):
            return valid_text("".join(texts), where)
    raise BadField(where, f"{where}.content must be a text, or parts of type text")


def texts_of(fields: Fields, name: str, most: int) -> list[str]:
    given: Any = fields.get(name)
    texts = given if isinstance(given, list) else [given]
    if not 1 <= len(texts) <= MAX_TEXTS or not all(isinstance(each, str) for each in texts):
        raise BadField(name, f"{name} must be a text or 1 to {MAX_TEXTS} texts")
    check_length(texts, name, most)
    return [valid_text(each, name) for each in texts]


def vector_format(fields: Fields, width: int) -> Callable[[np.ndarray], Any]:
    """How the vectors of an answer are written; OpenAI's own client asks for base64."""
    if fields.get("dimensions") not in (None, width):
        raise BadField("dimensions", f"dimensions must be {width}, as the model has: leave it out")
    form = fields.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise BadField("encoding_format", "encoding_format must be float or base64")
    if form == "float":
        return lambda vector: vector.tolist()
    return lambda vector: b64encode(vector.astype("<f4").tobytes()).decode()


def options_of(model: ServedModel, fields: Fields, *, is_chat: bool) -> TextOptions:
    given = {name: value for name, value in fields.items() if value is not None}
    lengths = ("max_completion_tokens", "max_tokens") if is_chat else ("max_tokens",)
    wanted = next((name for name in lengths if name in given), None)
    options = TextOptions(
        _decode(model, given),
        None if wanted is None else integer(given, wanted, 1, 1, MAX_TOKENS),
        _stops(fields.get("stop")),
        integer(given, "top_logprobs" if is_chat else "logprobs", 0, 0, _MAX_TOP),
    )
    if model.manifest.task == "translate":
        unfit = [name for name in ("logprobs", "stop", "echo", *_PENALTIES) if given.get(name)]
        unfit += ["n"] if given.get("n", 1) != 1 else []
        if unfit:
            raise BadField(unfit[0], f"{unfit[0]} is nothing for a translation: leave it out")
    return options


def _decode(model: ServedModel, given: Fields) -> DecodeConfig:
    """The model's own search with what the request changes; temperature 0 asks for the most probable text."""
    bounds = {"temperature": (0, 2), "top_p": (0, 1), **dict.fromkeys(_PENALTIES, (0, 2))}
    changes: dict[str, Any] = {name: number(given, name, *ends) for name, ends in bounds.items() if name in given}
    if changes.get("top_p") == 0:
        raise BadField("top_p", "top_p must be above 0")
    if "seed" in given:
        changes["seed"] = integer(given, "seed", 0, 0, (1 << 63) - 1)
    own, task = model.manifest.decode, model.manifest.task
    if task == "translate":
        return own
    # A beam knows its text only at the end, and a story of the most probable words repeats itself.
    is_streamed = task == "write" or model.manifest.generate.chat_template != "lines"
    changes["method"] = "sample" if is_streamed else own.method
    if (temperature := changes.get("temperature")) is not None:
        most_probable = "greedy" if is_streamed else "beam"
        changes["method"] = "sample" if temperature else most_probable
        changes["temperature"] = temperature or 1.0
    for name in _PENALTIES:
        if not changes.get(name):  # many clients send a 0 that asks for nothing
            changes.pop(name, None)
        elif changes["method"] != "sample":
            raise BadField(name, f"{name} is for sampled texts: ask for a temperature above 0 as well, or leave it out")
    return replace(own, **changes)


def _stops(given: object) -> tuple[str, ...]:
    stops = given if isinstance(given, list) else [] if given is None else [given]
    fit = [each for each in stops if isinstance(each, str) and 0 < len(each) <= _MAX_STOP_LENGTH]
    if len(stops) > MAX_STOPS or fit != stops:
        raise BadField("stop", f"stop must be up to {MAX_STOPS} texts of up to {_MAX_STOP_LENGTH} characters")
    return tuple(fit)


class ResponseFormat:
    """How chat completions (is_chat) or completions are written, whole or as the chunks of a stream."""

    def __init__(self, model: str, fields: Fields, *, is_chat: bool) -> None:
        self._is_chat = is_chat
        # In completions it is a number, and 0 asks for the tokens alone.
        self._shows_tokens = flag(fields, "logprobs") if is_chat else fields.get("logprobs") is not None
        self.streams = flag(fields, "stream")
        options = fields.get("stream_options") or {}
        if not isinstance(options, dict):
            raise BadField("stream_options", "stream_options must be an object")
        self.shows_usage = flag(options, "include_usage")
        kind = "text_completion"
        if is_chat:
            kind = "chat.completion.chunk" if self.streams else "chat.completion"
        self.head = {
            "id": f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}",
            "object": kind,
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": "regard",
        }

    def choice(self, number: int, parts: Sequence[TextChunk]) -> dict[str, Any]:
        text = "".join(part.text for part in parts)
        message = {"role": "assistant", "content": text, "refusal": None}
        content = {"message": message} if self._is_chat else {"text": text}
        tokens = [token for part in parts for token in part.tokens]
        finish = next((part.finish for part in parts if part.finish), "stop")
        return _choice(number, content, self._logprobs(tokens), finish)

    def chunks(self, number: int, part: TextChunk, *, is_first: bool) -> list[dict[str, Any]]:
        choices = []
        if is_first and self._is_chat:
            choices.append(_choice(number, {"delta": {"role": "assistant", "content": ""}}))
        if part.text or part.tokens:
            delta = {"delta": {"content": part.text}} if self._is_chat else {"text": part.text}
            choices.append(_choice(number, delta, self._logprobs(part.tokens)))
        if part.finish is not None:
            last: dict[str, Any] = {"delta": {}} if self._is_chat else {"text": ""}
            choices.append(_choice(number, last, None, part.finish))
        return [{**self.head, "choices": [choice]} for choice in choices]

    def _logprobs(self, tokens: Sequence[WrittenToken]) -> dict[str, Any] | None:
        if not self._shows_tokens:
            return None
        if self._is_chat:
            content = [_logprob(token.text, token.log_probability) for token in tokens]
            for each, token in zip(content, tokens, strict=True):
                each["top_logprobs"] = [_logprob(*top) for top in token.top]
            return {"content": content, "refusal": None}
        offsets = accumulate((len(token.text) for token in tokens), initial=0)
        return {
            "tokens": [token.text for token in tokens],
            "token_logprobs": [token.log_probability for token in tokens],
            "top_logprobs": [dict(token.top) for token in tokens],
            "text_offset": list(offsets)[:-1],
        }


def _choice(number: int, content: dict[str, Any], logprobs: Any = None, finish: str | None = None) -> dict[str, Any]:
    return {"index": number, **content, "logprobs": logprobs, "finish_reason": finish}


def _logprob(text: str, log_probability: float) -> dict[str, Any]:
    return {"token": text, "logprob": log_probability, "bytes": list(text.encode())}

"""Answers of OpenAI's two interfaces, whole or as the chunks of a stream."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from regard.generate.stream import TextChunk, WrittenToken
from regard.serve.request import BadField, Fields, flag

Tokens = Sequence[WrittenToken]


class ResponseFormat:
    """How chat completions (is_chat) or completions are written."""

    def __init__(self, model: str, fields: Fields, *, is_chat: bool, shows_tokens: bool) -> None:
        self._is_chat, self.shows_tokens = is_chat, shows_tokens
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

    def choice(self, number: int, text: str, tokens: Tokens, finish: str) -> dict[str, Any]:
        """One whole answer."""
        message = {"role": "assistant", "content": text, "refusal": None}
        content = {"message": message} if self._is_chat else {"text": text}
        return _choice(number, content, self._logprobs(tokens), finish)

    def chunks(self, number: int, part: TextChunk, *, is_first: bool) -> list[dict[str, Any]]:
        """The next part of a choice in a stream."""
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

    def _logprobs(self, tokens: Tokens) -> dict[str, Any] | None:
        if not self.shows_tokens:
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


def _choice(
    number: int, content: dict[str, Any], logprobs: Any = None, finish: str | None = None
) -> dict[str, Any]:
    return {"index": number, **content, "logprobs": logprobs, "finish_reason": finish}


def _logprob(text: str, log_probability: float) -> dict[str, Any]:
    return {"token": text, "logprob": log_probability, "bytes": list(text.encode())}


@dataclass
class Usage:
    """Tokens read and written."""

    num_read: int
    num_written: int = 0

    def add(self, num_read: int, num_written: int) -> None:
        self.num_read += num_read
        self.num_written += num_written

    def to_dict(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.num_read,
            "completion_tokens": self.num_written,
            "total_tokens": self.num_read + self.num_written,
        }

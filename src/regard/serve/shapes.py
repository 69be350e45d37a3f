"""How OpenAI's two interfaces write an answer, whole or as chunks of a stream."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from typing import Any

from regard.generate.stream import WrittenToken
from regard.serve import reading
from regard.serve.reading import Fields
from regard.serve.refusal import Refusal


class Shape(ABC):
    """How one of the two interfaces writes what it answers."""

    kind = ""
    chunk_kind = ""
    opening: dict[str, Any] | None = None
    closing: dict[str, Any] = {}

    def __init__(self, model: str, fields: Fields, shows_tokens: bool) -> None:
        prefix = "chatcmpl" if self.kind.startswith("chat") else "cmpl"
        self._id, self._created = f"{prefix}-{uuid.uuid4().hex}", int(time.time())
        self._model = model
        self.shows_tokens = shows_tokens
        self.streams = reading.flag(fields, "stream")
        options = fields.get("stream_options") or {}
        if not isinstance(options, dict):
            raise Refusal(400, "stream_options must be an object", param="stream_options")
        self.shows_usage = reading.flag(options, "include_usage")

    def head(self) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": self.chunk_kind if self.streams else self.kind,
            "created": self._created,
            "model": self._model,
            "system_fingerprint": "regard",
        }

    def chunk(
        self, number: int, delta: dict[str, Any], finish: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": number, "logprobs": None, **delta, "finish_reason": finish}
        return {**self.head(), "choices": [choice]}

    @abstractmethod
    def delta(self, text: str, tokens: list[WrittenToken]) -> dict[str, Any]:
        """What one chunk of a stream adds to its choice."""

    @abstractmethod
    def choice(
        self, number: int, text: str, tokens: list[WrittenToken], finish: str
    ) -> dict[str, Any]:
        """One whole answer."""


class Chat(Shape):
    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"
    opening = {"delta": {"role": "assistant", "content": ""}}
    closing = {"delta": {}}

    def delta(self, text: str, tokens: list[WrittenToken]) -> dict[str, Any]:
        return {"delta": {"content": text}, "logprobs": self._logprobs(tokens)}

    def choice(
        self, number: int, text: str, tokens: list[WrittenToken], finish: str
    ) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        logprobs = self._logprobs(tokens)
        return {"index": number, "message": message, "logprobs": logprobs, "finish_reason": finish}

    def _logprobs(self, tokens: list[WrittenToken]) -> dict[str, Any] | None:
        if not self.shows_tokens:
            return None

        def shown(text: str, log_probability: float) -> dict[str, Any]:
            return {"token": text, "logprob": log_probability, "bytes": list(text.encode())}

        return {
            "content": [
                {
                    **shown(token.text, token.log_probability),
                    "top_logprobs": [shown(*each) for each in token.top],
                }
                for token in tokens
            ],
            "refusal": None,
        }


class Completion(Shape):
    kind = "text_completion"
    chunk_kind = "text_completion"
    closing = {"text": ""}

    def delta(self, text: str, tokens: list[WrittenToken]) -> dict[str, Any]:
        return {"text": text, "logprobs": self._logprobs(tokens)}

    def choice(
        self, number: int, text: str, tokens: list[WrittenToken], finish: str
    ) -> dict[str, Any]:
        logprobs = self._logprobs(tokens)
        return {"index": number, "text": text, "logprobs": logprobs, "finish_reason": finish}

    def _logprobs(self, tokens: list[WrittenToken]) -> dict[str, Any] | None:
        if not self.shows_tokens:
            return None
        offsets, length = [], 0
        for token in tokens:
            offsets.append(length)
            length += len(token.text)
        return {
            "tokens": [token.text for token in tokens],
            "token_logprobs": [token.log_probability for token in tokens],
            "top_logprobs": [dict(token.top) for token in tokens],
            "text_offset": offsets,
        }


class Usage:
    """What was read and written, in pieces."""

    def __init__(self, num_read: int) -> None:
        self.num_read, self.num_written = num_read, 0

    def add(self, num_read: int, num_written: int) -> None:
        self.num_read += num_read
        self.num_written += num_written

    def shown(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.num_read,
            "completion_tokens": self.num_written,
            "total_tokens": self.num_read + self.num_written,
        }

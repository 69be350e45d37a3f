"""Answers of OpenAI's two interfaces, whole or as the chunks of a stream."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from itertools import accumulate
from typing import Any

from regard.generate.stream import WrittenToken
from regard.serve.request import Fields, RequestError, flag


class ResponseFormat(ABC):
    """How one of the two interfaces writes its answers."""

    kind = ""
    chunk_kind = ""
    id_prefix = ""
    opening: dict[str, Any] | None = None
    """first chunk of a choice"""
    closing: dict[str, Any] = {}
    """last chunk of a choice"""

    def __init__(self, model: str, fields: Fields, shows_tokens: bool) -> None:
        self.shows_tokens = shows_tokens
        self.streams = flag(fields, "stream")
        options = fields.get("stream_options") or {}
        if not isinstance(options, dict):
            raise RequestError(400, "stream_options must be an object", param="stream_options")
        self.shows_usage = flag(options, "include_usage")
        self.head = {
            "id": f"{self.id_prefix}-{uuid.uuid4().hex}",
            "object": self.chunk_kind if self.streams else self.kind,
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": "regard",
        }

    def chunk(
        self, number: int, delta: dict[str, Any], finish: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": number, "logprobs": None, **delta, "finish_reason": finish}
        return {**self.head, "choices": [choice]}

    def choice(
        self, number: int, text: str, tokens: list[WrittenToken], finish: str
    ) -> dict[str, Any]:
        """One whole answer."""
        logprobs = self.logprobs(tokens) if self.shows_tokens else None
        return {
            "index": number,
            **self.content(text),
            "logprobs": logprobs,
            "finish_reason": finish,
        }

    def delta(self, text: str, tokens: list[WrittenToken]) -> dict[str, Any]:
        """What one chunk of a stream adds to its choice."""
        logprobs = self.logprobs(tokens) if self.shows_tokens else None
        return {**self.content_delta(text), "logprobs": logprobs}

    @abstractmethod
    def content(self, text: str) -> dict[str, Any]: ...
    @abstractmethod
    def content_delta(self, text: str) -> dict[str, Any]: ...
    @abstractmethod
    def logprobs(self, tokens: list[WrittenToken]) -> dict[str, Any]: ...


class ChatFormat(ResponseFormat):
    kind, chunk_kind, id_prefix = "chat.completion", "chat.completion.chunk", "chatcmpl"
    opening = {"delta": {"role": "assistant", "content": ""}}
    closing = {"delta": {}}

    def content(self, text: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": text, "refusal": None}}

    def content_delta(self, text: str) -> dict[str, Any]:
        return {"delta": {"content": text}}

    def logprobs(self, tokens: list[WrittenToken]) -> dict[str, Any]:
        def shown(text: str, log_probability: float) -> dict[str, Any]:
            return {"token": text, "logprob": log_probability, "bytes": list(text.encode())}

        content = [
            {
                **shown(token.text, token.log_probability),
                "top_logprobs": [shown(*each) for each in token.top],
            }
            for token in tokens
        ]
        return {"content": content, "refusal": None}


class CompletionFormat(ResponseFormat):
    kind, chunk_kind, id_prefix = "text_completion", "text_completion", "cmpl"
    closing = {"text": ""}

    def content(self, text: str) -> dict[str, Any]:
        return {"text": text}

    content_delta = content

    def logprobs(self, tokens: list[WrittenToken]) -> dict[str, Any]:
        offsets = accumulate((len(token.text) for token in tokens), initial=0)
        return {
            "tokens": [token.text for token in tokens],
            "token_logprobs": [token.log_probability for token in tokens],
            "top_logprobs": [dict(token.top) for token in tokens],
            "text_offset": list(offsets)[:-1],
        }


class Usage:
    """Tokens read and written."""

    def __init__(self, num_read: int) -> None:
        self.num_read, self.num_written = num_read, 0

    def add(self, num_read: int, num_written: int) -> None:
        self.num_read += num_read
        self.num_written += num_written

    def to_dict(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.num_read,
            "completion_tokens": self.num_written,
            "total_tokens": self.num_read + self.num_written,
        }

"""A request that is not answered: why, in either dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """What the client did wrong, or why it must come back later."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after: int | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.param, self.code = param, code
        self._headers = {"Retry-After": retry_after, "Allow": allow}

    def response(self, path: str) -> Response:
        headers = {name: str(each) for name, each in self._headers.items() if each is not None}
        body = self.openai() if speaks_openai(path) else {"error": self.message}
        return json_response(body, self.status, headers)

    def openai(self) -> dict[str, object]:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {
            "error": {
                "message": self.message,
                "type": _TYPES.get(self.status, kind),
                "param": self.param,
                "code": self.code,
            }
        }


def speaks_openai(path: str) -> bool:
    return path == "/v1" or path.startswith("/v1/")


def json_response(
    content: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A text of ours has no lone surrogate, but an error may quote one from a client.
    body = text.encode("utf-8", "replace")
    return Response(body, status, headers, media_type="application/json")

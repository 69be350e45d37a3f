"""A request's fields, checked before anything is done, and the error that refuses one in either dialect."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from starlette.responses import Response

from regard.errors import UsageError
from regard.text import check_text

# An upload stays in memory, where its body is anyway: nothing a client sends is written to disk.
MultiPartParser.spool_max_size = 1 << 30

_MAX_FIELDS = 192
_MAX_DIGITS = 24
_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}

Fields = dict[str, Any]


class RequestError(Exception):
    """Why a request is not answered: the client's mistake, or a reason to come back later."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None, **headers: object
    ) -> None:
        """headers: further ones of the response, such as retry_after=1."""
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code
        self._headers = {name.replace("_", "-"): str(each) for name, each in headers.items()}

    def response(self, path: str) -> Response:
        body = self.openai() if speaks_openai(path) else {"error": self.message}
        return json_response(body, self.status, self._headers)

    def openai(self) -> dict[str, object]:
        default = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = _ERROR_TYPES.get(self.status, default)
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class BadField(RequestError):
    """A field of the request is missing or wrong."""

    def __init__(self, name: str, message: str, code: str | None = None) -> None:
        super().__init__(400, message, param=name, code=code)


def speaks_openai(path: str) -> bool:
    return path == "/v1" or path.startswith("/v1/")


def json_bytes(content: object) -> bytes:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # An error may quote a lone surrogate that a client sent.
    return text.encode("utf-8", "replace")


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(content), status, headers, media_type="application/json")


async def fields_of(request: Request) -> Fields:
    """The fields of the query string, overridden by those of a JSON or form body."""
    fields: Fields = dict(request.query_params)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == "application/x-www-form-urlencoded":
        fields |= _gather(_form_pairs(body))
    elif kind == "multipart/form-data":
        fields |= await _multipart(request)
    elif body:
        fields |= parse_object(body)
    return fields


def parse_object(body: bytes) -> Fields:
    def reject(constant: str) -> float:  # NaN and Infinity
        raise ValueError(constant)

    try:
        value = json.loads(body.decode("utf-8"), parse_constant=reject)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RequestError(400, "Invalid request: the body must be a JSON object in UTF-8")
    return value


def _form_pairs(body: bytes) -> list[tuple[str, str]]:
    """Names and values; letters beyond ASCII need no escape, as `curl -d` sends them."""
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        message = f"Invalid request: a form must be UTF-8 and have at most {_MAX_FIELDS} fields"
        raise RequestError(400, message) from None


async def _multipart(request: Request) -> Fields:
    try:
        form = await request.form(max_files=1, max_fields=_MAX_FIELDS)
    except HTTPException:
        raise RequestError(400, "Invalid request: the form cannot be read") from None
    items: list[tuple[str, Any]] = []
    for name, value in form.multi_items():
        items.append((name, (value.filename or "", await value.read()) if isinstance(value, UploadFile) else value))
    await form.close()
    return _gather(items)


def _gather(items: Iterable[tuple[str, Any]]) -> Fields:
    """A repeated text field becomes a list; of repeated files the last counts."""
    fields: Fields = {}
    for name, value in items:
        if name in fields and isinstance(value, str):
            earlier = fields[name] if isinstance(fields[name], list) else [fields[name]]
            fields[name] = [*earlier, value]
        else:
            fields[name] = value
    return fields


def text_of(fields: Fields, name: str, default: str | None = None) -> str:
    value = fields.get(name, default)
    if value is None:
        raise BadField(name, f"Invalid request: missing {name} parameter")
    return valid_text(value, name)


def valid_text(value: object, name: str) -> str:
    try:
        return check_text(value, name)
    except UsageError as error:
        raise BadField(name, f"Invalid request: {name} must be UTF-8 text") from error


def check_length(texts: list[str], name: str, most: int) -> None:
    if (length := sum(map(len, texts))) > most:
        message = f"{name} must have at most {most} characters: got {length}"
        raise BadField(name, message, code="context_length_exceeded")


def integer(fields: Fields, name: str, default: int, low: int, high: int) -> int:
    """A whole number within its bounds; the digits of a form count as one, and null asks for the default."""
    value = default if fields.get(name) is None else fields[name]
    is_written = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS
    if is_written or isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadField(name, f"Invalid request: {name} must be a whole number from {low} to {high}")
    return value


def number(fields: Fields, name: str, low: float, high: float) -> float:
    value = fields[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise BadField(name, f"{name} must be a number from {low:g} to {high:g}")
    return float(value)


def flag(fields: Fields, name: str) -> bool:
    value = fields.get(name)
    if value not in (None, True, False):
        raise BadField(name, f"{name} must be true or false")
    return bool(value)

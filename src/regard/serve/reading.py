"""What a request says: JSON, a form, or a query string, each value checked before anything is done."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.requests import Request

from regard.serve.refusal import Refusal
from regard.text.given import check_text

# An upload stays in memory, where its body is anyway: what anyone sends is never written to a disk.
MultiPartParser.spool_max_size = 1 << 30

_MOST_FIELDS = 192
_MOST_DIGITS = 24

Fields = dict[str, Any]


async def fields_of(request: Request) -> Fields:
    """The names and values of a request, whichever way they came; the query's where the body has none."""
    fields: Fields = dict(request.query_params)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == "application/x-www-form-urlencoded":
        fields |= _gathered(_pairs(body))
    elif kind == "multipart/form-data":
        fields |= await _form(request)
    elif body:
        fields |= parse_object(body)
    return fields


def parse_object(body: bytes) -> Fields:
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "Invalid request: the body must be JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise Refusal(400, "Invalid request: the body must be a JSON object")
    return value


def _pairs(body: bytes) -> list[tuple[str, str]]:
    """Names and values, also where letters beyond ASCII came as they are, as `curl -d` sends them."""
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Refusal(
            400,
            f"Invalid request: a form must be UTF-8 and have at most {_MOST_FIELDS} fields",
        ) from None


async def _form(request: Request) -> Fields:
    try:
        form = await request.form(max_files=1, max_fields=_MOST_FIELDS)
    except HTTPException:
        raise Refusal(400, "Invalid request: the form cannot be read") from None
    items = [
        (name, (value.filename or "", await value.read()))
        if isinstance(value, UploadFile)
        else (name, value)
        for name, value in form.multi_items()
    ]
    await form.close()
    return _gathered(items)


def _gathered(items: Iterable[tuple[str, Any]]) -> Fields:
    """A name that comes more than once has a list of values; of files the last counts."""
    fields: Fields = {}
    for name, value in items:
        if name in fields and isinstance(value, str):
            earlier = fields[name] if isinstance(fields[name], list) else [fields[name]]
            fields[name] = [*earlier, value]
        else:
            fields[name] = value
    return fields


def _no_constant(name: str) -> float:
    raise ValueError(name)


def text_of(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = fields.get(name, default)
    if value is None:
        raise Refusal(400, f"Invalid request: missing {name} parameter", param=name)
    if not isinstance(value, str):
        raise Refusal(400, f"Invalid request: {name} must be a text", param=name)
    return clean(value, name)


def clean(value: str, name: str) -> str:
    try:
        return check_text(value, name)
    except Exception as error:
        raise Refusal(400, f"Invalid request: {name} must be UTF-8 text", param=name) from error


def whole(fields: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """A whole number within its bounds; a form's digits are one too."""
    value = fields.get(name, default)
    wrong = Refusal(
        400, f"Invalid request: {name} must be a whole number from {low} to {high}", param=name
    )
    if isinstance(value, str):
        digits = value.strip().removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or len(digits) > _MOST_DIGITS:
            raise wrong
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise wrong
    return value


def number(fields: Mapping[str, Any], name: str, low: float, high: float) -> float | None:
    """A number within its bounds, or None where there is none."""
    value = fields.get(name)
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, int) and abs(value) > 1 << 53)
        or not math.isfinite(value)
        or not low <= value <= high
    ):
        raise Refusal(400, f"{name} must be a number from {low:g} to {high:g}", param=name)
    return float(value)


def flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if value not in (None, True, False):
        raise Refusal(400, f"{name} must be true or false", param=name)
    return bool(value)

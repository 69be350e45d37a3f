"""A file's bytes as text and back, in the encoding that the file declares."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from regard.errors import DataError, UsageError

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_NUM_FIRST = 4096
"""bytes in which a file declares its encoding"""
_XML = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.-]{1,40})["']""")
_HTML = re.compile(rb"""(?i)<meta[^<>]{0,200}?charset\s*=\s*+(?:["']\s*)?([\w.-]{1,40})""")
_PO = re.compile(rb"""Content-Type:[^\n]{0,100}?charset=([\w.-]{1,40})""", re.IGNORECASE)
_DECLARATIONS = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), (_XML, _HTML)),
    **dict.fromkeys((".xliff", ".xlf", ".tmx"), (_XML,)),
    **dict.fromkeys((".po", ".pot"), (_PO,)),
}


@dataclass(frozen=True, slots=True)
class DecodedText:
    content: str
    encoding: str
    mark: bytes = b""
    """byte order mark"""


def decode(data: bytes, suffix: str, encoding: str | None = None) -> DecodedText:
    """The text of a file; the error names the line of a byte that does not belong there."""
    found = (mark for mark in _BYTE_ORDER_MARKS if data.startswith(mark))
    mark = next(found, b"") if encoding is None else b""
    encoding = encoding or _BYTE_ORDER_MARKS.get(mark) or _declared(data, suffix) or "utf-8"
    try:
        codec = codecs.lookup(encoding)
        if not getattr(codec, "_is_text_encoding", True):
            raise LookupError
    except (LookupError, ValueError) as error:
        raise UsageError(
            f"an encoding must be one that Python knows: got {encoding!r}; name it, such as utf-8"
        ) from error
    try:
        content = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start + len(mark)) + 1
        raise DataError(
            f"the file must be {encoding} text: got another byte in line {line}; "
            "name its encoding with --encoding, such as cp1252"
        ) from error
    return DecodedText(content, encoding, mark)


def encode(text: DecodedText, suffix: str) -> tuple[bytes, int]:
    """The bytes of a text, and how many characters the encoding lacks; markup has references for them."""
    try:
        return text.mark + text.content.encode(text.encoding), 0
    except UnicodeEncodeError:
        if _XML in _DECLARATIONS.get(suffix, ()):
            return text.mark + text.content.encode(text.encoding, "xmlcharrefreplace"), 0
    data = text.content.encode(text.encoding, "replace")
    lost = sum(1 for a, b in zip(text.content, data.decode(text.encoding), strict=False) if a != b)
    return text.mark + data, lost


def _declared(data: bytes, suffix: str) -> str | None:
    for pattern in _DECLARATIONS.get(suffix, ()):
        if match := pattern.search(data[:_NUM_FIRST]):
            name = match.group(1).decode("ascii")
            # A declaration that was found byte by byte is not in UTF-16, whatever it says.
            if not name.lower().startswith("utf-16") and name != "CHARSET":
                return name
    return None

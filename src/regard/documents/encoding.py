"""From a file's bytes to its text and back, in the encoding that the file declares."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from regard.errors import DataError, UsageError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Where in its first bytes a file of this kind says what its encoding is.
_NUM_FIRST = 4096
_XML = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.-]{1,40})["']""")
_HTML = re.compile(
    rb"""<meta[^<>]{0,200}?charset\s*=\s*+(?:["']\s*)?([\w.-]{1,40})""", re.IGNORECASE
)
_PO = re.compile(rb"""Content-Type:[^\n]{0,100}?charset=([\w.-]{1,40})""", re.IGNORECASE)
_DECLARATIONS = {
    ".html": (_XML, _HTML),
    ".htm": (_XML, _HTML),
    ".xhtml": (_XML, _HTML),
    ".xliff": (_XML,),
    ".xlf": (_XML,),
    ".tmx": (_XML,),
    ".po": (_PO,),
    ".pot": (_PO,),
}


@dataclass(frozen=True, slots=True)
class Text:
    content: str
    encoding: str
    mark: bytes = b""
    """what the file begins with to say its encoding"""


def decode(data: bytes, suffix: str, encoding: str | None = None) -> Text:
    """The text of a file; a byte that does not belong there is named."""
    mark = b""
    for bytes_, name in _MARKS:
        if encoding is None and data.startswith(bytes_):
            mark, encoding = bytes_, name
    encoding = encoding or _declared(data, suffix) or "utf-8"
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
    return Text(content, encoding, mark)


def encode(text: Text, suffix: str) -> tuple[bytes, int]:
    """The bytes of a text, and how many characters the encoding lacks; markup can write all of them."""
    try:
        return text.mark + text.content.encode(text.encoding), 0
    except UnicodeEncodeError:
        if suffix in _DECLARATIONS and _PO not in _DECLARATIONS[suffix]:
            return text.mark + text.content.encode(text.encoding, "xmlcharrefreplace"), 0
    data = text.content.encode(text.encoding, "replace")
    lost = sum(1 for a, b in zip(text.content, data.decode(text.encoding), strict=False) if a != b)
    return text.mark + data, lost


def _declared(data: bytes, suffix: str) -> str | None:
    for pattern in _DECLARATIONS.get(suffix, ()):
        if match := pattern.search(data[:_NUM_FIRST]):
            name = match.group(1).decode("ascii")
            # A declaration that can be read byte by byte is not in UTF-16, whatever it says.
            if not name.lower().startswith("utf-16") and name != "CHARSET":
                return name
    return None

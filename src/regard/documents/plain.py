"""A file's bytes as text and back, in the encoding that the file declares; and the reader of plain text.

Of plain text each line is a paragraph, except for wrapped lines, which are one.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.documents.markup import text_items
from regard.documents.segments import LINE, Languages, Slot, parts_of
from regard.errors import DataError, UsageError

_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SLOW = ("idna", "punycode")  # encodings of names, which would take hours for a file
_NUM_FIRST = 4096  # bytes in which a file declares its encoding
_XML = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.-]{1,40})["']""")
_HTML = re.compile(rb"""(?i)<meta[^<>]{0,200}?charset\s*=\s*+(?:["']\s*)?([\w.-]{1,40})""")
_PO = re.compile(rb"""Content-Type:[^\n]{0,100}?charset=([\w.-]{1,40})""", re.IGNORECASE)
_DECLARATIONS = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), (_XML, _HTML)),
    **dict.fromkeys((".xliff", ".xlf", ".tmx"), (_XML,)),
    **dict.fromkeys((".po", ".pot"), (_PO,)),
}


# Wrapped lines of prose are all about as long; those of a list or a poem seldom are.
_WRAPPED_LENGTH = 40  # minimum length of a wrapped line, in characters
_MAX_DIFFERENCE = 25  # between the longest line and the others


@dataclass(frozen=True, slots=True)
class DecodedText:
    content: str
    encoding: str
    mark: bytes = b""  # byte order mark


def decode(data: bytes, suffix: str, encoding: str | None = None) -> DecodedText:
    """The text of a file; the error names the line of a byte that does not belong there."""
    mark = next((mark for mark in _BYTE_ORDER_MARKS if encoding is None and data.startswith(mark)), b"")
    encoding = encoding or _BYTE_ORDER_MARKS.get(mark) or _declared(data, suffix) or "utf-8"
    if b"\0" in data and not re.search("16|32", encoding):
        raise DataError("the file must be text: got binary data; give it its own suffix, or name its encoding")
    try:
        if codecs.lookup(encoding).name in _SLOW:
            raise LookupError(encoding)
        content = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start + len(mark)) + 1
        raise DataError(
            f"the file must be {encoding} text: line {line} holds a byte that is not; name its encoding, such as cp1252"
        ) from error
    except (LookupError, ValueError) as error:
        raise UsageError(
            f"an encoding must be one that Python knows: got {encoding!r}; name it, such as utf-8"
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


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    slots = [Slot(*span, parts_of(text_items(text[slice(*span)]))) for span in _paragraphs(text)]
    return slots, []


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    block: list[tuple[int, int]] = []
    for match in LINE.finditer(text):
        if match.group().strip():
            block.append(match.span())
            continue
        if _is_wrapped([text[slice(*span)].rstrip() for span in block]):
            block = [(block[0][0], block[-1][1])]
        yield from block
        block = []


def _is_wrapped(lines: list[str]) -> bool:
    """Whether lines look like one paragraph: long, even, and one begins in the middle of a sentence."""
    if len(lines) < 2 or not any(line[0].islower() for line in lines[1:]):
        return False
    least = max(_WRAPPED_LENGTH, max(map(len, lines)) - _MAX_DIFFERENCE)
    return all(len(line) >= least for line in lines[:-1]) and not any(line[0].isspace() for line in lines[1:])

"""A file's bytes as text and back, in the encoding that it declares; the languages that it declares; and plain text.

Of plain text each line is a paragraph, except for wrapped lines, which are one.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.documents.markup import text_items
from regard.documents.segments import LINE, Languages, Slot, parts_of
from regard.errors import DataError, UsageError
from regard.text.language import main_language

_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SLOW = ("idna", "punycode")  # encodings of names, which would take hours for a file
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # bytes that are rare in text, except in UTF-16 and UTF-32
_NUM_FIRST = 4096  # bytes in which a file declares its encoding
_XML = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([\w.-]{1,40})["']""")
_HTML = re.compile(rb"""(?i)<meta[^<>]{0,200}?charset\s*=\s*+(?:["']\s*)?([\w.-]{1,40})""")
_PO = re.compile(rb"""Content-Type:[^\n]{0,100}?charset=([\w.-]{1,40})""", re.IGNORECASE)
_DECLARATIONS = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), (_XML, _HTML)),
    **dict.fromkeys((".xliff", ".xlf", ".tmx"), (_XML,)),
    **dict.fromkeys((".po", ".pot"), (_PO,)),
}
_NUM_LANGUAGES = 100_000  # characters in which a file declares its languages
_CODE = r"""\s*["']?([A-Za-z]{2,3}(?:[-_]\w{2,8})*)\b"""
_LANGUAGES = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), (rf"(?is)<html\b[^>]*?\s(?:xml:)?lang\s*={_CODE}", "")),
    **dict.fromkeys((".po", ".pot"), ("", rf'(?m)^"Language:{_CODE}(?:[@.][\w.-]+)?\\n"')),
    **dict.fromkeys(
        (".xliff", ".xlf"),
        (
            rf"<(?:\w+:)?(?:xliff|file)\b[^>]*?\s(?:srcLang|source-language)={_CODE}",
            rf"<(?:\w+:)?(?:xliff|file)\b[^>]*?\s(?:trgLang|target-language)={_CODE}",
        ),
    ),
    ".tmx": (rf"<header\b[^>]*?\ssrclang={_CODE}", ""),
    ".epub": (rf"<(?:\w+:)?language\b[^>]*>{_CODE}", ""),
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
    try:
        if b"\0" in data and not re.search("16|32", encoding):
            raise UnicodeDecodeError(encoding, data, data.index(b"\0"), len(data), "no text holds this byte")
        if codecs.lookup(encoding).name in _SLOW:
            raise LookupError(encoding)
        content = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in data or len(_CONTROL.findall(data)) > len(data) / 100:
            told = "the file must be text: got binary data, such as an image or an archive"
            raise DataError(f"{told}; give it its own suffix, or name its encoding if it is UTF-16") from error
        line = data.count(b"\n", 0, error.start + len(mark)) + 1
        told = f"the file must be {encoding} text: line {line} holds a byte that is not"
        raise DataError(f"{told}; name its encoding, such as cp1252") from error
    except (LookupError, ValueError) as error:
        told = f"an encoding must be one that Python knows: got {encoding!r}"
        raise UsageError(f"{told}; name it, such as utf-8") from error
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


def declared_languages(data: bytes, suffix: str, encoding: str | None = None) -> Languages:
    """The codes of both languages without countries; empty where the file says nothing."""
    if suffix not in _LANGUAGES:
        return "", ""
    if suffix == ".epub":
        from regard.documents.office import read_members

        members = read_members(data, suffix).items()
        text = "".join(decode(content, ".xhtml").content for name, (content, _) in members if name.endswith(".opf"))
    else:
        text = decode(data, suffix, encoding).content
    source, target = (re.search(pattern, text[:_NUM_LANGUAGES]) if pattern else None for pattern in _LANGUAGES[suffix])
    return main_language(source[1]) if source else "", main_language(target[1]) if target else ""


def check_target(data: bytes, suffix: str, language: str, encoding: str | None = None) -> None:
    """A file that names its target language gets no other one."""
    wanted = declared_languages(data, suffix, encoding)[1]
    if wanted and language and wanted != main_language(language):
        raise DataError(
            f"the translation must be in {wanted}, as the file declares: got {language}; "
            f"name a model that writes {wanted}, or change the declaration"
        )


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

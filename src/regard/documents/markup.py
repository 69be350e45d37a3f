"""Tags, comments and character references as a browser reads them, each with its exact place in the text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regard.documents import abandoning
from regard.documents.segments import SIGN, Code, Item, Run, text_items

# The repetitions never give back what they took (*+): a hostile text costs no more than its length.
_TAG = re.compile(
    r"""<(/?)([A-Za-z][^\s/>]*+)((?:=\s*+"[^"]*+"|=\s*+'[^']*+'|[^>])*+)>""",
)
_TAG_BEGINS = re.compile("<[A-Za-z]")
_SPECIAL = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?/][^>]*(?:>|\Z)", re.DOTALL
)
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ENDS_A_WORD = re.compile(r"(?![\w#])")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?""")

# Between these tags there is text without tags; a browser looks for nothing but the end.
RAW = frozenset("script style xmp iframe noembed noframes textarea title".split())

VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr basefont".split()
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: Literal["text", "open", "close", "other"]
    start: int
    end: int
    name: str = ""
    attributes: str = ""

    @property
    def is_void(self) -> bool:
        return self.name in VOID or self.attributes.rstrip().endswith("/")


def tokens(text: str) -> Iterator[Token]:
    """A text of markup in order, every character in exactly one token."""
    cursor, length = 0, len(text)
    while cursor < length:
        abandoning.check()
        at = text.find("<", cursor)
        found = _tag_at(text, at) if at >= 0 else None
        while at >= 0 and found is None:
            at = text.find("<", at + 1)
            found = _tag_at(text, at) if at >= 0 else None
        stop = length if found is None else found.start
        if stop > cursor:
            yield Token("text", cursor, stop)
        cursor = stop
        if found is None:
            continue
        yield found
        cursor = found.end
        if found.kind == "open" and found.name in RAW:
            end = re.compile(rf"</{found.name}(?=[\s/>])", re.IGNORECASE).search(text, cursor)
            stop = end.start() if end else length
            if stop > cursor:
                yield Token("text", cursor, stop)
            cursor = stop


def _tag_at(text: str, at: int) -> Token | None:
    if match := _TAG.match(text, at):
        kind: Literal["open", "close"] = "close" if match[1] else "open"
        return Token(kind, at, match.end(), match[2].lower(), match[3])
    if match := _SPECIAL.match(text, at):
        return Token("other", at, match.end())
    # A tag that never ends takes the rest with it, as in a browser.
    return Token("other", at, len(text)) if _TAG_BEGINS.match(text, at) else None


def attributes(token: Token) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(token.attributes):
        found.setdefault(name.lower(), html.unescape("".join(values)))
    return found


def text_with_references(raw: str) -> Iterator[Item]:
    """Text of markup: a letter's reference is read as the letter, a sign's has to come back as it is.

    But an & between words is one of them: other languages write their word for it.
    """
    cursor = 0
    for match in _REFERENCE.finditer(raw):
        yield from _with_signs(raw[cursor : match.start()])
        character = html.unescape(match.group())
        if SIGN.fullmatch(character):
            yield Code(match.group(), "alone")
        elif character == "&" and _ENDS_A_WORD.match(raw, match.end()):
            yield Run(character, match.group())
        elif character == match.group() or not _is_prose(character):
            yield Code(match.group(), "kept", character)
        else:
            yield Run(character, match.group())
        cursor = match.end()
    yield from _with_signs(raw[cursor:])


def _with_signs(text: str) -> Iterator[Item]:
    """A bare < is written as it is, though elsewhere the text's own would be escaped; and so is the & of AT&T."""
    for piece in re.split(r"(&(?=[\w#])|<)", text):
        if piece in ("&", "<"):
            yield Code(piece, "kept", piece)
        elif piece:
            yield from text_items(piece)


def _is_prose(character: str) -> bool:
    """Letters, accents, white space and the marks of a sentence, which each language sets in its own way."""
    return all(
        each.isalnum() or each.isspace() or each in "'\"’‘“”«»–—…-,.;:!?()" for each in character
    )


# A tag in a text that is not a page: in a message, a subtitle, a paragraph of Markdown.
_INLINE_TAG = re.compile(
    r"""<(/?)([A-Za-z][\w:.-]{0,50})((?:\s(?:[^<>"']|"[^"<>]*"|'[^'<>]*')*+)?)(/?)>|<!--|<[\d:.]{5,20}>"""
)
_COMMENT_END = "-->"


def inline_items(text: str, without_end: frozenset[str] = VOID) -> Iterator[Item]:
    """Text with some tags and character references in it."""
    cursor, last_end = 0, text.rfind(_COMMENT_END)
    for match in _INLINE_TAG.finditer(text):
        is_comment = match.group() == "<!--"
        # A comment that never ends is text; one is passed over with all that stands in it.
        if match.start() < cursor or (is_comment and last_end < match.end()):
            continue
        yield from text_with_references(text[cursor : match.start()])
        cursor = match.end()
        if is_comment:
            cursor = text.index(_COMMENT_END, cursor) + len(_COMMENT_END)
            yield Code(text[match.start() : cursor], "alone")
        else:
            yield _inline_code(match, without_end)
    yield from text_with_references(text[cursor:])


def _inline_code(match: re.Match[str], without_end: frozenset[str]) -> Code:
    closing, name, rest, empty = match.groups()
    if not name or empty or name.lower() in without_end:
        return Code(match.group(), "alone")
    return Code(match.group(), "close" if closing else "open", name=name.lower().partition(".")[0])


def escape(text: str) -> str:
    """Text as markup writes it."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\xa0", "&nbsp;")
    )

"""Text and markup: placeholders, tags, comments and character references, as a browser reads them, with their positions."""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from regard.documents.segments import Code, Item, TextRun, check_cancelled
from regard.text.protected import PLACEHOLDER

_PROSE = "'\"’‘“”«»–—…-,.;:!?()"  # punctuation, which each language sets in its own way
_OPERATORS = "*×÷"  # signs that stand like words
_SIGNS = f"©®™§¶†‡←↑↓↩⇐⇒⇔{_OPERATORS}"  # signs that models lose or replace
# No-break spaces are not breaks: they are typography, and each language has its own.
_TEXT_CODE = re.compile(rf"(?P<kept>(?x:{PLACEHOLDER.pattern}))|(?P<end>(?<!\S)[|•·](?!\S))|[ \t\n\r\f\v]+|[{_SIGNS}]")
# Possessive repetitions (*+) keep the time linear for hostile texts.
_TAG = re.compile(r"""<(/?)([A-Za-z][^\s/>]*+)((?:=\s*+"[^"]*+"|=\s*+'[^']*+'|[^>])*+)>""")
_TAG_BEGINS = re.compile("<[A-Za-z]")
_SPECIAL = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?/][^>]*(?:>|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});|&(?=[\w#])|<")
_ENDS_A_WORD = re.compile(r"(?![\w#])")

# Elements whose content has no tags; a browser looks only for their end.
_RAW = frozenset("script style xmp iframe noembed noframes textarea title".split())

VOID = frozenset("area base br col embed hr img input link meta param source track wbr basefont".split())


@dataclass(frozen=True, slots=True)
class MarkupToken:
    kind: Literal["text", "open", "close", "other"]
    start: int
    end: int
    name: str = ""
    attributes: str = ""

    @property
    def is_void(self) -> bool:
        return self.name in VOID or self.attributes.rstrip().endswith("/")


def tokens(text: str) -> Iterator[MarkupToken]:
    """The tokens of a text in order; every character is in exactly one."""
    cursor = at = 0
    while (at := text.find("<", at)) >= 0:
        check_cancelled()
        found = _tag_at(text, at)
        if found is None:
            at += 1
            continue
        if at > cursor:
            yield MarkupToken("text", cursor, at)
        yield found
        cursor = at = found.end
        if found.kind == "open" and found.name in _RAW:
            end = re.compile(rf"</{found.name}(?=[\s/>])", re.IGNORECASE).search(text, cursor)
            at = end.start() if end else len(text)
    if cursor < len(text):
        yield MarkupToken("text", cursor, len(text))


def _tag_at(text: str, at: int) -> MarkupToken | None:
    if match := _TAG.match(text, at):
        kind: Literal["open", "close"] = "close" if match[1] else "open"
        return MarkupToken(kind, at, match.end(), match[2].lower(), match[3])
    if match := _SPECIAL.match(text, at):
        return MarkupToken("other", at, match.end())
    # A tag that never ends takes the rest with it, as in a browser.
    return MarkupToken("other", at, len(text)) if _TAG_BEGINS.match(text, at) else None


def split_items(
    text: str,
    pattern: re.Pattern[str],
    code: Callable[[re.Match[str]], Item | None],
    between: Callable[[str], Iterable[Item]],
) -> Iterator[Item]:
    """The item of each match, and those of the text between; a match without an item is text."""
    start = 0
    for match in pattern.finditer(text):
        if (item := code(match)) is not None:
            yield from between(text[start : match.start()])
            yield item
            start = match.end()
    yield from between(text[start:])


def text_items(text: str) -> Iterator[Item]:
    """Text with its placeholders, breaks and signs as codes."""
    check_cancelled()
    return split_items(text, _TEXT_CODE, _text_code, lambda run: [TextRun(run, run)] if run else [])


def _text_code(match: re.Match[str]) -> Code | None:
    found = match.group()
    if match["kept"]:
        return Code(found, "kept", found)
    if match["end"]:
        return Code(found, "end")
    if found.isspace():
        return Code(found, "break", " ") if found != " " else None
    return _sign(found, found)


def _sign(raw: str, sign: str) -> Code:
    return Code(raw, "object" if sign in _OPERATORS else "alone")


def text_with_references(raw: str) -> Iterator[Item]:
    """Text of markup. The reference of a letter is read as the letter; that of a sign comes back as it is.

    An & between words is text: other languages write their word for it. A bare < of the source, and the & of AT&T, come
    back without an escape.
    """

    def item(match: re.Match[str]) -> Item:
        found, character = match.group(), html.unescape(match.group())
        if character in _SIGNS:
            return _sign(found, character)
        is_word = character == "&" and len(found) > 1 and _ENDS_A_WORD.match(raw, match.end())
        if (
            is_word
            or character != found
            and all(each.isalnum() or each.isspace() or each in _PROSE for each in character)
        ):
            return TextRun(character, found)
        return Code(found, "kept", character)

    return split_items(raw, _REFERENCE, item, text_items)


# Tags in a text that is not a page: a message, a subtitle, a paragraph of Markdown.
_INLINE_TAG = re.compile(
    r"""<(/?)([A-Za-z][\w:.-]{0,50})((?:\s(?:[^<>"']|"[^"<>]*"|'[^'<>]*')*+)?)(/?)>|<!--|<[\d:.]{5,20}>"""
)
_COMMENT_END = "-->"


def inline_items(text: str, without_end: frozenset[str] = VOID) -> Iterator[Item]:
    """Text that may have tags and character references."""
    cursor, last_end = 0, text.rfind(_COMMENT_END)
    for match in _INLINE_TAG.finditer(text):
        is_comment = match.group() == "<!--"
        # A comment that never ends is text; what is inside a comment is skipped.
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
    closing, name, _, empty = match.groups()
    if not name or empty or name.lower() in without_end:
        return Code(match.group(), "alone")
    return Code(match.group(), "close" if closing else "open", name=name.lower().partition(".")[0])


def escape(text: str) -> str:
    return html.escape(text, quote=False).replace("\xa0", "&nbsp;")

"""A segment: text of a document that is translated as one, and the codes in it that are not text.

There are six kinds of codes. `open` and `close` are tags around words; they follow their words. `alone` is a single
tag. `kept` is a placeholder: the model sees what it shows and must give it back. `break` is white space other than
one space, such as the end of a wrapped line: the model sees a space. `key` is the sign before the letter that reaches
a label from the keyboard (`regard.documents.labels`).
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from regard.text.protected import PLACEHOLDER

CodeKind = Literal["open", "close", "alone", "kept", "break", "key"]

Languages = tuple[str, str]
"""codes of the source language and of the target language"""

# No-break spaces are not breaks: they are typography, and each language has its own.
_BREAK = re.compile(r"[ \t\n\r\f\v]+")
_TEXT_CODE = re.compile(rf"{_BREAK.pattern}|[©§¶†‡×÷←↑↓↩⇐⇒⇔]")
"""white space, and signs that models lose or replace"""
_LEAD = re.compile(r"\s*+(?:(?:[-–—•·*▪►▶→✓✔✗✘★☆]|\d{1,3}[.)])\s++(?=\S))?")
"""white space and the mark of a list at the beginning of a text"""
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_LINKS = ("[", "a")
"""names of link tags in Markdown and HTML"""


class Cancelled(Exception):
    """Nobody waits for the document any more."""


# A context variable: otherwise every reader would have to pass the question on.
_is_cancelled: ContextVar[Callable[[], bool]] = ContextVar("is_cancelled", default=lambda: False)


@contextmanager
def cancelled_when(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Readers and writers inside raise `Cancelled` as soon as this is true."""
    token = _is_cancelled.set(is_cancelled)
    try:
        yield
    finally:
        _is_cancelled.reset(token)


def check_cancelled() -> None:
    if _is_cancelled.get()():
        raise Cancelled


@dataclass(frozen=True, slots=True)
class Code:
    raw: str
    """as the file has it"""
    kind: CodeKind
    shown: str = ""
    """what the model sees of it"""
    name: str = ""
    """shared by an open and the close that belongs to it"""


@dataclass(frozen=True, slots=True)
class TextRun:
    """Text as a reader sees it, and as the file has it."""

    text: str
    raw: str


Item = TextRun | Code


@dataclass(frozen=True, slots=True)
class Segment:
    """Text and codes, without white space or unnecessary tags at the edges."""

    items: tuple[Item, ...]
    escape: Callable[[str], str] = str
    """from text as a reader sees it to text as the file has it"""
    raw: str = ""
    """the whole segment as the file has it"""
    has_same_marks: Callable[[str, str], bool] | None = None
    """whether two spellings have the same marks; a spelling that passes needs no escapes"""

    @property
    def text(self) -> str:
        return "".join(map(shown, self.items))


Parts = Sequence[str | Segment]
"""text that stays and segments to translate, in order"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a document that is written anew."""

    start: int
    end: int
    parts: Parts
    asides: Sequence[Parts] = ()
    """texts beside the sentence, translated on their own: of an image, of a title"""
    finish: Callable[[str, list[str], bool], str] = lambda written, asides, doubtful: written
    """what the file gets, from the written parts, the written asides, and whether a translation is doubtful"""
    level: int = 0
    """level of a heading, from 1; 0 for other text"""
    row: int | None = None
    """where the table row of this cell begins"""
    is_head: bool = False
    """whether the cell is the head of a column"""


def shown(item: Item) -> str:
    return item.text if isinstance(item, TextRun) else item.shown


def written(items: Iterable[Item]) -> str:
    return "".join(item.raw for item in items)


def has_words(text: str) -> bool:
    """Whether there is anything to translate."""
    return any(map(str.isalpha, text))


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
    return split_items(text, PLACEHOLDER, lambda found: Code(found[0], "kept", found[0]), _unmarked)


def _unmarked(text: str) -> Iterator[Item]:
    return split_items(text, _TEXT_CODE, _text_code, lambda run: [TextRun(run, run)] if run else [])


def _text_code(match: re.Match[str]) -> Code | None:
    found = match.group()
    if found == " ":
        return None
    return Code(found, "break", " ") if found.isspace() else Code(found, "alone")


def is_sign(text: str) -> bool:
    """Whether a text is one of the signs that models lose."""
    return bool(_TEXT_CODE.fullmatch(text)) and not text.isspace()


def parts_of(
    items: Iterable[Item],
    escape: Callable[[str], str] = str,
    has_same_marks: Callable[[str, str], bool] | None = None,
    *,
    is_link: bool = False,
) -> list[str | Segment]:
    """The items as text that stays around a segment, or around one segment for each of several links."""
    inner = deque(_with_single_spaces(items))
    pairs = partners(inner)
    before: list[Item] = []
    after: deque[Item] = deque()
    while inner:
        if pairs.get(len(before)) == len(before) + len(inner) - 1:
            after.appendleft(inner.pop())
            before.append(inner.popleft())
        elif _is_edge(inner[0]):
            before.append(inner.popleft())
        elif _is_edge(inner[-1]):
            after.appendleft(inner.pop())
        else:
            break
    if not any(isinstance(item, TextRun) and has_words(item.text) for item in inner):
        return [written([*before, *inner, *after])]
    # Not inside a link again: hostile nesting would take quadratic time.
    if not is_link and (links := _only_links(list(inner))):
        found = (parts_of(link, escape, has_same_marks, is_link=True) for link in links)
        return [written(before), *chain.from_iterable(found), written(after)]
    lead, inner[0] = _cut_space(inner[0])
    inner[-1], tail = _cut_space(inner[-1], at_end=True)
    segment = Segment(tuple(inner), escape, written(inner), has_same_marks)
    return [written([*before, lead]), segment, written([tail, *after])]


def _only_links(items: list[Item]) -> list[list[Item]]:
    """Several links or images without a word between them, such as badges; each is a text of its own."""
    pairs = partners(items)
    found: list[list[Item]] = []
    place = num_links = 0
    while place < len(items):
        item, end = items[place], pairs.get(place, place) + 1
        if isinstance(item, Code) and item.kind == "open" and item.name in _LINKS:
            num_links += 1
        elif end > place + 1 or has_words(shown(item)):
            return []
        found.append(items[place:end])
        place = end
    return found if num_links > 1 else []


def _is_edge(item: Item) -> bool:
    return item.kind in ("alone", "break") if isinstance(item, Code) else not item.text.strip()


def _cut_space(item: Item, at_end: bool = False) -> tuple[Item, Item]:
    """The item in two: white space at its edge (and the mark of a list), and its words."""
    nothing = TextRun("", "")
    if isinstance(item, Code) or item.text != item.raw:
        return (item, nothing) if at_end else (nothing, item)
    text, lead = item.text, _LEAD.match(item.text)
    cut = len(text.rstrip()) if at_end else lead.end() if lead else 0
    return TextRun(text[:cut], text[:cut]), TextRun(text[cut:], text[cut:])


def partners(items: Iterable[Item]) -> dict[int, int]:
    """The place of the partner for each open that is closed and each close that was opened; well nested."""
    found: dict[int, int] = {}
    opened: list[tuple[int, str]] = []
    num_open: Counter[str] = Counter()
    for place, item in enumerate(items):
        if isinstance(item, TextRun):
            continue
        if item.kind == "open":
            opened.append((place, item.name))
            num_open[item.name] += 1
        elif item.kind == "close" and num_open[item.name]:
            name = None
            while name != item.name:
                start, name = opened.pop()
                num_open[name] -= 1
            found[start], found[place] = place, start
    return found


def _with_single_spaces(items: Iterable[Item]) -> list[Item]:
    """The model sees one space where a code stands between two; the other becomes part of the code."""
    result: list[Item] = []
    is_after_space = False
    for item in items:
        last = result[-1] if result else None
        if is_after_space and isinstance(last, Code):
            if isinstance(item, Code) and item.kind == "break":
                result[-1] = replace(last, raw=last.raw + item.raw)
                continue
            if isinstance(item, TextRun) and item.raw.startswith(" "):
                result[-1] = replace(last, raw=last.raw + " ")
                item = TextRun(item.text[1:], item.raw[1:])
        if isinstance(item, Code) or item.text:
            result.append(item)
            if text := shown(item):
                is_after_space = text[-1] == " "
    return result

"""A segment: text of a document that is translated as one, and the codes in it that are not text.

There are eight kinds of codes. `open` and `close` are tags around words; they follow their words. `alone` is a single
tag. `object` is one that readers see, such as an image: where it stands like a word, the model sees a placeholder.
`kept` is a placeholder: the model sees what it shows and must give it back. `break` is white space other than one space,
such as the end of a wrapped line: the model sees a space. `end` ends a segment, such as a tab or the | between two titles.
`key` is the sign before the letter that reaches a label from the keyboard, such as `&` in `&Open`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

CodeKind = Literal["open", "close", "alone", "object", "kept", "break", "end", "key"]

Languages = tuple[str, str]  # codes of the source language and of the target language

_LEAD = re.compile(r"\s*+(?:(?:[-–—•·*▪►▶→✓✔✗✘★☆]|\d{1,3}[.)])\s++(?=\S))?")
"""white space and the mark of a list at the beginning of a text"""
_NUM_SHOWN = 60  # maximum characters of inline code that the model sees
_NOTE = re.compile(r"[\[(]?(?:\d{1,3}(?:[,;–-]\d{1,3})*|[*†‡§¶#]{1,3}|(?<=\[)[a-z])[\])]?")
"""text of a reference to a footnote"""
_NUM_BEFORE = 10  # characters before a footnote that are looked at
_MAX_MERGED = 8  # items of a footnote's mark
CODE_TAGS = frozenset("code kbd samp var tt".split())  # elements whose text comes back letter for letter
_BEFORE_A_NOTE = re.compile(r"[^\W\d_][.,;:!?»”\"')]*$")
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


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
    raw: str  # text in the file
    kind: CodeKind
    shown: str = ""  # text that the model reads for it
    name: str = ""  # shared by an open and the close that belongs to it
    parts: tuple[str | Segment, ...] = ()
    """parts of `raw` where it has texts to translate, such as the description of an image or a title"""


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
    escape: Callable[[str], str] = str  # function from visible text to text in the file
    has_same_marks: Callable[[str, str], bool] | None = None
    """whether two spellings have the same marks; a spelling that passes needs no escapes"""
    finish: Callable[[str], str] = str  # applied to what the file gets, if that is not what it had

    @property
    def text(self) -> str:
        return "".join(map(shown, self.items))

    @property
    def raw(self) -> str:
        return "".join(item.raw for item in self.items)

    def without_words_of(self, lost: Sequence[int]) -> Segment:
        """With an object in place of each outermost pair of tags around words without a place; these are segments."""
        items = list(self.items)
        pairs = partners(items)
        outermost = {min(start for start, end in pairs.items() if start <= place <= end) for place in lost}
        for place in sorted(outermost, reverse=True):
            after = pairs[place] + 1
            inside = parts_of(items[place + 1 : after - 1], self.escape, self.has_same_marks)
            parts = (items[place].raw, *inside, items[after - 1].raw)
            raw = "".join(item.raw for item in self.items[place:after])
            items[place:after] = [Code(raw, "object", parts=parts)]
        return replace(self, items=tuple(items))

    def between_codes(self) -> list[Part]:
        """The words between the codes as segments of their own; the codes stay."""
        parts: list[Part] = []
        run: list[Item] = []
        for item in self.items:
            if isinstance(item, Code) and item.kind != "break":
                parts += [*parts_of(run, self.escape), *(item.parts or [item.raw])]
                run = []
            else:
                run.append(item)
        return [*parts, *parts_of(run, self.escape)]


def code_with(raw: str, text: str) -> Code:
    """A code that shows its text if that is short, so that the model copies it in its place."""
    text = text.strip()
    is_shown = 0 < len(text) <= _NUM_SHOWN and "\n" not in raw
    return Code(raw, "kept", text) if is_shown else Code(raw, "object")


Part = str | Segment  # text that stays, or a segment to translate


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a document that is written anew."""

    start: int
    end: int
    parts: Sequence[Part]
    level: int = 0  # level of a heading, from 1; 0 for other text
    row: int | None = None  # offset of the table row of this cell
    is_head: bool = False  # whether the cell is the head of a column
    is_aside: bool = False  # whether it is beside the text, as the attributes of a block are
    if_doubtful: str = ""  # written before the parts if a translation is doubtful
    finish: Callable[[str], str] = str  # applied to what the parts give together


Reader = Callable[[str, Languages], tuple[list[Slot], list[str]]]
"""function from the text of a file to its slots, in order, and warnings"""


def shown(item: Item) -> str:
    return item.text if isinstance(item, TextRun) else item.shown


def written(items: Iterable[Item]) -> list[Part]:
    """The items as the file has them; the texts of codes are segments."""
    found: list[Part] = []
    for item in items:
        found += item.parts if isinstance(item, Code) and item.parts else [item.raw]
    return found


def segments_of(parts: Iterable[Part]) -> Iterator[Segment]:
    """The segments among some parts, and those of their codes."""
    for part in parts:
        if isinstance(part, Segment):
            yield part
            for item in part.items:
                if isinstance(item, Code):
                    yield from segments_of(item.parts)


def parts_of(
    items: Iterable[Item], escape: Callable[[str], str] = str, has_same_marks: Callable[[str, str], bool] | None = None
) -> list[Part]:
    """The items as text that stays around a segment."""
    inner = deque(_with_single_spaces(_with_merged_tags(list(items))))
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
    if any(map(_is_end, inner)):
        parts = written(before)
        for is_end, run in groupby(inner, _is_end):
            row = list(run)
            parts += written(row) if is_end else parts_of(row, escape, has_same_marks)
        return [*parts, *written(after)]
    if not any(isinstance(item, TextRun) and any(map(str.isalpha, item.text)) for item in inner):
        return written([*before, *inner, *after])
    lead, inner[0] = _cut_space(inner[0])
    inner[-1], tail = _cut_space(inner[-1], at_end=True)
    segment = Segment(tuple(inner), escape, has_same_marks)
    return [*written([*before, lead]), segment, *written([tail, *after])]


def _is_end(item: Item) -> bool:
    return isinstance(item, Code) and item.kind == "end"


def _is_edge(item: Item) -> bool:
    return item.kind in ("alone", "object", "break", "end") if isinstance(item, Code) else not item.text.strip()


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


def _with_merged_tags(items: list[Item]) -> list[Item]:
    """An element without text, and the mark of a footnote right after a word, is one single tag; one of code is kept."""
    pairs = partners(items)
    found: list[Item] = []
    place, before = 0, ""
    while place < len(items):
        last = pairs.get(place, -1)
        is_code = last > place and getattr(items[place], "name", "") in CODE_TAGS
        last = last if is_code or last - place < _MAX_MERGED else -1
        inside = items[place : last + 1]
        text = "".join(map(shown, inside))
        after = "".join(map(shown, items[last + 1 : last + 3]))[:1]
        is_note = _NOTE.fullmatch(text) and _BEFORE_A_NOTE.search(before) and not after.isalnum()
        names = {item.name for item in inside if isinstance(item, Code)}
        has_texts = any(isinstance(item, Code) and item.parts for item in inside)
        raw = "".join(item.raw for item in inside)
        if is_code and text:
            found.append(code_with(raw, text))
        elif last > place and (not text or is_note and "sub" not in names) and not has_texts:
            kinds = {item.kind for item in inside if isinstance(item, Code)}
            found.append(Code(raw, "end" if "end" in kinds else "object" if "object" in kinds else "alone"))
        else:
            found.append(items[place])
            last = place
        before = (before + shown(found[-1]))[-_NUM_BEFORE:]
        place = last + 1
    return found


def _with_single_spaces(items: Iterable[Item]) -> list[Item]:
    """The model sees one space where a code is between two; the code takes the other."""
    result: list[Item] = []
    is_after_space = False
    for item in items:
        last = result[-1] if result else None
        if is_after_space and isinstance(last, Code):
            if isinstance(item, Code) and item.kind == "break":
                result[-1] = _with_space(last, item.raw)
                continue
            if isinstance(item, TextRun) and item.raw.startswith(" "):
                result[-1] = _with_space(last, " ")
                item = TextRun(item.text[1:], item.raw[1:])
        if isinstance(item, Code) or item.text:
            result.append(item)
            if text := shown(item):
                is_after_space = text[-1] == " "
    return result


def _with_space(code: Code, space: str) -> Code:
    """The code with white space as part of it."""
    return replace(code, raw=code.raw + space, parts=(*code.parts, space) if code.parts else ())

"""A segment: a stretch of a document that is translated as one, and what stands in it that is no text.

Of such codes there are five kinds. `open` and `close` are tags around words, and go where the words go. `alone` is
a tag of its own. `kept` is a placeholder: the model sees what it shows and must give it back. `break` is white
space other than a single space, such as the end of a wrapped line: the model sees a space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from regard.documents.placeholders import PLACEHOLDER

Kind = Literal["open", "close", "alone", "kept", "break"]

# Not the no-break spaces: they are typography, which the other language has its own rules for.
_BREAK = re.compile(r"[ \t\n\r\f\v]+")


@dataclass(frozen=True, slots=True)
class Code:
    raw: str
    """as it stands in the file"""
    kind: Kind
    shown: str = ""
    """what the model sees of it"""
    name: str = ""
    """what an open and a close that belong together share"""


Item = str | Code
"""text as a reader sees it, or a code"""


def as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Segment:
    """Text and codes, with no white space and no needless tag at the edges."""

    items: tuple[Item, ...]
    escape: Callable[[str], str] = as_it_is
    """from text as a reader sees it to how the file writes it"""
    raw: str = ""
    """the whole as it stands in the file"""

    @property
    def text(self) -> str:
        return "".join(item if isinstance(item, str) else item.shown for item in self.items)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a document that is written anew."""

    start: int
    end: int
    parts: Sequence[str | Segment]
    """what stays as it is, and what is translated"""
    finish: Callable[[str, bool], str] = field(default=lambda written, doubtful: written)
    """from the translated parts to what stands in the file; told whether the translation is doubtful"""


def text_items(text: str, raw: Callable[[str], str] = as_it_is) -> Iterator[Item]:
    """A run of text with its placeholders and its breaks as codes."""
    start = 0
    for match in PLACEHOLDER.finditer(text):
        yield from _breaks(text[start : match.start()])
        yield Code(raw(match.group()), "kept", match.group())
        start = match.end()
    yield from _breaks(text[start:])


def _breaks(text: str) -> Iterator[Item]:
    start = 0
    for match in _BREAK.finditer(text):
        if match.group() != " ":
            if start < match.start():
                yield text[start : match.start()]
            yield Code(match.group(), "break", " ")
            start = match.end()
    if start < len(text):
        yield text[start:]


def parts_of(items: Iterable[Item], escape: Callable[[str], str] = as_it_is) -> list[str | Segment]:
    """Items as a file writes them with, in the middle, what is to be translated; if there is such a thing."""
    inner = _one_space(_merged(items))
    before: list[Item] = []
    after: list[Item] = []
    while inner:
        pairs = partners(inner)
        if _is_edge(inner[0]) or pairs.get(0) == len(inner) - 1:
            if pairs.get(0) == len(inner) - 1:
                after.insert(0, inner.pop())
            before.append(inner.pop(0))
        elif _is_edge(inner[-1]):
            after.insert(0, inner.pop())
        elif isinstance(inner[0], str) and inner[0] != inner[0].lstrip():
            before.append(inner[0][: len(inner[0]) - len(inner[0].lstrip())])
            inner[0] = inner[0].lstrip()
        elif isinstance(inner[-1], str) and inner[-1] != inner[-1].rstrip():
            after.insert(0, inner[-1][len(inner[-1].rstrip()) :])
            inner[-1] = inner[-1].rstrip()
        elif not inner[0] or not inner[-1]:
            inner.remove("")
        else:
            break
    if not any(isinstance(item, str) and has_words(item) for item in inner):
        return [written([*before, *inner, *after], escape)]
    segment = Segment(tuple(inner), escape, written(inner, escape))
    return [written(before, escape), segment, written(after, escape)]


def has_words(text: str) -> bool:
    """Whether there is anything to translate in it."""
    return any(map(str.isalpha, text))


def written(items: Iterable[Item], escape: Callable[[str], str]) -> str:
    return "".join(escape(item) if isinstance(item, str) else item.raw for item in items)


def _is_edge(item: Item) -> bool:
    return isinstance(item, Code) and item.kind in ("alone", "break")


def partners(items: Sequence[Item]) -> dict[int, int]:
    """For each open that is closed, and each close that was opened, the place of the other; well nested."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for place, item in enumerate(items):
        if isinstance(item, str) or item.kind not in ("open", "close"):
            continue
        if item.kind == "open":
            opened.append(place)
            continue
        names = [items[i].name for i in opened]  # type: ignore[union-attr]
        if item.name in names:
            while (start := opened.pop()) and items[start].name != item.name:  # type: ignore[union-attr]
                pass
            found[start], found[place] = place, start
    return found


def _merged(items: Iterable[Item]) -> list[Item]:
    merged: list[Item] = []
    for item in items:
        if isinstance(item, str) and merged and isinstance(merged[-1], str):
            merged[-1] += item
        elif item:
            merged.append(item)
    return merged


def _one_space(items: list[Item]) -> list[Item]:
    """Where a code stands between two spaces, the model sees one; the other belongs to the code."""
    result: list[Item] = []
    spaced = False
    for item in items:
        last = result[-1] if result else None
        if spaced and isinstance(last, Code):
            extra = item.raw if isinstance(item, Code) and item.kind == "break" else ""
            if isinstance(item, str) and item.startswith(" "):
                extra, item = " ", item[1:]
            if extra:
                result[-1] = Code(last.raw + extra, last.kind, last.shown, last.name)
                if isinstance(item, Code):
                    continue
        if isinstance(item, str):
            if item:
                result.append(item)
                spaced = item[-1].isspace()
            continue
        result.append(item)
        if item.shown:
            spaced = item.shown == " "
    return result

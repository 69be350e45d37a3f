"""A segment: a stretch of a document that is translated as one, and what stands in it that is no text.

Of such codes there are six kinds. `open` and `close` are tags around words, and go where the words go. `alone` is
a tag of its own. `kept` is a placeholder: the model sees what it shows and must give it back. `break` is white
space other than a single space, such as the end of a wrapped line: the model sees a space. `key` is the sign before
a letter that a keyboard reaches a label by (`regard.documents.accelerators`).
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from regard.documents import abandoning
from regard.text.placeholders import PLACEHOLDER

Kind = Literal["open", "close", "alone", "kept", "break", "key"]

# Not the no-break spaces: they are typography, which the other language has its own rules for.
_BREAK = re.compile(r"[ \t\n\r\f\v]+")

# Signs that models make others of, or none; and at the beginning of a text also those of lists.
SIGN = re.compile("[©§¶†‡×÷←↑↓↩⇐⇒⇔]")
_LEAD = re.compile(r"\s*+(?:(?:[-–—•·*▪►▶→✓✔✗✘★☆]|\d{1,3}[.)])\s++(?=\S))?")

_LINKS = ("[", "a")
"""names of the tags of Markdown and HTML that make a link"""


@dataclass(frozen=True, slots=True)
class Code:
    raw: str
    """as it stands in the file"""
    kind: Kind
    shown: str = ""
    """what the model sees of it"""
    name: str = ""
    """what an open and a close that belong together share"""


@dataclass(frozen=True, slots=True)
class Run:
    """Text: as a reader sees it, and as it stands in the file."""

    text: str
    raw: str


Item = Run | Code


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
    is_like: Callable[[str, str], bool] | None = None
    """whether two ways of writing a segment have the same marks; what passes needs no escapes"""

    @property
    def text(self) -> str:
        return "".join(shown(item) for item in self.items)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a document that is written anew."""

    start: int
    end: int
    parts: Sequence[str | Segment]
    """what stays as it is, and what is translated"""
    finish: Callable[[str, bool], str] = field(default=lambda written, doubtful: written)
    """from the translated parts to what stands in the file; told whether the translation is doubtful"""
    level: int = 0
    """of a heading, from 1; 0 where it is none"""
    row: int | None = None
    """of a table that it is a cell of: where the row begins"""
    is_head: bool = False
    """whether it is the head of a column"""
    num_asides: int = 0
    """of its last parts, those that are said of something and are no text of the page"""


def shown(item: Item) -> str:
    return item.text if isinstance(item, Run) else item.shown


def text_items(text: str) -> Iterator[Item]:
    """A run of text with its placeholders and its breaks as codes."""
    abandoning.check()
    start = 0
    for match in PLACEHOLDER.finditer(text):
        yield from _breaks(text[start : match.start()])
        yield Code(match.group(), "kept", match.group())
        start = match.end()
    yield from _breaks(text[start:])


def _breaks(text: str) -> Iterator[Item]:
    start = 0
    for match in _BREAK.finditer(text):
        if match.group() != " ":
            yield from _signs(text[start : match.start()])
            yield Code(match.group(), "break", " ")
            start = match.end()
    yield from _signs(text[start:])


def _signs(text: str) -> Iterator[Item]:
    start = 0
    for match in SIGN.finditer(text):
        if start < match.start():
            yield Run(text[start : match.start()], text[start : match.start()])
        yield Code(match.group(), "alone")
        start = match.end()
    if start < len(text):
        yield Run(text[start:], text[start:])


def parts_of(
    items: Iterable[Item],
    escape: Callable[[str], str] = as_it_is,
    is_like: Callable[[str, str], bool] | None = None,
    *,
    is_link: bool = False,
) -> list[str | Segment]:
    """Items as a file writes them with, in the middle, what is to be translated; if there is such a thing."""
    inner = deque(_one_space(items))
    pairs = partners(inner)
    before: list[Item] = []
    after: list[Item] = []
    while inner:
        first, last = len(before), len(before) + len(inner) - 1
        if pairs.get(first) == last:
            after.append(inner.pop())
            before.append(inner.popleft())
        elif _is_edge(inner[0]):
            before.append(inner.popleft())
        elif _is_edge(inner[-1]):
            after.append(inner.pop())
        else:
            break
    after.reverse()
    if not any(isinstance(item, Run) and has_words(item.text) for item in inner):
        return [written([*before, *inner, *after])]
    # Looked for once: the text of a link is one thing, however many images a hostile one nests.
    if not is_link and (links := _only_links(list(inner))):
        found = [part for link in links for part in parts_of(link, escape, is_like, is_link=True)]
        return [written(before), *found, written(after)]
    space_before, inner[0] = _spaces(inner[0])
    inner[-1], space_after = _spaces(inner[-1], at_end=True)
    segment = Segment(tuple(inner), escape, written(inner), is_like)
    return [written([*before, space_before]), segment, written([space_after, *after])]


def _only_links(items: list[Item]) -> list[list[Item]]:
    """Links and images without a word between them, such as the badges of a page: each says something else."""
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


def _spaces(item: Item, at_end: bool = False) -> tuple[Item, Item]:
    """An item cut between the white space at its edge, with the mark of a list, and its words."""
    nothing = Run("", "")
    if isinstance(item, Code) or item.text != item.raw:
        return (item, nothing) if at_end else (nothing, item)
    text = item.text
    lead = _LEAD.match(text)
    cut = len(text.rstrip()) if at_end else lead.end() if lead else 0
    return Run(text[:cut], text[:cut]), Run(text[cut:], text[cut:])


def has_words(text: str) -> bool:
    """Whether there is anything to translate in it."""
    return any(map(str.isalpha, text))


def written(items: Iterable[Item]) -> str:
    return "".join(item.raw for item in items)


def partners(items: Sequence[Item]) -> dict[int, int]:
    """For each open that is closed, and each close that was opened, the place of the other; well nested."""
    found: dict[int, int] = {}
    opened: list[tuple[int, str]] = []
    num_open: Counter[str] = Counter()
    for place, item in enumerate(items):
        if isinstance(item, Run) or item.kind not in ("open", "close"):
            continue
        if item.kind == "open":
            opened.append((place, item.name))
            num_open[item.name] += 1
        elif num_open[item.name]:
            start, name = opened.pop()
            num_open[name] -= 1
            while name != item.name:
                start, name = opened.pop()
                num_open[name] -= 1
            found[start], found[place] = place, start
    return found


def _one_space(items: Iterable[Item]) -> list[Item]:
    """Where a code stands between two spaces, the model sees one; the other belongs to the code."""
    result: list[Item] = []
    spaced = False
    for item in items:
        last = result[-1] if result else None
        if spaced and isinstance(last, Code):
            extra = item.raw if isinstance(item, Code) and item.kind == "break" else ""
            if isinstance(item, Run) and item.raw.startswith(" "):
                extra, item = " ", Run(item.text[1:], item.raw[1:])
            if extra:
                result[-1] = Code(last.raw + extra, last.kind, last.shown, last.name)
                if isinstance(item, Code):
                    continue
        if isinstance(item, Code) or item.text:
            result.append(item)
            if text := shown(item):
                spaced = text[-1] == " "
    return result

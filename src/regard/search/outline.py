"""Paragraphs with what stands above them: their headings, and in a table the heads of its columns.

A heading or a cell alone says too little to answer a query, but is near to any of a word or two. So a heading is read
with each paragraph under it, and the cells of a row are read together, each after the head of its column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from regard.documents.segments import Segment, Slot

NUM_HEADINGS = 2
"""nearest ones that a paragraph is read with"""


@dataclass(slots=True)
class _Heading:
    level: int
    start: int
    text: str
    is_read: bool = False
    """with a paragraph"""


def outlined(slots: Sequence[Slot], content: str) -> list[tuple[int, str]]:
    """Where each paragraph begins in a file's content, and its text; a heading that has none is one."""
    found: list[tuple[int, str]] = []
    headings: list[_Heading] = []
    above: list[_Heading] = []
    for start, level, text in _blocks(slots, content):
        if level:
            above = [heading for heading in above if heading.level < level]
            above.append(_Heading(level, start, text))
            headings.append(above[-1])
            continue
        near = above[-NUM_HEADINGS:]
        for heading in near:
            heading.is_read = True
        found.append((start, "".join(f"{_named(heading.text)} " for heading in near) + text))
    found += [(heading.start, heading.text) for heading in headings if not heading.is_read]
    return sorted(found)


def _blocks(slots: Sequence[Slot], content: str) -> Iterator[tuple[int, int, str]]:
    """Where paragraphs, headings and rows begin, the level of a heading, and the text."""
    # The line ends between the rows of a table are no end of it, and neither is what is said of a cell.
    slots = [slot for slot in slots if slot.parts and content[slot.start : slot.end].strip()]
    for is_table, group in groupby(slots, key=lambda slot: slot.row is not None):
        if is_table:
            yield from ((start, 0, text) for start, text in _rows(group, content))
            continue
        for slot in group:
            if text := _text(slot):
                yield slot.start, slot.level, text


def _rows(cells: Iterable[Slot], content: str) -> Iterator[tuple[int, str]]:
    """The rows of a table with the heads of their columns; heads that nothing stands under are a row."""
    heads: list[str] = []
    waiting: list[tuple[int, str]] = []
    for _, group in groupby(cells, key=lambda slot: slot.row):
        row = list(group)
        start = row[0].start
        # A number is nothing to translate, but a part of what a row says.
        texts = [_text(cell) or content[cell.start : cell.end].strip() for cell in row]
        if all(cell.is_head for cell in row):
            yield from waiting
            heads, waiting = texts, [(start, _row(texts, []))]
        elif any(map(_text, row)):
            yield start, _row(texts, heads)
            waiting = []
    yield from waiting


def _row(texts: Sequence[str], heads: Sequence[str]) -> str:
    pairs = zip_longest(heads[: len(texts)], texts, fillvalue="")
    return "; ".join(f"{_named(head)} {text}" if head else text for head, text in pairs if text)


def _named(text: str) -> str:
    """What something is called, before it."""
    return text if text[-1:] in ".!?:…" else f"{text}:"


def _text(slot: Slot) -> str:
    """As a reader sees it."""
    return " ".join(part.text for part in slot.parts if isinstance(part, Segment)).strip()

"""The passages of a file: its paragraphs, cut at sentence ends where they are too long for a model.

A heading or a table cell alone says too little to answer a query, but is near to any query of a word or two. So a heading
is read with each paragraph under it, and the cells of a row are read together, each after the head of its column.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import NamedTuple

from regard.documents.document import SUFFIXES, reader_of
from regard.documents.plain import decode
from regard.documents.segments import Segment, Slot
from regard.errors import DataError, UsageError
from regard.text.sentences import split

MAX_TOKENS = 128  # tokens of a passage: a longer one says too many things for one vector
NUM_HEADINGS = 2  # nearest headings that a paragraph is read with

_NUM_LOOKED_AT = 8192  # bytes at the beginning of a file that are searched for NUL
_CATALOGUES = (".po", ".pot", ".xliff", ".xlf", ".tmx")
"""documents in two languages, read as plain text: their readers show one language"""


class Passage(NamedTuple):
    line: int  # number of its first line, from 1
    text: str


def read_passages(
    data: bytes, suffix: str, count: Callable[[str], int], most: int, *, language: str = "", encoding: str | None = None
) -> list[Passage]:
    """The passages of a file, none longer than `most` as `count` measures it; a longer word is left out."""
    is_utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in data[:_NUM_LOOKED_AT] and not is_utf16 and encoding is None:
        raise DataError("it must be text: it holds NUL bytes, as programs and pictures do")
    known = suffix if suffix in SUFFIXES and suffix not in _CATALOGUES else ".txt"
    content = decode(data, known, encoding).content
    found: list[Passage] = []
    cursor, line = 0, 1
    for start, text in _with_headings(_slots(content, known), content):
        line += content.count("\n", cursor, start)
        cursor = start
        found += _cut(text, line, count, most, language)
    return found


def _slots(content: str, suffix: str) -> Sequence[Slot]:
    """The places of text in a document; a broken one is read as plain text."""
    try:
        return reader_of(suffix)(content, ("", ""))[0]
    except (DataError, UsageError):
        return reader_of(".txt")(content, ("", ""))[0]


def _cut(text: str, line: int, count: Callable[[str], int], most: int, language: str) -> Iterator[Passage]:
    if count(text) <= most:
        yield Passage(line, text)
        return
    parts = split(text, language, count, most)
    gathered = ""
    for place, sentence in enumerate(parts.sentences):
        if place in parts.too_long:
            continue
        longer = f"{gathered} {sentence}" if gathered else sentence
        if gathered and count(longer) > most:
            yield Passage(line, gathered)
            longer = sentence
        gathered = longer
    if gathered:
        yield Passage(line, gathered)


def _with_headings(slots: Sequence[Slot], content: str) -> list[tuple[int, str]]:
    """The offset and text of each paragraph with its headings; a heading without a paragraph is one itself."""
    found: list[tuple[int, str]] = []
    alone: dict[int, str] = {}
    above: list[tuple[int, int, str]] = []
    for start, level, text in _blocks(slots, content):
        if level:
            above = [heading for heading in above if heading[0] < level]
            above.append((level, start, text))
            alone[start] = text
            continue
        near = above[-NUM_HEADINGS:]
        for _, begin, _ in near:
            alone.pop(begin, None)
        found.append((start, "".join(f"{_named(heading)} " for _, _, heading in near) + text))
    return sorted([*found, *alone.items()])


def _blocks(slots: Sequence[Slot], content: str) -> Iterator[tuple[int, int, str]]:
    """Offset, heading level (0 for none) and text of paragraphs, headings and table rows."""
    # Neither line ends between rows nor remarks on a cell end a table.
    slots = [slot for slot in slots if not slot.is_aside and content[slot.start : slot.end].strip()]
    for is_table, group in groupby(slots, key=lambda slot: slot.row is not None):
        if is_table:
            yield from ((start, 0, text) for start, text in _rows(group, content))
            continue
        for slot in group:
            if text := _text(slot):
                yield slot.start, slot.level, text


def _rows(cells: Iterable[Slot], content: str) -> Iterator[tuple[int, str]]:
    """The rows of a table with the heads of their columns; heads without rows are a row."""
    heads: list[str] = []
    waiting: list[tuple[int, str]] = []
    for _, group in groupby(cells, key=lambda slot: slot.row):
        row = list(group)
        start = row[0].start
        # A number is no segment to translate, but part of the row.
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
    return text if text[-1:] in ".!?:…" else f"{text}:"


def _text(slot: Slot) -> str:
    return " ".join(part.text for part in slot.parts if isinstance(part, Segment)).strip()

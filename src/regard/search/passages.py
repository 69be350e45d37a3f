"""The passages of a file: its paragraphs, and those too long for a model in parts of whole sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from regard.documents.document import SUFFIXES, reader_of
from regard.documents.encoding import decode
from regard.errors import DataError, UsageError
from regard.search.outline import outlined
from regard.text.sentences import split

MOST_PIECES = 128
"""of a passage: longer ones say too many things for one vector"""

_NUM_LOOKED_AT = 8192
"""bytes at the beginning of a file that tell whether it is text"""
_CATALOGUES = (".po", ".pot", ".xliff", ".xlf", ".tmx")
"""documents of two languages, of which a translator's reader would show one"""


class Passage(NamedTuple):
    line: int
    """where it begins, from 1"""
    text: str


def read_passages(
    data: bytes,
    suffix: str,
    count: Callable[[str], int],
    most: int,
    *,
    language: str = "",
    encoding: str | None = None,
) -> list[Passage]:
    """What a search can find in a file, none of it longer than `most`, as `count` measures it.

    A single word that is longer belongs to no language and is left out.
    """
    if is_binary(data) and encoding is None:
        raise DataError("it must be text: it holds NUL bytes, as programs and pictures do")
    known = suffix if suffix in SUFFIXES and suffix not in _CATALOGUES else ".txt"
    content = decode(data, known, encoding).content
    found: list[Passage] = []
    cursor, line = 0, 1
    for start, text in _paragraphs(content, known):
        line += content.count("\n", cursor, start)
        cursor = start
        found += _cut(text, line, count, most, language)
    return found


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_NUM_LOOKED_AT] and not data.startswith((b"\xff\xfe", b"\xfe\xff"))


def _paragraphs(content: str, suffix: str) -> list[tuple[int, str]]:
    """Where each begins, and its text as a reader sees it."""
    try:
        slots, _ = reader_of(suffix)(content, ("", ""))
    except (DataError, UsageError):
        if suffix == ".txt":
            raise
        slots, _ = reader_of(".txt")(content, ("", ""))
    return outlined(slots, content)


def _cut(
    text: str, line: int, count: Callable[[str], int], most: int, language: str
) -> Iterator[Passage]:
    if count(text) <= most:
        yield Passage(line, text)
        return
    parts = split(text, language, count, most)
    gathered = ""
    for place, sentence in enumerate(parts.sentences):
        if place in parts.endless:
            continue
        longer = f"{gathered} {sentence}" if gathered else sentence
        if gathered and count(longer) > most:
            yield Passage(line, gathered)
            longer = sentence
        gathered = longer
    if gathered:
        yield Passage(line, gathered)

"""Plain text: a line is a paragraph, unless lines are plainly the wrapped lines of one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from regard.documents.formats import Languages
from regard.documents.segments import Slot, parts_of, text_items

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")

# Lines of prose that were wrapped are all about as long; those of a list or a poem seldom are.
_WRAPPED_LENGTH = 40
_MOST_UNEVEN = 25


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    slots = [
        Slot(start, end, parts_of(text_items(text[start:end]))) for start, end in paragraphs(text)
    ]
    return slots, []


def paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Where each paragraph stands: blocks of wrapped lines, and other lines one by one."""
    block: list[tuple[int, int]] = []
    for match in _LINE.finditer(text):
        if match.group().strip():
            block.append(match.span())
        else:
            yield from _of_block(text, block)
            block = []


def _of_block(text: str, block: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    if is_wrapped([text[start:end].rstrip() for start, end in block]):
        yield block[0][0], block[-1][1]
    else:
        yield from block


def is_wrapped(lines: list[str]) -> bool:
    """Whether lines look like one paragraph: long, even, and a line that begins in mid-sentence."""
    if len(lines) < 2 or not any(line[0].islower() for line in lines[1:]):
        return False
    longest = max(map(len, lines))
    least = max(_WRAPPED_LENGTH, longest - _MOST_UNEVEN)
    return all(len(line) >= least for line in lines[:-1]) and not any(
        line[0].isspace() for line in lines[1:]
    )

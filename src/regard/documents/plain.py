"""Plain text: each line is a paragraph, except for wrapped lines, which are one."""

from __future__ import annotations

from collections.abc import Iterator

from regard.documents.markup import text_items
from regard.documents.segments import LINE, Languages, Slot, parts_of

# Wrapped lines of prose are all about as long; those of a list or a poem seldom are.
_WRAPPED_LENGTH = 40
"""minimum length of a wrapped line, in characters"""
_MAX_DIFFERENCE = 25
"""between the longest line and the others"""


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    slots = [Slot(*span, parts_of(text_items(text[slice(*span)]))) for span in _paragraphs(text)]
    return slots, []


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    block: list[tuple[int, int]] = []
    for match in LINE.finditer(text):
        if match.group().strip():
            block.append(match.span())
            continue
        if _is_wrapped([text[slice(*span)].rstrip() for span in block]):
            block = [(block[0][0], block[-1][1])]
        yield from block
        block = []


def _is_wrapped(lines: list[str]) -> bool:
    """Whether lines look like one paragraph: long, even, and one begins in the middle of a sentence."""
    if len(lines) < 2 or not any(line[0].islower() for line in lines[1:]):
        return False
    least = max(_WRAPPED_LENGTH, max(map(len, lines)) - _MAX_DIFFERENCE)
    return all(len(line) >= least for line in lines[:-1]) and not any(
        line[0].isspace() for line in lines[1:]
    )

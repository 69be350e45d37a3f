"""Emphasis of Markdown: which stars, underscores and tildes belong together (CommonMark 0.31, "process emphasis").

A run such as `***` may close, open, or both, and is used up from the side of the words: in `**a *b***` the last run
closes one star and then two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

_STRUCK = "~"


@dataclass(slots=True)
class Delimiters:
    """A run of one character; `pair` fills in its marks."""

    raw: str
    opens: bool
    closes: bool
    closing: list[str] = field(default_factory=list)
    """marks that close, in writing order"""
    opening: list[str] = field(default_factory=list)
    """marks that open, in writing order, after the rest of the run"""

    @property
    def num_left(self) -> int:
        return len(self.raw) - sum(map(len, [*self.closing, *self.opening]))

    @property
    def left(self) -> str:
        """The characters without a partner, which are text."""
        return self.raw[: self.num_left]


def delimiters(raw: str, before: str, after: str) -> Delimiters:
    """A run, by the characters before and after it, which are empty at an edge of the text."""
    is_left = bool(after.strip()) and (not _is_punctuation(after) or _separates(before))
    is_right = bool(before.strip()) and (not _is_punctuation(before) or _separates(after))
    if raw[0] == "_":
        opens = is_left and (not is_right or _is_punctuation(before))
        return Delimiters(raw, opens, is_right and (not is_left or _is_punctuation(after)))
    if raw[0] == _STRUCK and len(raw) != 2:
        return Delimiters(raw, False, False)
    return Delimiters(raw, is_left, is_right)


def pair(runs: Sequence[Delimiters]) -> None:
    """Find the marks of these runs, which are in the order of the text."""
    opened: list[int] = []
    # Below these nothing was found for an earlier run of the same kind; this keeps the time linear.
    bottoms: dict[tuple[str, bool, int], int] = {}
    for place, closer in enumerate(runs):
        kind = (closer.raw[0], closer.opens, len(closer.raw) % 3)
        while closer.closes and closer.num_left:
            found = _opener(runs, opened, closer, bottoms.get(kind, -1))
            if found is None:
                bottoms[kind] = place - 1
                break
            opener = runs[opened[found]]
            del opened[found + 1 :]
            length = 2 if min(opener.num_left, closer.num_left) >= 2 else 1
            opener.opening.insert(0, opener.raw[:length])
            closer.closing.append(closer.raw[:length])
            if not opener.num_left:
                opened.pop()
        if closer.opens and closer.num_left:
            opened.append(place)


def _opener(
    runs: Sequence[Delimiters], opened: Sequence[int], closer: Delimiters, bottom: int
) -> int | None:
    """The index among the open runs of the nearest one that this run closes."""
    for found in range(len(opened) - 1, -1, -1):
        if opened[found] <= bottom:
            return None
        if _fit(runs[opened[found]], closer):
            return found
    return None


def _fit(opener: Delimiters, closer: Delimiters) -> bool:
    if opener.raw[0] != closer.raw[0]:
        return False
    one, other = len(opener.raw), len(closer.raw)
    is_both = opener.closes or closer.opens
    return not is_both or (one + other) % 3 != 0 or one % 3 == other % 3 == 0


def _is_punctuation(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "PS"


def _separates(character: str) -> bool:
    """Whether words end there: at white space, punctuation, or an edge of the text."""
    return not character.strip() or _is_punctuation(character)

"""Which stars, underscores and tildes of Markdown belong together, as CommonMark 0.31 has it ("process emphasis").

A run such as `***` may close what is open, open what comes, or both, and is used up from the side of the words: of
`**a *b***` the last run closes one star and then two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

_STRUCK = "~"


@dataclass(slots=True)
class Delimiters:
    """A run of one sign; after `pair` also what has become of it."""

    raw: str
    opens: bool
    closes: bool
    closing: list[str] = field(default_factory=list)
    """marks that close, in the order of writing"""
    opening: list[str] = field(default_factory=list)
    """marks that open, in the order of writing; what is left of the run stands between these and those"""

    @property
    def num_left(self) -> int:
        return len(self.raw) - sum(map(len, [*self.closing, *self.opening]))

    @property
    def left(self) -> str:
        """The signs that have no partner, which are text."""
        return self.raw[: self.num_left]


def delimiters(raw: str, before: str, after: str) -> Delimiters:
    """A run between two characters, or nothing at an edge of the text."""
    is_left = bool(after.strip()) and (not _is_sign(after) or _parts(before))
    is_right = bool(before.strip()) and (not _is_sign(before) or _parts(after))
    if raw[0] == "_":
        opens = is_left and (not is_right or _is_sign(before))
        return Delimiters(raw, opens, is_right and (not is_left or _is_sign(after)))
    if raw[0] == _STRUCK and len(raw) != 2:
        return Delimiters(raw, False, False)
    return Delimiters(raw, is_left, is_right)


def pair(runs: Sequence[Delimiters]) -> None:
    """Find out which signs of these runs, in the order of the text, are marks."""
    opened: list[int] = []
    # Below these nothing was found for a run of the same kind before, so the time is that of one reading.
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
    """Where among the open runs the nearest one stands that this one closes."""
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


def _is_sign(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "PS"


def _parts(character: str) -> bool:
    """Whether words end at it: white space, a sign, or an edge of the text."""
    return not character.strip() or _is_sign(character)

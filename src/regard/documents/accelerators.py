"""The sign in a label before the letter that reaches it from the keyboard: `&Open` (Qt, Windows), `_Save` (GTK), `~File`.

The model sees the word without it, and it comes back before a letter of the translation: the same letter where a
word begins with it, else the first. A sign is one where some label of the catalogue has it before a word: then it may
stand inside a word too, and not where a text has it more than once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from regard.documents.segments import Code

_LONGEST_LABEL = 80

# Before a word: but `&amp;` is a character, `_id` a name and `~5` about five.
_BEFORE_A_WORD = {
    "&": re.compile(r"(?<![&\w])&(?=[^\W_])(?!\w{1,31};)"),
    "_": re.compile(r"(?:(?<!\S)(?<!^)_(?=[^\W_])|^_(?=[A-ZÀ-Þ0-9]))(?!\w*_)"),
    "~": re.compile(r"(?<![\w~])~(?=[^\W\d_])"),
}
# Inside one only before a small letter, for `R&D` and `AT&T` are names; and so is `max_count`, but not `E_xit`.
_INSIDE = {
    "&": re.compile(r"(?<=[^\W\d_])&(?=[a-zà-ÿ])(?!\w{1,31};)"),
    "_": re.compile(r"(?<!\w)[A-ZÀ-Þ][^\W\d_]{0,40}_(?=[a-zà-ÿ])"),
}

_WORD_BEGINS = re.compile(r"(?<!\w)[^\W_]")
_LETTER = re.compile(r"[^\W_]")


def signs_of(labels: Iterable[str]) -> frozenset[str]:
    """The signs that a catalogue uses."""
    labels = [label for label in labels if len(label) <= _LONGEST_LABEL]
    return frozenset(
        sign
        for sign, pattern in _BEFORE_A_WORD.items()
        if any(label.count(sign) == 1 and pattern.search(label) for label in labels)
    )


def find(label: str, signs: frozenset[str]) -> tuple[int, Code] | None:
    """Where the sign of a label stands, and what it is."""
    if len(label) > _LONGEST_LABEL:
        return None
    for sign in sorted(signs):
        if label.count(sign) != 1:
            continue
        for pattern in (_BEFORE_A_WORD[sign], _INSIDE.get(sign)):
            if pattern and (match := pattern.search(label)):
                at = match.end() - 1
                return at, Code(sign, "key", name=label[at + 1].casefold())
    return None


def place_of(key: Code, target: str, taken: Sequence[tuple[int, int]]) -> int | None:
    """Before which letter of a translation it stands; none inside the `taken` stretches."""
    begins = [match.start() for match in _WORD_BEGINS.finditer(target)]
    letters = [match.start() for match in _LETTER.finditer(target)]
    same = [place for place in begins if target[place].casefold() == key.name]
    for place in (*same, *begins, *letters):
        if not any(start <= place < end for start, end in taken):
            return place
    return None

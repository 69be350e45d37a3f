"""Labels: a translation begins and ends as its source does, and keeps the sign of its keyboard letter.

A model has learnt sentences. It may make one of a heading, a table cell or a button, and it may end a line of subtitles
that goes on in the next.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from regard.documents.segments import Code

_MARKS = ".…:;,!?。：；，！？、؟۔।"
_WESTERN = str.maketrans("。：；，！？、؟۔।", ".:;,!?,?..")
_CLOSERS = " \t\xa0\u202f\"'’”»)]}*_"
_DASHES = "-–—•·*"
_DASH = re.compile(rf"[{_DASHES}]\s+")
_INITIALS = re.compile(r"\b\w\.\w\.$|(?<!\S)[A-Z]\.$")
"""a last word to which the full stop belongs, such as p.m."""
_NUM_INITIALS = 20
"""characters at the end that are searched for initials"""
_SPACED_MARKS = ":;!?"
"""marks with a space before them in the languages below"""
_SPACED_LANGUAGES = ("fr",)


def with_edges_of(source: str, target: str, language: str) -> tuple[str, int]:
    """The translation with the source's capital and end marks, and how many characters its beginning lost.

    >>> with_edges_of("Name", "– Nom :", "fr"), with_edges_of("Save…", "Enregistrer.", "fr")
    (('Nom', 2), ('Enregistrer…', 0))
    >>> with_edges_of("Je sais,", "I know.", "en"), with_edges_of("à 17 h", "at 5 p.m.", "en")
    (('I know,', 0), ('at 5 p.m.', 0))
    """
    dash = None if source[:1] in _DASHES else _DASH.match(target)
    num_lost = dash.end() if dash else 0
    target = _with_end_of(source, target[num_lost:], language)
    if source[:1].isupper() and target[:1].islower() and len(target[0].upper()) == 1:
        target = target[0].upper() + target[1:]
    return target, num_lost


def _with_end_of(source: str, target: str, language: str) -> str:
    wanted, got = _end_marks(source), _end_marks(target)
    words = target[: len(target) - len(got)]
    if not any(map(str.isalnum, words)) or wanted == got:
        return target
    if _kinds(wanted) == _kinds(got):
        # Only the spelling of three dots may differ.
        return words + wanted if "…" in wanted + got else target
    if any(_INITIALS.search(text[-_NUM_INITIALS:]) for text in (source, target)):
        return target
    if not wanted:
        return target if _kinds(_end_marks(source.rstrip(_CLOSERS))) else words
    if _kinds(_end_marks(target.rstrip(_CLOSERS))) == _kinds(wanted) or not _is_western(words):
        return target
    marks = wanted.strip().translate(_WESTERN)
    is_spaced = language[:2] in _SPACED_LANGUAGES and marks[0] in _SPACED_MARKS
    return f"{words} {marks}" if is_spaced else words + marks


def _end_marks(text: str) -> str:
    """The marks at the end of a text, with the space before them."""
    words = text.rstrip(_MARKS)
    return text[len(words.rstrip()) :] if len(words) < len(text) else ""


def _kinds(marks: str) -> frozenset[str]:
    return frozenset(marks.strip().translate(_WESTERN).replace("...", "…"))


def _is_western(text: str) -> bool:
    """Whether the last letter is of a script with the end marks of English."""
    last = next((letter for letter in reversed(text) if letter.isalpha()), "a")
    return unicodedata.name(last, "").split(" ")[0] in ("LATIN", "CYRILLIC")


# --- keyboard letters: `&Open` (Qt, Windows), `_Save` (GTK), `~File`
# The model sees the word without the sign. The sign comes back before the same letter where a word begins with it, else
# before the first. A catalogue uses a sign if some label has it before a word; a label then may have it inside a word.

_LONGEST_LABEL = 80
"""characters"""
_BEFORE_A_WORD = {  # but `&amp;` is a character, `_id` a name and `~5` about five
    "&": re.compile(r"(?<![&\w])&(?=[^\W_])(?!\w{1,31};)"),
    "_": re.compile(r"(?:(?<!\S)(?<!^)_(?=[^\W_])|^_(?=[A-ZÀ-Þ0-9]))(?!\w*_)"),
    "~": re.compile(r"(?<![\w~])~(?=[^\W\d_])"),
}
_INSIDE_A_WORD = {  # before a small letter, for `R&D` is a name; so is `max_count`, but not `E_xit`
    "&": re.compile(r"(?<=[^\W\d_])&(?=[a-zà-ÿ])(?!\w{1,31};)"),
    "_": re.compile(r"(?<!\w)[A-ZÀ-Þ][^\W\d_]{0,40}_(?=[a-zà-ÿ])"),
}
_FIRST_LETTER = re.compile(r"(?<!\w)[^\W_]")
_LETTER = re.compile(r"[^\W_]")


def key_signs(labels: Iterable[str]) -> frozenset[str]:
    """The signs that a catalogue uses."""
    labels = [label for label in labels if len(label) <= _LONGEST_LABEL]
    return frozenset(
        sign
        for sign, pattern in _BEFORE_A_WORD.items()
        if any(label.count(sign) == 1 and pattern.search(label) for label in labels)
    )


def find_key(label: str, signs: frozenset[str]) -> tuple[int, Code] | None:
    """The position of a label's sign, and its code, which is named after the letter."""
    for sign in sorted(signs) if len(label) <= _LONGEST_LABEL else ():
        for pattern in (_BEFORE_A_WORD[sign], _INSIDE_A_WORD.get(sign)):
            if label.count(sign) == 1 and pattern and (match := pattern.search(label)):
                at = match.end() - 1
                return at, Code(sign, "key", name=label[at + 1].casefold())
    return None


def place_key(key: Code, target: str, taken: Sequence[tuple[int, int]]) -> int | None:
    """The letter of a translation that gets the sign; none inside the `taken` spans."""
    firsts = [match.start() for match in _FIRST_LETTER.finditer(target)]
    letters = [match.start() for match in _LETTER.finditer(target)]
    same = [place for place in firsts if target[place].casefold() == key.name]
    for place in (*same, *firsts, *letters):
        if not any(start <= place < end for start, end in taken):
            return place
    return None

"""How a translation begins and ends: as its source does, with its capital and no dash, full stop or colon of its own.

A model has learnt sentences. Of a heading, a cell or a button it may make one, and a line of subtitles that goes on
in the next it may end.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_MARKS = ".…:;,!?。：；，！？、؟۔।"
_PLAIN = str.maketrans("。：；，！？、؟۔।", ".:;,!?,?..")
_CLOSERS = " \t\xa0\u202f\"'’”»)]}*_"
_DASHES = "-–—•·*"
_DASH = re.compile(rf"[{_DASHES}]\s+")

# Where a full stop belongs to the last word: initials, and what is usually cut short.
_SHORT = re.compile(
    r"\b\w\.\w\.$|(?<!\S)(?-i:[A-Z])\.$|\b(?:etc|inc|ltd|co|corp|jr|sr|st|dr|mr|mrs|vs|no|approx|max|min|env|av|vol|tél|tel|ex|art|cf|al)\.$",
    re.IGNORECASE,
)
_LONGEST_SHORT = 20

# In French a blank stands before these.
_SPACED = ":;!?"
_WITH_SPACES = ("fr",)


class Edged(NamedTuple):
    """A translation with the edges of its source, and how much was taken away at its beginning."""

    text: str
    num_taken: int = 0


def with_edges_of(source: str, target: str, language: str) -> Edged:
    """
    >>> with_edges_of("Name", "– Nom :", "fr"), with_edges_of("Save…", "Enregistrer.", "fr")
    (Edged(text='Nom', num_taken=2), Edged(text='Enregistrer…', num_taken=0))
    >>> with_edges_of("Je sais,", "I know.", "en").text, with_edges_of("à 17 h", "at 5 p.m.", "en").text
    ('I know,', 'at 5 p.m.')
    """
    taken = 0
    if source[:1] not in _DASHES and (dash := _DASH.match(target)):
        taken = dash.end()
    target = _with_end_of(source, target[taken:], language)
    if source[:1].isupper() and target[:1].islower() and len(target[0].upper()) == 1:
        target = target[0].upper() + target[1:]
    return Edged(target, taken)


def _with_end_of(source: str, target: str, language: str) -> str:
    wanted, got = _ending(source), _ending(target)
    words = target[: len(target) - len(got)]
    if not any(map(str.isalnum, words)) or wanted == got:
        return target
    if _kinds(wanted) == _kinds(got):
        # The same, but for how three dots are written.
        return f"{words}{wanted}" if "…" in wanted + got else target
    if _SHORT.search(source[-_LONGEST_SHORT:]) or _SHORT.search(target[-_LONGEST_SHORT:]):
        return target
    if not wanted:
        return target if _kinds(_inner_ending(source)) else words
    if _kinds(_inner_ending(target)) == _kinds(wanted) or not _is_european(words):
        return target
    marks = wanted.strip().translate(_PLAIN)
    is_spaced = language[:2] in _WITH_SPACES and marks[0] in _SPACED
    return f"{words} {marks}" if is_spaced else f"{words}{marks}"


def _ending(text: str) -> str:
    """The signs at the end of a text, with the blank before them."""
    words = text.rstrip(_MARKS)
    return text[len(words.rstrip()) :] if len(words) < len(text) else ""


def _inner_ending(text: str) -> str:
    """The signs before the quotation marks and brackets at the end."""
    return _ending(text.rstrip(_CLOSERS))


def _kinds(ending: str) -> frozenset[str]:
    return frozenset(ending.strip().translate(_PLAIN).replace("...", "…"))


def _is_european(text: str) -> bool:
    """Whether the last letter belongs to a script whose sentences end as those of English do."""
    last = next((sign for sign in reversed(text) if sign.isalpha()), "a")
    return unicodedata.name(last, "").split(" ")[0] in ("LATIN", "CYRILLIC")

"""Pairs of French and English with their domain, cleaned and sorted into the files that recipes name."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass

from regard.corpora import numbers
from regard.corpora.spelling import as_typed, english_quotes, plain, plain_french
from regard.text.language import Detect, detector

FILES = {
    "europarl": ("europarl",),
    "docs": ("docs",),
    "pivot": ("phrases_pivot",),
    "games": ("games",),
    "it": ("itnews", "itweb"),
    "literature": ("literature",),
    "everyday": ("tatoeba", "phrases", "chat"),
    "news": ("news", "ntrex", "talks", "health"),
}
"""file of the data folder: the domains that go into it, with all their parts (docs-debian, games/andor)"""
_FILE_OF = {domain: file for file, domains in FILES.items() for domain in domains}

COLUMNS = "not two or three columns"
DOMAIN = "unknown domain"
CHARACTERS = "characters of no such text"
LENGTH = "empty or too long"
RATIO = "unlike lengths"
NUMBERS = "other numbers"
QUESTION = "a question on one side"
COPY = "not translated"
LANGUAGE = "wrong language"
HELD_OUT = "held out"
DUPLICATE = "(nearly) the same again"

_MOST_CHARACTERS = 1000
_MOST_RATIO = 2.2
_RATIO_GRACE = 20
_USUAL_RATIO = 0.9
"""characters of the English for each of the French"""
_BROKEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\u2028\u2029]|Ã[\x80-\xbf©¨ª®´»¢]|â€"
)
_FOREIGN = re.compile(r"[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufeff]")
_FOREIGN_SHARE = 0.1
_LEAST_LETTERS = 0.5
_COPY_WORDS = 4
_COPY_SHARE = 0.75
_SURE, _LETTERS_TO_JUDGE = 0.8, 40
_TELLING_WORDS = 6
"""a sentence of so many words is nobody's by chance"""
_VALID_SHARE = 1000
"""one pair of so many is held out to validate with"""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Kept:
    """A pair worth training on."""

    file: str
    source: str
    target: str
    key: int
    """the same for pairs that differ in case, punctuation or spaces alone"""


class Cleaner:
    """Judges lines of French TAB English TAB domain, one at a time."""

    def __init__(self, held_out: Collection[int] = (), *, vary: bool = False) -> None:
        """held_out: keys of sentences that must not be trained on; vary: the French as people type it."""
        self._held_out, self._vary = held_out, vary
        self._detect = detector()

    def __call__(self, line: str) -> Kept | str:
        """The pair, or why it is left out."""
        columns = line.split("\t")
        if len(columns) != 3:
            return COLUMNS
        file = _FILE_OF.get(re.split("[-/]", columns[2])[0])
        if file is None:
            return DOMAIN
        if any(_BROKEN.search(side) for side in columns[:2]):
            return CHARACTERS
        french, english = plain_french(columns[0]), plain(columns[1])
        english = english_quotes(english, french)
        reason = _flaw(french, english) or _stranger(french, english, self._detect)
        if reason:
            return reason
        if is_held_out(french, english, self._held_out):
            return HELD_OUT
        key = key_of(f"{french}\t{english}")
        if is_drawn(key, _VALID_SHARE):
            file = "valid"
        return Kept(file, as_typed(french) if self._vary else french, english, key)


def key_of(text: str) -> int:
    """A number for the words of a text, whatever their case and what stands between them."""
    words = " ".join(_WORD.findall(text.lower())).encode()
    return zlib.crc32(words) << 32 | zlib.adler32(words)


def is_drawn(key: int, share: int) -> bool:
    """Whether a text is the one of so many."""
    return (key >> 32) % share == 0


def is_held_out(french: str, english: str, held_out: Collection[int]) -> bool:
    """Both sides are held out, or one of them that nobody says by chance."""
    if not held_out:
        return False
    found = [side for side in (french, english) if key_of(side) in held_out]
    return len(found) == 2 or any(len(_WORD.findall(side)) >= _TELLING_WORDS for side in found)


def _flaw(french: str, english: str) -> str | None:
    sides = (french, english)
    if not all(sides) or max(map(len, sides)) > _MOST_CHARACTERS:
        return LENGTH
    for side in sides:
        letters = sum(map(str.isalpha, side))
        if letters < _LEAST_LETTERS * (len(side) - side.count(" ")) or not letters:
            return CHARACTERS
        if len(_FOREIGN.findall(side)) > _FOREIGN_SHARE * letters:
            return CHARACTERS
    shorter, longer = sorted((len(french) * _USUAL_RATIO, float(len(english))))
    if longer > _MOST_RATIO * shorter and longer - shorter > _RATIO_GRACE:
        return RATIO
    if french.endswith("?") != english.endswith("?") and ("?" in french) != ("?" in english):
        return QUESTION
    if not numbers.agree(french, english):
        return NUMBERS
    return COPY if _is_copied(french, english) else None


def _is_copied(french: str, english: str) -> bool:
    """Most words are the same; names and numbers rightly are, whole sentences are not."""
    left, right = _WORD.findall(french.lower()), _WORD.findall(english.lower())
    if min(len(left), len(right)) < _COPY_WORDS:
        return False
    same = len(set(left) & set(right))
    return same > _COPY_SHARE * max(len(set(left)), len(set(right)))


def _stranger(french: str, english: str, detect: Detect | None) -> str | None:
    if detect is None:
        return None
    for side, language in ((french, "fr"), (english, "en")):
        if sum(map(str.isalpha, side)) >= _LETTERS_TO_JUDGE:
            found, score = detect(side)
            if found != language and score >= _SURE:
                return LANGUAGE
    return None

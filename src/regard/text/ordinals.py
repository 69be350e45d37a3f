"""Ordinals in digits, 2nd and 2e: those of a source, and what of them a translation has to have put right.

A model mostly knows that there is one, and often not how it is written: 32th, 13rd, le 101er. What it is worth tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from regard.text.haste import MONTH

Span = tuple[int, int]

_ENGLISH = "st|nd|rd|th"
_FRENCH = "ers?|[eè]res?|res?|i?[eè]mes?|es?|ndes?|nds?"


def _pattern(suffixes: str) -> re.Pattern[str]:
    """Neither 1e-5 nor -6e nor %2E is an ordinal."""
    return re.compile(rf"(?<![\w.,%$-])([1-9]\d{{0,3}})({suffixes})\b(?![-+]\d)", re.IGNORECASE)


_OF = {"en": _pattern(_ENGLISH), "fr": _pattern(_FRENCH)}
_OF_BOTH = _pattern(f"{_ENGLISH}|{_FRENCH}")
_NUMBER = re.compile(r"\d+")
_FIRST, _SECOND = re.compile("(?:er|r?e|[eè]re)s?"), re.compile("(?:e|[eè]me|nde?)s?")
_OTHERS = re.compile("(?:e|[eè]me)s?")

# An ordinal of the translation that has no other in digits as its source may come of these.
_IN_WORDS = {
    "fr": re.compile(r"ième|premi|second"),
    "en": re.compile(r"\b(?:first|second|third|\w+(?:een|tie|[fhxn])th)\b"),
}
# Vers and Le are words.
_ROMAN = re.compile(r"\b(?:I(?=(?:er|re)s?\b)|[IVX]+(?=(?:e|[eè]me)s?\b)|[IVX]{2,}+\b)")
_WORTH = {"I": 1, "V": 5, "X": 10}

_ENGLISH_MONTH = "(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec)"
_MONTH_BEFORE = re.compile(rf"\b{_ENGLISH_MONTH}[a-z]*[.,]? \Z")
# The 5th, and no word that could be its own: a day of a month, as far as one can see.
_DAY_BEFORE, _LAST_DAY = re.compile(r"(?<!\w)(?:(?<!than )the|from) \Z", re.IGNORECASE), 31
_DAY_AFTER = re.compile(
    r"\W*\Z|[.,;:!?)]|\s[-–—]|\s(?:of|at|and|to|in|or|for|is|was|will|there|I|you|he|she|it|we|they)\b"
)
_AND = re.compile(r"(?:,?\s(?:and|or|to)|,|\s?[-–])\s?(?:the\s)?")
_MONTH_AFTER = re.compile(rf"\s(?:of\s)?{_ENGLISH_MONTH}")
_FRENCH_MONTH_AFTER = re.compile(rf"\s{MONTH}")
_NUM_LOOKED_AT = 12

_BARE = r"(?<![\w.,])(?<!\d ){}(?![\w%]|[.,:]?\d)"
# What stands around a number that has lost its ordinal: the 11 time, finished 33 out of 50, les 2 et 3 joueurs.
_AROUND_BARE = {
    "en": (
        re.compile(r"\b(?:the|my|your|his|her|its|our|their|this|every) \Z", re.IGNORECASE),
        re.compile(rf"\s(?!(?:of\s)?{_ENGLISH_MONTH})[a-z]"),
        re.compile(r"\sout of\b"),
    ),
    "fr": (
        re.compile(
            r"\b(?:l[ea]s?|au|du|aux|des|[mts](?:on|a|es)|cette|ce|chaque|et|ou) \Z", re.IGNORECASE
        ),
        re.compile(
            rf"(?!\s(?:(?:(?:au|et|ou|à) \d{{1,2}} )?{MONTH}|ans?\b|h\b|heures?\b|min|jours?\b|mois\b|fois\b|années?\b|[€$£%]|\d))"
        ),
        re.compile(r"\ssur\b"),
    ),
}
_FEMININE = re.compile(r"\b(?:la|une|cette|[mts]a|toute) \Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ordinal:
    span: Span
    value: int
    suffix: str
    is_day: bool = False
    """of a month, for which French has a number"""


@dataclass(frozen=True, slots=True)
class Ordinals:
    """Ordinals between French and English; of other languages nothing is known."""

    source: str = ""
    target: str = ""

    def given(self, sentence: str) -> list[Ordinal]:
        """Those of a source."""
        if {self.source[:2], self.target[:2]} != _OF.keys():
            return []
        found = list(_read(_OF[self.source[:2]], sentence))
        return found if self.source[:2] == "fr" else _with_days(found, sentence)

    def lacks(self, sentence: str, translation: str) -> bool:
        """Whether an ordinal of the source has none of its value in a translation."""
        if _IN_WORDS[self.target[:2]].search(translation):
            return False
        got = {each.value for each in _read(_OF[self.target[:2]], translation)}
        got |= set(_in_roman(translation))
        return any(each.value not in got for each in self.given(sentence) if not each.is_day)

    def corrections(self, sentence: str, translation: str) -> list[tuple[Span, str]]:
        """What is to stand where in a translation, from left to right.

        >>> Ordinals("fr", "en").corrections("le 11e et le 12e étage", "the 11st and 12th floor")
        [((4, 8), '11th')]
        >>> Ordinals("en", "fr").corrections("the 2nd and 3rd players", "les 2 et 3rd joueurs")
        [((4, 5), '2e'), ((9, 12), '3e')]
        """
        given = self.given(sentence)
        if not given:
            return []
        got = list(_read(_OF_BOTH, translation))
        values = {each.value for each in given}
        missing = values - {each.value for each in got}
        # From the 1er au 14 novembre, to November 14th: English has an ordinal where French has a number.
        known = {int(number) for number in _NUMBER.findall(sentence)}
        strange = [each for each in got if each.value not in known]
        found: dict[Span, str] = {}
        if self._is_confused(sentence, missing, strange):
            [ordinal], [value] = strange, missing
            found[ordinal.span] = self._written(value, translation, ordinal.span[0])
            missing = set()
        days = {each.value for each in given if each.is_day}
        for each in got:
            is_day = self.target[:2] == "fr" and each.value in days - {1}
            is_right = self._is_right(each, translation)
            # Le 2e juillet has the right ending and should have none.
            if is_day and _FRENCH_MONTH_AFTER.match(translation, each.span[1]):
                is_right = False
            if each.value in values and not is_right:
                written = self._written(each.value, translation, each.span[0])
                found[each.span] = str(each.value) if is_day else written
        for value in missing - days:
            if span := self._bare(value, sentence, translation):
                found[span] = self._written(value, translation, span[0])
        return sorted(
            (span, written.upper() if translation.isupper() else written)
            for span, written in found.items()
        )

    def _is_confused(self, sentence: str, missing: set[int], strange: list[Ordinal]) -> bool:
        """Whether one was written with a digit too few or too many: 11th for 111e."""
        is_otherwise = _IN_WORDS[self.source[:2]].search(sentence) or any(_in_roman(sentence))
        if len(missing) != 1 or len(strange) != 1 or is_otherwise:
            return False
        [ordinal], [value] = strange, missing
        short, long = sorted((str(ordinal.value), str(value)), key=len)
        rest = iter(long)
        return len(short) < len(long) and all(digit in rest for digit in short)

    def _is_right(self, ordinal: Ordinal, text: str) -> bool:
        suffix = ordinal.suffix.lower()
        if self.target[:2] == "en":
            return suffix == _english_suffix(ordinal.value)
        if ordinal.value == 1:
            wrong = ("e", "er") if _is_feminine(text, ordinal.span[0]) else ("e",)
            return bool(_FIRST.fullmatch(suffix)) and suffix not in wrong
        return bool((_SECOND if ordinal.value == 2 else _OTHERS).fullmatch(suffix))

    def _written(self, value: int, text: str, start: int) -> str:
        if self.target[:2] == "en":
            return f"{value}{_english_suffix(value)}"
        if value > 1:
            return f"{value}e"
        return "1re" if _is_feminine(text, start) else "1er"

    def _bare(self, value: int, sentence: str, translation: str) -> Span | None:
        """Where the number alone stands for an ordinal."""
        pattern = re.compile(_BARE.format(value))
        places = [match.span() for match in pattern.finditer(translation)]
        if len(places) != 1 or pattern.search(sentence):
            return None
        [(start, end)] = places
        before, after, or_after = _AROUND_BARE[self.target[:2]]
        is_ordinal = before.search(
            translation[max(0, start - _NUM_LOOKED_AT) : start]
        ) and after.match(translation, end)
        return (start, end) if is_ordinal or or_after.match(translation, end) else None


def _is_feminine(text: str, start: int) -> bool:
    """By the French word before it."""
    return bool(_FEMININE.search(text[max(0, start - _NUM_LOOKED_AT) : start]))


def _read(pattern: re.Pattern[str], text: str) -> Iterator[Ordinal]:
    for match in pattern.finditer(text):
        # LE 2E ÉTAGE, but an E beside small letters is that of a door or a code.
        if match[2] != "E" or text.isupper():
            yield Ordinal(match.span(), int(match[1]), match[2])


def _in_roman(text: str) -> Iterator[int]:
    """What XXIe, and XXI after a king, are worth.

    >>> list(_in_roman("Du XIVe au XXe siècle"))
    [14, 20]
    """
    for match in _ROMAN.finditer(text):
        digits = [_WORTH[letter] for letter in match[0]]
        smaller = sum(one for one, other in zip(digits, digits[1:], strict=False) if one < other)
        yield sum(digits) - 2 * smaller


def _with_days(found: list[Ordinal], sentence: str) -> list[Ordinal]:
    """The ordinals of an English sentence; of several in a row, what stands before and after them tells what they are."""
    rows: list[list[Ordinal]] = []
    for each in found:
        if rows and _AND.fullmatch(sentence, rows[-1][-1].span[1], each.span[0]):
            rows[-1].append(each)
        else:
            rows.append([each])
    return [
        replace(each, is_day=_are_days(sentence, row[0].span[0], row[-1].span[1]))
        if each.value <= _LAST_DAY
        else each
        for row in rows
        for each in row
    ]


def _are_days(sentence: str, start: int, end: int) -> bool:
    before = sentence[max(0, start - _NUM_LOOKED_AT) : start]
    if _MONTH_BEFORE.search(before) or _MONTH_AFTER.match(sentence, end):
        return True
    return bool(_DAY_BEFORE.search(before) and _DAY_AFTER.match(sentence, end))


def _english_suffix(value: int) -> str:
    """
    >>> [_english_suffix(value) for value in (1, 2, 3, 4, 11, 12, 13, 21, 112)]
    ['st', 'nd', 'rd', 'th', 'th', 'th', 'th', 'st', 'th']
    """
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


def read_plainly(sentence: str) -> str:
    """An English sentence with the one ending that most ordinals have: a model that has hardly met 102nd knows 102th.

    >>> read_plainly("On the 32nd and the 3rd.")
    'On the 32th and the 3th.'
    """
    return _OF["en"].sub(lambda match: f"{match[1]}th", sentence)

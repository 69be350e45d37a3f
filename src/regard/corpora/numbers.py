"""Do the numbers of a sentence and of its translation agree?"""

from __future__ import annotations

import re
from collections import Counter

_NUMBER = re.compile(r"\d+(?:(?:[., ]|, )\d{3}(?!\d))*(?:[.,]\d+)?")
_DECIMAL = re.compile(r"(.*?)[.,](\d{1,2}|\d{4,})")
_ROMAN = re.compile(r"\b([IVX]{1,5})e\b")
"""of French centuries"""
_FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf vingt"
).split()
_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_LARGER = (("trente", "thirty", 30), ("quarante", "forty", 40), ("cinquante", "fifty", 50))
_HUNDREDS = (("cent", "hundred", 100), ("mille", "thousand", 1000))
# "une", "first", "premier" and the like also say a small number.
_OTHER_FORMS = {"une": 1, "premier": 1, "première": 1, "first": 1, "1er": 1, "once": 1, "second": 2}
_OTHER_FORMS |= {"seconde": 2, "twice": 2, "third": 3, "midi": 12, "minuit": 12, "noon": 12}
_OTHER_FORMS |= {"midnight": 12, "dozen": 12, "douzaine": 12}
_VALUES: dict[str, int] = {
    **{word: value for value, word in enumerate(_FRENCH)},
    **{word: value for value, word in enumerate(_ENGLISH)},
    **{word: value for *words, value in (*_LARGER, *_HUNDREDS) for word in words},
    **_OTHER_FORMS,
}
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(r"\b(?:[ap]\.?m\b|o'clock)", re.IGNORECASE)


def agree(french: str, english: str) -> bool:
    """Whether every number in digits is on the other side too: in digits, as a word, or as an hour after noon.

    >>> agree("Il est 14 h 30, le 3 mai.", "It is 2:30 p.m. on May third."), agree("1 200 m", "1,300 m")
    (True, False)
    """
    if not (_DIGIT.search(french) or _DIGIT.search(english)):
        return True
    french = _ROMAN.sub(lambda match: str(_roman(match[1])), french)
    left, right = _numbers(french), _numbers(english)
    only_left, only_right = left - right, right - left
    if _CLOCK.search(english):
        for value in [each for each in only_left if each.isdecimal() and 12 < int(each) <= 24]:
            hour = str(int(value) - 12)
            both = min(only_left[value], only_right[hour])
            only_left[value] -= both
            only_right[hour] -= both
    return _in_words(+only_left, english) and _in_words(+only_right, french)


def _numbers(text: str) -> Counter[str]:
    """The numbers in digits, without what groups their thousands; a decimal mark is a point."""
    found: Counter[str] = Counter()
    for match in _NUMBER.finditer(text):
        whole, mark, fraction = match[0], "", ""
        if decimal := _DECIMAL.fullmatch(whole):
            whole, mark, fraction = decimal[1], ".", decimal[2]
        digits = re.sub(r"\D", "", whole).lstrip("0") or "0"
        found[digits + mark + fraction] += 1
    return found


def _roman(letters: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in letters]
    return sum(
        -value if any(after > value for after in values[place + 1 : place + 2]) else value
        for place, value in enumerate(values)
    )


def _in_words(numbers: Counter[str], text: str) -> bool:
    if not numbers:
        return True
    words = {
        _VALUES[word]
        for found in _WORD.findall(text.lower())
        for word in _forms(found)
        if word in _VALUES
    }
    return all(value.isdecimal() and int(value) in words for value in numbers)


def _forms(word: str) -> tuple[str, ...]:
    return (word, *word.split("-"))

"""A sentence as a model has learnt to read it: one blank at a time, signs of a keyboard, small letters in place of CAPITALS.

What is typed otherwise is rare in any corpus, and is read badly for that reason alone. A text that was all in
capitals gets a translation in capitals.
"""

from __future__ import annotations

import re

_RUN = re.compile(r"[ \t\u00a0\u2009\u202f\u3000]{2,}|\t")
_WORD = re.compile(r"[^\W\d_]{2,}")
# What print has and keyboards have not; each stands for one sign, so that places stay what they are.
_TYPED = str.maketrans(
    "\u2010\u2011\u2212\u2018\u2019\u02bc\u201c\u201d\u201e"
    "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089",
    "---'''\"\"\"0123456789",
) | {sign: sign - 0xFEE0 for sign in range(0xFF01, 0xFF5F)}
_ENGLISH_I = re.compile(r"\bi\b")

# A single short word in capitals is an abbreviation, such as NATO.
_LEAST_SHOUT = 5


def as_read(text: str, language: str) -> str:
    """
    >>> as_read("IL FAIT  BEAU.", "fr"), as_read("\u22125 g de CO\u2082", "fr"), as_read("I don\u2019t.", "en")
    ('Il fait beau.', '-5 g de CO2', "I don't.")
    """
    text = as_typed(single_spaced(text))
    return _in_small_letters(text, language) if is_shouted(text) else text


def as_typed(text: str) -> str:
    """With the signs of a keyboard, one for one."""
    return text.translate(_TYPED)


def single_spaced(text: str) -> str:
    return _RUN.sub(" ", text)


def is_shouted(text: str) -> bool:
    """Is everything in capitals, and more than an abbreviation?

    >>> is_shouted("HELLO"), is_shouted("I LOVE YOU"), is_shouted("NATO"), is_shouted("Hello")
    (True, True, False, False)
    """
    if not text.isupper():
        return False
    words = _WORD.findall(text)
    return len(words) > 1 or any(len(word) >= _LEAST_SHOUT for word in words)


def shouted(text: str) -> str:
    """In capitals, where that leaves every letter one letter."""
    return "".join(sign.upper() if len(sign.upper()) == 1 else sign for sign in text)


def places(text: str) -> list[int]:
    """Where in the text each character of what is read stands, and where it ends.

    >>> places("a  b")
    [0, 1, 3, 4]
    """
    found: list[int] = []
    begin = 0
    for run in _RUN.finditer(text):
        found += [*range(begin, run.start()), run.start()]
        begin = run.end()
    return [*found, *range(begin, len(text) + 1)]


def _in_small_letters(text: str, language: str) -> str:
    small = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)
    first = next(place for place, sign in enumerate(small) if sign.isalpha())
    small = small[:first] + text[first] + small[first + 1 :]
    return _ENGLISH_I.sub("I", small) if language == "en" else small

"""Signs that stand beside the words of a text and for none of them: emoji, faces of punctuation, the marks of a list."""

from __future__ import annotations

import re

# A picture with what changes it: a skin, a joiner, a flag's letters; a digit in a frame; a face; or a tag that ends a line.
# x <3 is a comparison, and Adobe XD a name.
PICTURES = re.compile(
    "(?:[\u231a-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
    "[\u200d\u20e3\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*|[0-9#*]\ufe0f?\u20e3|<[bBhH][rR] ?/?>"
    r"|(?<!\S)(?:[:;=]'?-?(?:\)++|\(++|[DPpoO/|*])|(?<!\b\w )<3|xD|XD(?=\s*+\Z)|\^\^)(?![^\s.,!?]))+"
)

# What begins an item of a list, what somebody says, or a line that a letter quotes.
_BULLETS = "-\u2013\u2014\u2015*+\u2022\u2023\u2043\u00b7\u2219\u25e6\u2192\u21d2\uf0a7\uf0b7\uf0d8"
MARK = re.compile(rf"\s*+(?:[{_BULLETS}]\s++|>\s*+)++(?=\S)")


def in_words(text: str) -> str:
    """A text without the emoji beside its words; emoji alone stay.

    >>> in_words("I'm fine \U0001f634"), in_words("\U0001f634")
    ("I'm fine", '\U0001f634')
    """
    words = PICTURES.sub(" ", text)
    return words.strip() if has_word(words) else text


def has_word(text: str) -> bool:
    return any(sign.isalnum() for sign in text)

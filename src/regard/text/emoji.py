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

_SAID = {
    "Hello!": "\U0001f44b",
    "OK.": "\U0001f44d\U0001f44c",
    "Thank you!": "\U0001f64f",
    "I am happy.": "\U0001f600\U0001f601\U0001f603\U0001f604\U0001f60a\U0001f642",
    "Haha!": "\U0001f602\U0001f923\U0001f606",
    "I am sad.": "\U0001f614\U0001f61e\U0001f622\U0001f62d\U0001f641\u2639",
    "I love you.": "\u2764\U0001f60d\U0001f970\U0001f618",
    "I am angry.": "\U0001f620\U0001f621",
    "Good night!": "\U0001f634",
}
_WORDS_OF = {picture: words for words, pictures in _SAID.items() for picture in pictures}


def in_words(text: str) -> str:
    """What somebody says, without the pictures beside it; or what a picture says that stands alone.

    >>> in_words("I'm fine \U0001f634"), in_words("\U0001f634")
    ("I'm fine", 'Good night!')
    """
    words = PICTURES.sub(" ", text)
    if has_word(words):
        return words.strip()
    return next((_WORDS_OF[sign] for sign in text if sign in _WORDS_OF), text)


def has_word(text: str) -> bool:
    return any(sign.isalnum() for sign in text)

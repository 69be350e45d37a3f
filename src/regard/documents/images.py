"""Images in a sentence of Markdown: what is said of one is no part of the sentence, and is translated alone.

In the sentence the whole image is a tag of its own. What became of the images is written behind the sentence, each
after a sign, and put in their places at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.documents.segments import Code, Item, Run, has_words, partners, written

_PRIVATE = range(0xF0000, 0xFFFFE)
"""characters that Unicode leaves to programs, and no translation has"""


def free_sign(text: str) -> str:
    """A character that does not stand in a text."""
    taken = set(text)
    return next(sign for sign in map(chr, _PRIVATE) if sign not in taken)


def take_out(items: Sequence[Item]) -> tuple[list[Item], list[Sequence[Item]]]:
    """A sentence with each of its images as one code, and the images; none where there is no sentence around them."""
    pairs = {start: end for start, end in partners(items).items() if start < end}
    if not _has_sentence(items, pairs):
        return list(items), []
    sentence: list[Item] = []
    images: list[Sequence[Item]] = []
    place = 0
    while place < len(items):
        item, end = items[place], pairs.get(place, place) + 1
        if isinstance(item, Code) and item.raw == "![" and end > place + 1:
            images.append(items[place:end])
            space = _space_before(sentence, items[end : end + 1])
            sentence.append(Code(space + written(images[-1]), "alone"))
            place = end
        else:
            sentence.append(item)
            place += 1
    return sentence, images


def _space_before(sentence: list[Item], following: Sequence[Item]) -> str:
    """Taken from the sentence where a comma or a stop follows the image, which then follows the word before it."""
    last = sentence[-1] if sentence else None
    if not isinstance(last, Run) or not last.raw.endswith(" "):
        return ""
    next_ = following[0].text[:1] if following and isinstance(following[0], Run) else ""
    if not next_ or next_.isalnum() or next_.isspace():
        return ""
    sentence[-1] = Run(last.text[:-1], last.raw[:-1])
    return " "


def _has_sentence(items: Sequence[Item], pairs: dict[int, int]) -> bool:
    """Whether there are words outside of all links and images."""
    place = 0
    while place < len(items):
        item = items[place]
        if isinstance(item, Run) and has_words(item.text):
            return True
        is_link = isinstance(item, Code) and item.name == "["
        place = pairs.get(place, place) + 1 if is_link else place + 1
    return False


def put_back(text: str, sign: str, images: Sequence[Sequence[Item]]) -> str:
    """The sentence with what became of its images."""
    sentence, *others = text.split(sign)
    became = dict(zip(map(written, images), others, strict=True))
    longest_first = sorted(became, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda match: became[match[0]], sentence)

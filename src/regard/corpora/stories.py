"""Books become running text for a model that writes on: paragraphs of prose, an empty line between chapters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from regard.corpora.spelling import plain

ARCHAIC = "chapters in the English of long ago"
NOT_PROSE = "paragraphs that are no prose"

_ARCHAIC = re.compile(
    r"\b(?:thou|thee|thy|thine|hath|doth|quoth|forsooth|ye|'tis|'twas|methinks|hither|thither|whence|wherefore|betwixt)\b",
    re.IGNORECASE,
)
_MOST_ARCHAIC = 0.004
_END = re.compile(r"[.!?,:;\u2014-][\"')]*$")
_LEAST_LETTERS = 0.6


def chapters(lines: Iterable[str]) -> Iterator[list[str]]:
    """The paragraphs between titles (`# …`) and blank lines."""
    found: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith("# "):
            found.append(plain(line))
        elif found:
            yield found
            found = []
    if found:
        yield found


def prose(lines: Iterable[str], dropped: Counter[str]) -> Iterator[list[str]]:
    """The chapters worth training on, each its paragraphs; what is left out is counted."""
    for chapter in chapters(lines):
        words = sum(len(paragraph.split()) for paragraph in chapter)
        if sum(len(_ARCHAIC.findall(paragraph)) for paragraph in chapter) > _MOST_ARCHAIC * words:
            dropped[ARCHAIC] += 1
            continue
        kept = [paragraph for paragraph in chapter if _is_prose(paragraph)]
        dropped[NOT_PROSE] += len(chapter) - len(kept)
        if kept:
            yield kept


def _is_prose(paragraph: str) -> bool:
    """It ends as a sentence does, and is made of letters: no verse, table, heading or note."""
    letters = sum(map(str.isalpha, paragraph))
    dense = letters > _LEAST_LETTERS * (len(paragraph) - paragraph.count(" "))
    return bool(_END.search(paragraph)) and dense and not paragraph.isupper()

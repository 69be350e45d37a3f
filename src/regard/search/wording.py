"""The nearest passages in order again: by their vectors, and by the words of the query that stand in them.

    score = cosine + WEIGHT · share² - WEIGHT_OF_SHORT · (1 - words of the passage ÷ ENOUGH_WORDS)²
    share = letters of those words of the query that stand in the passage ÷ letters of all of them

Vectors find what is said in other words, but a word alone is often nearer to a heading than to a sentence that holds
it. Squared, the share says little until nearly all of a query stands there; where no word does, the order is that of
the vectors. A passage of a word or two is somewhat near to everything and answers little: it has to be nearer than a
sentence. One of enough words loses nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import numpy as np

from regard.search.ranking import nearest

NUM_NEAREST = 200
"""passages whose text is looked at; one that holds the query's words but is none of these is not found by them"""
WEIGHT = 0.5
"""of words; from 0.3 on what benchmarks/search_quality.py measures hardly changes, and a word alone gains up to here"""
WEIGHT_OF_SHORT, ENOUGH_WORDS = 0.12, 10
"""among short lines the right passage comes first about twice as often; elsewhere next to nothing changes"""

_ACCENT = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+")


def best(
    query: str, vector: np.ndarray, vectors: np.ndarray, text_of: Callable[[int], str], count: int
) -> tuple[list[int], list[float]]:
    """The rows of the best passages, best first, and their scores; of equal ones the earlier row comes first."""
    [(rows, cosines)] = nearest(vector[None], vectors, max(count, NUM_NEAREST))
    asked = set(words_in(query))
    words = [set(words_in(text_of(row))) for row in rows.tolist()]
    shares = np.array([_share(asked, each) for each in words])
    lacking = np.array([max(0.0, 1 - len(each) / ENOUGH_WORDS) for each in words])
    scores = cosines + WEIGHT * shares**2 - WEIGHT_OF_SHORT * lacking**2
    order = np.lexsort((rows, -scores))[:count]
    return rows[order].tolist(), scores[order].tolist()


def words_in(text: str) -> list[str]:
    """In small letters and without accents."""
    return _WORD.findall(_ACCENT.sub("", unicodedata.normalize("NFD", text.casefold())))


def _share(asked: set[str], words: set[str]) -> float:
    """Of the letters of what is asked for, those whose words are there."""
    return sum(map(len, asked & words)) / max(1, sum(map(len, asked)))

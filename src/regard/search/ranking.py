"""Ranking: the passages with the nearest vectors, reordered by the words that they share with the query.

    score = cosine + WEIGHT · share² - WEIGHT_OF_SHORT · (1 - words of the passage ÷ ENOUGH_WORDS)²
    share = letters of those words of the query that stand in the passage ÷ letters of all of them

Vectors find other words for the same thing, but a query of one word is often nearer to a heading than to a sentence that
holds it. Squared, the share matters only where nearly all words are found; where none is, the vectors decide. A passage of
a word or two is somewhat near to everything and answers little, so it has to be nearer than a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import numpy as np

ROWS_AT_ONCE = 65536
"""rows of memory-mapped vectors that are read at once"""
NUM_NEAREST = 200
"""nearest passages that are reordered by words"""
WEIGHT = 0.5
"""weight of shared words; from 0.3 on benchmarks/search_quality.py hardly changes, and queries of one word gain up to 0.5"""
WEIGHT_OF_SHORT, ENOUGH_WORDS = 0.12, 10
"""weight of short passages, and words of one that is not short; doubles first hits among short lines, measured"""

_ACCENT = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+")


def best(
    query: str, vector: np.ndarray, vectors: np.ndarray, text_of: Callable[[int], str], count: int
) -> tuple[list[int], list[float]]:
    """The rows of the best passages, best first, and their scores; equal scores come in the order of rows."""
    [(rows, cosines)] = nearest(vector[None], vectors, max(count, NUM_NEAREST))
    asked = set(words_in(query))
    words = [set(words_in(text_of(row))) for row in rows.tolist()]
    shares = np.array([_share(asked, each) for each in words])
    lacking = np.array([max(0.0, 1 - len(each) / ENOUGH_WORDS) for each in words])
    scores = cosines + WEIGHT * shares**2 - WEIGHT_OF_SHORT * lacking**2
    order = np.lexsort((rows, -scores))[:count]
    return rows[order].tolist(), scores[order].tolist()


def nearest(
    queries: np.ndarray, vectors: np.ndarray, count: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each query the rows of its nearest vectors, best first, and their cosines; all vectors have length 1."""
    scores = np.empty((len(queries), len(vectors)), np.float32)
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        part = vectors[start : start + ROWS_AT_ONCE]
        np.matmul(queries, part.T, out=scores[:, start : start + len(part)])
    found = []
    for row in scores:
        if count < len(row):
            least = np.partition(row, len(row) - count)[len(row) - count]
            candidates = np.flatnonzero(row >= least)
        else:
            candidates = np.arange(len(row))
        best = candidates[np.argsort(-row[candidates], kind="stable")][:count]
        found.append((best, row[best]))
    return found


def words_in(text: str) -> list[str]:
    """In lower case, without accents."""
    return _WORD.findall(_ACCENT.sub("", unicodedata.normalize("NFD", text.casefold())))


def _share(asked: set[str], words: set[str]) -> float:
    """The share of the query's letters whose words are in the passage."""
    return sum(map(len, asked & words)) / max(1, sum(map(len, asked)))

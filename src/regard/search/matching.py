"""Which words of a passage answer which words of a query: their vectors in context, each with each.

    similarity_ij = cos(query word i, passage word j)

Late interaction (Khattab and Zaharia 2020) compares in this way to rank; here it shows what the ranking, mostly
by the mean of the same vectors, rests on. A word's vector is the mean of its pieces'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.search.reading import Reader, normalised
from regard.text.tokenizer_base import Span
from regard.text.word_alignment import words

LEAST = 0.3
"""of the way from the mean similarity of a query word to 1, from where on a passage word is said to match"""


@dataclass(frozen=True, slots=True)
class Match:
    """A word of the passage, and the query's word it is nearest to."""

    start: int
    end: int
    """where the word stands in the passage"""
    word: str
    query_word: str
    similarity: float

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Words:
    """A text's words, where they stand, and their vectors."""

    text: str
    spans: list[Span]
    vectors: np.ndarray

    def __getitem__(self, place: int) -> str:
        start, end = self.spans[place]
        return self.text[start:end]

    def all(self) -> list[str]:
        return [self[place] for place in range(len(self.spans))]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every word of a query with every word of a passage."""

    query: Words
    passage: Words
    similarity: np.ndarray
    """[query words, passage words]"""

    def matches(self) -> list[Match]:
        """For each query word the nearest word of the passage, where it stands out; in the passage's order."""
        found: dict[int, Match] = {}
        for place, row in enumerate(self.similarity):
            if not len(row):
                continue
            best = int(row.argmax())
            similarity, usual = float(row[best]), float(row.mean())
            if similarity < usual + LEAST * (1 - usual):
                continue
            if best in found and found[best].similarity >= similarity:
                continue
            start, end = self.passage.spans[best]
            found[best] = Match(
                start, end, self.passage[best], self.query[place], round(similarity, 4)
            )
        return [found[place] for place in sorted(found)]


def compare(reader: Reader, query: str, passages: Sequence[str]) -> list[Comparison]:
    """The query with each passage."""
    [asked, *found] = words_of(reader, [query, *passages])
    return [Comparison(asked, each, asked.vectors @ each.vectors.T) for each in found]


def words_of(reader: Reader, texts: Sequence[str]) -> list[Words]:
    """The words of each text, signs left out."""
    return [
        _gathered(text, spans, vectors)
        for text, (spans, vectors) in zip(texts, reader.token_strings(texts), strict=True)
    ]


def _gathered(text: str, pieces: Sequence[Span], vectors: np.ndarray) -> Words:
    found: list[Span] = []
    means: list[np.ndarray] = []
    for start, end in words(text):
        if not text[start].isalnum():
            continue
        inside = [
            place
            for place, (begin, stop) in enumerate(pieces)
            if begin < end and stop > start and begin < stop
        ]
        if inside:
            found.append((start, end))
            means.append(vectors[inside].mean(axis=0))
    if not means:
        return Words(text, [], np.zeros((0, vectors.shape[-1]), np.float32))
    return Words(text, found, normalised(np.stack(means)))

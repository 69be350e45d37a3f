"""Which word of a sentence became which word of its translation, by what the decoder looked at.

The cross-attention says for each piece that is written how much it looked at each piece that was read. Summed
over the pieces of the words on both sides, the strongest look makes a link first, and two words that are linked
are taken: an article would otherwise go to its noun, which everyone looks at. A word left over then goes to the
one it looked at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.text import Span

_WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*+)++|[^\\w\\s]|_")
# A word that was looked at less than this is not meant.
_LEAST_LOOK = 0.1


@dataclass(frozen=True, slots=True)
class Link:
    """A word of the target, the word of the source it looked at most, and how much: from where to where."""

    source: Span
    target: Span
    weight: float


def align(
    attention: Sequence[Sequence[float]],
    source: str,
    source_spans: Sequence[Span],
    target: str,
    target_spans: Sequence[Span],
) -> list[Link]:
    """A link for each word of the target; `attention` is [target pieces, source pieces], ends left out or not."""
    source_words, target_words = words(source), words(target)
    if not source_words or not target_words or not len(attention):
        return []
    weights = np.asarray(attention, dtype=np.float64)[: len(target_spans), : len(source_spans)]
    shares = _shares(target_words, target_spans)
    looked = shares @ weights @ _shares(source_words, source_spans).T
    looked = looked / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    return [
        Link(source_words[place], target_words[row], round(float(looked[row, place]), 4))
        for row, place in enumerate(_chosen(looked))
    ]


def _chosen(looked: np.ndarray) -> list[int]:
    """For each target word its source word."""
    linked: dict[int, int] = {}
    taken: set[int] = set()
    for index in np.argsort(-looked, axis=None).tolist():
        row, place = divmod(index, looked.shape[1])
        if looked[row, place] < _LEAST_LOOK:
            break
        if row not in linked and place not in taken:
            linked[row] = place
            taken.add(place)
    return [linked.get(row, most) for row, most in enumerate(looked.argmax(axis=1).tolist())]


def words(text: str) -> list[Span]:
    """Where each word stands, and each sign that is none."""
    return [match.span() for match in _WORD.finditer(text)]


def _shares(words: Sequence[Span], pieces: Sequence[Span]) -> np.ndarray:
    """[words, pieces]: which share of a piece's letters are the word's."""
    starts, ends = np.array(words).T
    begins, stops = np.array(pieces).reshape(-1, 2).T
    common = np.minimum(ends[:, None], stops) - np.maximum(starts[:, None], begins)
    return np.asarray(np.maximum(common, 0) / np.maximum(stops - begins, 1))

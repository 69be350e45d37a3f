"""Which word of a sentence became which word of its translation, by what the decoder looked at.

The cross-attention says for each piece that is written how much it looked at each piece that was read. Summed
over the pieces of the words on both sides, each written word belongs to the word it looked at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Span = tuple[int, int]

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")


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
    looked = _shares(target_words, target_spans) @ weights @ _shares(source_words, source_spans).T
    total = np.maximum(_shares(target_words, target_spans).sum(axis=1, keepdims=True), 1e-9)
    best = looked.argmax(axis=1)
    return [
        Link(source_words[place], word, round(float(looked[row, place] / total[row, 0]), 4))
        for row, (word, place) in enumerate(zip(target_words, best.tolist(), strict=True))
    ]


def words(text: str) -> list[Span]:
    """Where each word stands, and each sign that is none."""
    return [match.span() for match in _WORD.finditer(text)]


def _shares(words: Sequence[Span], pieces: Sequence[Span]) -> np.ndarray:
    """[words, pieces]: which share of a piece's letters are the word's."""
    starts, ends = np.array(words).T
    begins, stops = np.array(pieces).reshape(-1, 2).T
    common = np.minimum(ends[:, None], stops) - np.maximum(starts[:, None], begins)
    lengths = np.maximum(stops - begins, 1)
    return np.asarray(np.maximum(common, 0) / lengths)

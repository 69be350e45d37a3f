"""Pairs that would teach the wrong thing are left out, each reason counted, nothing silently."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from regard.config import DataConfig
from regard.errors import DataError
from regard.text.corpus import Corpus, Part
from regard.text.language import find_strangers

EMPTY = "empty side"
TOO_LONG = "too long"
RATIO = "unlike lengths"
DUPLICATE = "duplicate"
COPY = "source = target"
LANGUAGE = "wrong language"

# A SentencePiece piece has at most this many characters, so a longer text has more than max_length pieces.
_CHARACTERS_PER_PIECE = 16
# Greetings, numbers and names differ in length as they please.
_RATIO_GRACE = 15
# Names, numbers and titles are rightly the same in both languages; sentences are not.
_COPY_MIN_WORDS = 4
_COPY_MIN_CHARACTERS = 25


@dataclass
class CleaningReport:
    """How many pairs came, and how many left for which reason."""

    num_read: int
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def num_kept(self) -> int:
        return self.num_read - sum(self.dropped.values())

    def __str__(self) -> str:
        parts = [f"{reason} {count:,}" for reason, count in self.dropped.most_common()]
        dropped = f"; dropped: {', '.join(parts)}" if parts else ""
        first = f"{self.num_kept:,} of {self.num_read:,} pairs kept{dropped}"
        return "\n".join([first, *self.notes])


def clean(corpus: Corpus, config: DataConfig) -> tuple[Corpus, CleaningReport]:
    """The pairs worth training on.

    A pair is left out for the first of these that holds: a side is blank; a side is certainly longer than
    max_length pieces; the lengths in characters, scaled by the corpus' median, differ more than max_ratio
    times (and by more than a few characters); the pair came before in the same file (a file named twice
    is sampled twice); a whole sentence is the same on both sides; a side is in another language.
    """
    report = CleaningReport(len(corpus))
    kept = _without_bad_lengths(corpus, config, report)
    if not config.duplicates:
        kept = _without_duplicates(corpus, kept, report)
    if not config.copies:
        kept = _without_copies(corpus, kept, report)
    if not config.wrong_language:
        strangers = find_strangers(
            [corpus.sources[index] for index in kept],
            [corpus.targets[index] for index in kept],
            (config.source_language, config.target_language),
            report.notes,
        )
        if strangers:
            report.dropped[LANGUAGE] = len(strangers)
        kept = [index for place, index in enumerate(kept) if place not in strangers]
    if not kept:
        raise DataError(f"cleaning must leave a pair to train on: {report}; check the files")
    return select(corpus, kept), report


def select(corpus: Corpus, indices: Sequence[int]) -> Corpus:
    """Some pairs of a corpus, in ascending order, each still with its file and line."""
    parts = []
    place = 0
    for part in corpus.parts:
        start = place
        numbers = array("Q")
        while place < len(indices) and indices[place] < part.stop:
            numbers.append(part.line_numbers[indices[place] - part.start])
            place += 1
        parts.append(Part(part.name, start, numbers))
    sources = [corpus.sources[index] for index in indices]
    targets = [corpus.targets[index] for index in indices]
    return Corpus(sources, targets, parts, corpus.report)


def _without_bad_lengths(corpus: Corpus, config: DataConfig, report: CleaningReport) -> list[int]:
    ratios = [
        len(target) / len(source)
        for source, target in zip(corpus.sources, corpus.targets, strict=True)
        if source and target
    ]
    scale = statistics.median(ratios) if ratios else 1.0
    limit = config.max_length * _CHARACTERS_PER_PIECE
    kept = []
    for index, (source, target) in enumerate(zip(corpus.sources, corpus.targets, strict=True)):
        source_length, target_length = len(source), len(target)
        shorter, longer = sorted((source_length * scale, float(target_length)))
        if not source.strip() or not target.strip():
            report.dropped[EMPTY] += 1
        elif source_length > limit or target_length > limit:
            report.dropped[TOO_LONG] += 1
        elif longer > config.max_ratio * shorter and longer - shorter > _RATIO_GRACE:
            report.dropped[RATIO] += 1
        else:
            kept.append(index)
    return kept


def _without_duplicates(corpus: Corpus, kept: Iterable[int], report: CleaningReport) -> list[int]:
    remaining = []
    parts = iter(corpus.parts or [Part("", 0, array("Q", range(len(corpus))))])
    seen: set[tuple[str, str]] = set()
    stop = 0
    for index in kept:
        while index >= stop:
            stop = next(parts).stop
            seen = set()
        pair = (corpus.sources[index], corpus.targets[index])
        if pair in seen:
            report.dropped[DUPLICATE] += 1
        else:
            seen.add(pair)
            remaining.append(index)
    return remaining


def _without_copies(corpus: Corpus, kept: Iterable[int], report: CleaningReport) -> list[int]:
    remaining = []
    for index in kept:
        source = corpus.sources[index].strip()
        if (
            source == corpus.targets[index].strip()
            and len(source) >= _COPY_MIN_CHARACTERS
            and len(source.split()) >= _COPY_MIN_WORDS
        ):
            report.dropped[COPY] += 1
        else:
            remaining.append(index)
    return remaining

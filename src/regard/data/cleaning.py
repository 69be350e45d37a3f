"""Cleaning of a parallel corpus: bad pairs are left out, and each reason is counted.

The corpus is read a few times, chunk by chunk, and the findings lie in files: memory does not grow with the corpus.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from regard.config import DataConfig
from regard.data.corpus import Corpus, Part
from regard.data.storage import Column, Numbers, StoredTexts, chunks_of_pairs, taken
from regard.data.workers import SIDES, Message, Workers, serve, texts_from_arrays, texts_to_arrays
from regard.errors import DataError
from regard.text import language

EMPTY = "empty side"
TOO_LONG = "too long"
RATIO = "unlike lengths"
DUPLICATE = "duplicate"
COPY = "source = target"
LANGUAGE = "wrong language"
_REASONS = ("", EMPTY, TOO_LONG, RATIO, DUPLICATE, COPY, LANGUAGE)
_NUMBER = {reason: number for number, reason in enumerate(_REASONS)}

_CHARACTERS_PER_TOKEN = 16
"""maximum characters of a SentencePiece token"""
_RATIO_GRACE = 15
"""characters by which short texts such as greetings and names may differ"""
_MAX_RATIOS = 100_000
"""pairs from which the usual ratio is measured"""
# Names, numbers and titles are the same in both languages; sentences are not.
_COPY_MIN_WORDS = 4
_COPY_MIN_CHARACTERS = 25
_PAIRS_TO_COMPARE = 100_000
"""pairs whose digests are in memory together, up to a hundred million pairs in all"""
_MAX_BUCKETS = 1024
_UNWRITTEN = 1 << 14
"""bytes of each bucket before they are written"""
_WORTH_PROCESSES = 100_000
"""pairs above which processes save more time than they take to start"""
_DIGEST = np.dtype([("hash", "S16"), ("row", np.int64)])


@dataclass
class CleaningReport:
    """Pairs read, and pairs dropped for each reason."""

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


def clean(
    corpus: Corpus, config: DataConfig, folder: Path | None = None, num_processes: int = 1
) -> tuple[Corpus, CleaningReport]:
    """The pairs worth training on.

    A pair is dropped for the first of these that holds: a side is blank; a side is certainly longer than max_length
    tokens; the lengths in characters, scaled by the corpus' median ratio, differ more than max_ratio times (and by more
    than a few characters); the pair came before in the same file (a file named twice is sampled twice); a whole
    sentence is the same on both sides; a side is in another language.

    folder: where the rows kept are written, for a corpus in files. num_processes: for language identification.
    """
    report = CleaningReport(len(corpus))
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        reasons = _judge_pairs(corpus, config, scratch)
        if not config.wrong_language:
            workers = None
            if num_processes > 1 and len(corpus) >= _WORTH_PROCESSES:
                workers = Workers("regard.data.cleaning", [({}, {})] * num_processes)
                stack.enter_context(workers)
            _judge_languages(corpus, config, reasons, report.notes, scratch, workers)
        kept = Column((folder or scratch) / "kept", np.int64)
        counts = np.zeros(len(_REASONS), np.int64)
        for start, chunk in _with_starts(reasons):
            kept.extend(start + np.flatnonzero(chunk == 0))
            counts += np.bincount(chunk, minlength=len(_REASONS))
        report.dropped.update(
            {reason: int(n) for reason, n in zip(_REASONS, counts, strict=True) if reason and n}
        )
        if not len(kept):
            raise DataError(f"cleaning must leave a pair to train on: {report}; check the files")
        return select(corpus, kept), report


def select(corpus: Corpus, rows: Column) -> Corpus:
    """Some pairs of a corpus; of a corpus in files, rows of all that are stored."""
    if isinstance(corpus.sources, StoredTexts) and isinstance(corpus.targets, StoredTexts):
        return Corpus(corpus.sources.chosen(rows), corpus.targets.chosen(rows), [], corpus.report)
    places = rows.slice(0, len(rows))
    sources, targets = (taken(side, places) for side in (corpus.sources, corpus.targets))
    return Corpus(sources, targets, [], corpus.report)


def _judge_pairs(corpus: Corpus, config: DataConfig, scratch: Path) -> Column:
    """The number of the reason to drop each pair, or 0; languages are judged later."""
    scale = _scale(corpus)
    reasons = Column(scratch / "reasons", np.uint8)
    buckets = [
        Column(scratch / f"digests{number}", _DIGEST, _UNWRITTEN)
        for number in range(min(_MAX_BUCKETS, 1 + len(corpus) // _PAIRS_TO_COMPARE))
    ]
    parts = corpus.parts or [Part("", 0, len(corpus))]
    part_starts = np.array([part.start for part in parts])
    for start, sources, targets in chunks_of_pairs(corpus.sources, corpus.targets):
        chunk = np.fromiter(_reasons(sources, targets, scale, config), np.uint8, len(targets))
        reasons.extend(chunk)
        if not config.duplicates:
            places = np.flatnonzero((chunk == 0) | (chunk == _NUMBER[COPY]))
            numbers = np.searchsorted(part_starts, start + places, side="right").tolist()
            texts = [
                f"{part}\n{sources[place]}\n{targets[place]}".encode("utf-8", "surrogatepass")
                for place, part in zip(places.tolist(), numbers, strict=True)
            ]
            hashes = [hashlib.blake2b(text, digest_size=16).digest() for text in texts]
            digests = np.zeros(len(places), _DIGEST)
            digests["hash"], digests["row"] = hashes, start + places
            which = np.array([each[0] + 256 * each[1] for each in hashes]) % len(buckets)
            for number, bucket in enumerate(buckets):
                bucket.extend(digests[which == number])
    for bucket in buckets:
        digests = bucket.slice(0, len(bucket))
        _, first = np.unique(digests["hash"], return_index=True)
        reasons.put(np.delete(digests["row"], first), _NUMBER[DUPLICATE])
    return reasons


def _scale(corpus: Corpus) -> float:
    """The median number of target characters per source character."""
    stride = -(-len(corpus) // _MAX_RATIOS)
    ratios: list[float] = []
    for start, sources, targets in chunks_of_pairs(corpus.sources, corpus.targets):
        first = -start % stride
        pairs = zip(sources[first::stride], targets[first::stride], strict=True)
        ratios += [len(target) / len(source) for source, target in pairs if source and target]
    return float(np.median(ratios)) if ratios else 1.0


def _reasons(
    sources: Iterable[str], targets: Iterable[str], scale: float, config: DataConfig
) -> Iterator[int]:
    limit = config.max_length * _CHARACTERS_PER_TOKEN
    for source, target in zip(sources, targets, strict=True):
        source_length, target_length = len(source), len(target)
        shorter, longer = sorted((source_length * scale, float(target_length)))
        if not source.strip() or not target.strip():
            yield _NUMBER[EMPTY]
        elif source_length > limit or target_length > limit:
            yield _NUMBER[TOO_LONG]
        elif longer > config.max_ratio * shorter and longer - shorter > _RATIO_GRACE:
            yield _NUMBER[RATIO]
        elif not config.copies and _is_copy(source.strip(), target.strip()):
            yield _NUMBER[COPY]
        else:
            yield 0


def _is_copy(source: str, target: str) -> bool:
    is_long = len(source) >= _COPY_MIN_CHARACTERS and len(source.split()) >= _COPY_MIN_WORDS
    return source == target and is_long


def _judge_languages(
    corpus: Corpus,
    config: DataConfig,
    reasons: Column,
    notes: list[str],
    scratch: Path,
    workers: Workers | None,
) -> None:
    """Mark every pair with a side in another language than most of that side."""
    num_kept = sum(int((chunk == 0).sum()) for _, chunk in _with_starts(reasons))
    if num_kept < language.MIN_LINES:
        return
    detect = language.detector()
    if detect is None:
        notes.append("languages were not checked: the package fasttext-predict is not installed")
        return
    numbers: dict[str, int] = {"": 0}
    found = {side: Column(scratch / f"languages.{side}", np.int16) for side in SIDES}
    counts = {side: Counter[str]() for side in SIDES}
    for places, judged in _judged(corpus, reasons, detect, workers):
        for side in SIDES:
            counts[side].update(filter(None, judged[side]))
            chunk = np.zeros(len(places), np.int16)
            chunk[places] = [numbers.setdefault(name, len(numbers)) for name in judged[side]]
            found[side].extend(chunk)
    declared = (config.source_language, config.target_language)
    for side, said in zip(SIDES, declared, strict=True):
        right = language.right_language(side, counts[side], said, notes)
        if right is not None:
            for start, chunk in _with_starts(found[side]):
                strangers = start + np.flatnonzero((chunk != 0) & (chunk != numbers[right]))
                reasons.put(strangers, _NUMBER[LANGUAGE])


def _judged(
    corpus: Corpus, reasons: Column, detect: language.Detect, workers: Workers | None
) -> Iterator[tuple[Numbers, dict[str, list[str]]]]:
    """Chunk by chunk: which pairs are not dropped yet, and the languages of those."""

    def chunks() -> Iterator[tuple[Numbers, list[str], list[str]]]:
        for start, sources, targets in chunks_of_pairs(corpus.sources, corpus.targets):
            is_in = reasons.slice(start, start + len(targets)) == 0
            places = np.flatnonzero(is_in).tolist()
            yield is_in, [sources[i] for i in places], [targets[i] for i in places]

    if workers is None:
        for is_in, *sides in chunks():
            judged = (language.judge(side, detect) for side in sides)
            yield is_in, dict(zip(SIDES, judged, strict=True))
        return
    waiting: list[Numbers] = []

    def messages() -> Iterator[Message]:
        for is_in, *sides in chunks():
            waiting.append(is_in)
            yield {}, texts_to_arrays(*sides)

    for header, _ in workers.in_order(messages()):
        yield waiting.pop(0), header


def _with_starts(column: Column) -> Iterator[tuple[int, Numbers]]:
    start = 0
    for chunk in column.chunks(1 << 18):
        yield start, chunk
        start += len(chunk)


def main() -> None:
    """A worker process: texts in, their languages out."""
    detect = language.detector()
    assert detect is not None

    def answer(message: Message) -> Message:
        sides = zip(SIDES, texts_from_arrays(message[1]), strict=True)
        return {side: language.judge(texts, detect) for side, texts in sides}, {}

    serve(lambda _: answer)

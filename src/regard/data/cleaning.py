"""Cleaning of a parallel corpus: bad pairs are left out, and each reason is counted.

The corpus is read a few times, chunk by chunk, and the findings lie in files: memory does not grow with the corpus.
"""

import hashlib
import re
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from regard.config import DataConfig
from regard.data.corpus import Corpus
from regard.data.storage import Column, Numbers, StoredTexts, chunks_of_pairs, take_texts
from regard.data.workers import answers
from regard.errors import DataError
from regard.text import language

KEPT, EMPTY, TOO_LONG, RATIO, DUPLICATE, COPY, LANGUAGE = range(7)
_REASONS = ("", "empty side", "too long", "unlike lengths", "duplicate", "source = target", "wrong language")

_CHARACTERS_PER_TOKEN = 16  # maximum characters of a SentencePiece token
_RATIO_GRACE = 15  # characters by which short texts such as greetings and names may differ
_MAX_RATIOS = 100_000  # pairs from which the usual ratio is measured
# Names, numbers and titles are the same in both languages; sentences are not.
_COPY_MIN_WORDS = 4
_COPY_MIN_CHARACTERS = 25
_PAIRS_TO_COMPARE = 100_000  # pairs whose digests are in memory together, up to a hundred million pairs in all
_MAX_BUCKETS = 1024
_NUMBERS_AT_ONCE = 1 << 18
_WORTH_PROCESSES = 100_000  # pairs above which processes save more time than they take to start
_DIGEST = np.dtype([("hash", "S16"), ("row", np.int64)])
_PART, _MIN_PART, _MAX_PARTS = 250, 200, 20
"""pairs in a row that are compared with one another, the fewest that tell something, and the parts of a file"""
_WORD = re.compile(r"\w+")
_STEM = 5  # first letters by which words of two languages are compared, in lower case
_SAME = 1e-6  # difference of rounding


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
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        reasons = _judge_pairs(corpus, config, Path(scratch))
        if not (config.wrong_language or config.tags):
            processes = num_processes if len(corpus) >= _WORTH_PROCESSES else 1
            report.notes = _judge_languages(corpus, config, reasons, Path(scratch), processes)
        kept = Column((folder or Path(scratch)) / "kept", np.int64, new=True)
        counts = np.zeros(len(_REASONS), np.int64)
        for start, chunk in reasons.chunks(_NUMBERS_AT_ONCE):
            kept.extend(start + np.flatnonzero(chunk == KEPT))
            counts += np.bincount(chunk, minlength=len(_REASONS))
        for reason, count in zip(_REASONS[1:], counts[1:].tolist(), strict=True):
            if count:
                report.dropped[reason] = count
        if not len(kept):
            raise DataError(f"cleaning must leave a pair to train on: {report}; check the files")
        return select(corpus, kept), report


def select(corpus: Corpus, rows: Column) -> Corpus:
    """Some pairs of a corpus; of a corpus in files, rows of all that are stored."""
    if isinstance(corpus.sources, StoredTexts) and isinstance(corpus.targets, StoredTexts):
        return Corpus(corpus.sources.select(rows), corpus.targets.select(rows), [], corpus.report)
    places = rows.slice(0, len(rows))
    sources, targets = (take_texts(side, places) for side in (corpus.sources, corpus.targets))
    return Corpus(sources, targets, [], corpus.report)


def _judge_pairs(corpus: Corpus, config: DataConfig, scratch: Path) -> Column:
    """The reason to drop each pair, or KEPT; languages are judged later.

    Equal pairs have equal digests, and so share one of the buckets, which are compared one after another.
    """
    scale = _scale(corpus)
    reasons = Column(scratch / "reasons", np.uint8, new=True)
    num_buckets = 0 if config.duplicates else min(_MAX_BUCKETS, 1 + len(corpus) // _PAIRS_TO_COMPARE)
    buckets = [Column(scratch / f"digests{number}", _DIGEST, new=True) for number in range(num_buckets)]
    for start, sources, targets in chunks_of_pairs(corpus.sources, corpus.targets):
        chunk = np.fromiter(_reasons(sources, targets, scale, config), np.uint8, len(targets))
        reasons.extend(chunk)
        if buckets:
            places = np.flatnonzero((chunk == KEPT) | (chunk == COPY))
            files = np.searchsorted(corpus.starts, start + places, side="right").tolist()
            pairs = zip(places.tolist(), files, strict=True)
            texts = (f"{file}\n{sources[i]}\n{targets[i]}".encode("utf-8", "surrogatepass") for i, file in pairs)
            hashes = [hashlib.blake2b(text, digest_size=16).digest() for text in texts]
            digests = np.zeros(len(places), _DIGEST)
            digests["hash"], digests["row"] = hashes, start + places
            which = np.array([each[0] + 256 * each[1] for each in hashes]) % len(buckets)
            for number, bucket in enumerate(buckets):
                bucket.extend(digests[which == number])
    for bucket in buckets:
        digests = bucket.slice(0, len(bucket))
        _, first = np.unique(digests["hash"], return_index=True)
        reasons.put(np.delete(digests["row"], first), DUPLICATE)
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


def _reasons(sources: Iterable[str], targets: Iterable[str], scale: float, config: DataConfig) -> Iterator[int]:
    limit = config.max_length * _CHARACTERS_PER_TOKEN
    for source, target in zip(sources, targets, strict=True):
        source_length, target_length = len(source), len(target)
        shorter, longer = sorted((source_length * scale, float(target_length)))
        if not source.strip() or not target.strip():
            yield EMPTY
        elif source_length > limit or target_length > limit:
            yield TOO_LONG
        elif longer > config.max_ratio * shorter and longer - shorter > _RATIO_GRACE:
            yield RATIO
        elif config.copies or source.strip() != target.strip():
            yield KEPT
        else:
            is_long = len(source.strip()) >= _COPY_MIN_CHARACTERS and len(source.split()) >= _COPY_MIN_WORDS
            yield COPY if is_long else KEPT


def _judge_languages(
    corpus: Corpus, config: DataConfig, reasons: Column, scratch: Path, num_processes: int
) -> list[str]:
    """Mark every pair with a side in another language than most of that side; the notes say what is odd."""
    num_kept = sum(int((chunk == KEPT).sum()) for _, chunk in reasons.chunks(_NUMBERS_AT_ONCE))
    if num_kept < language.MIN_LINES:
        return []
    if language.detector() is None:
        return ["languages were not checked: the package fasttext-predict is not installed"]
    waiting: deque[Numbers] = deque()

    def messages() -> Iterator[list[list[str]]]:
        """Both sides of the pairs that are not dropped yet, chunk by chunk."""
        for start, *sides in chunks_of_pairs(corpus.sources, corpus.targets):
            is_in = reasons.slice(start, start + len(sides[0])) == KEPT
            waiting.append(is_in)
            places = np.flatnonzero(is_in).tolist()
            yield [[side[place] for place in places] for side in sides]

    numbers: dict[str, int] = {"": 0}
    found = [Column(scratch / f"languages{side}", np.int16, new=True) for side in range(2)]
    counts = [Counter[str](), Counter[str]()]
    for judged in answers(language_worker, None, messages(), num_processes):
        is_in = waiting.popleft()
        for column, count, names in zip(found, counts, judged, strict=True):
            count.update(filter(None, names))
            chunk = np.zeros(len(is_in), np.int16)
            chunk[is_in] = [numbers.setdefault(name, len(numbers)) for name in names]
            column.extend(chunk)
    notes: list[str] = []
    declared = {"source": config.source_language, "target": config.target_language}
    looks = [language.main_language(max(count, key=count.__getitem__, default="")) for count in counts]
    if looks[0] != looks[1] and looks == [language.main_language(code) for code in reversed(declared.values())]:
        notes.append("the sides look exchanged: name them the other way round, or set swapped=true for pairs")
    for (side, said), column, count in zip(declared.items(), found, counts, strict=True):
        right = language.right_language(side, count, said, notes)
        if right is not None:
            for start, chunk in column.chunks(_NUMBERS_AT_ONCE):
                strangers = start + np.flatnonzero((chunk != 0) & (chunk != numbers[right]))
                reasons.put(strangers, LANGUAGE)
    return notes


def language_worker(_: None) -> Callable[[list[list[str]]], list[list[str]]]:
    """In a worker process: lists of texts in, the language of each out."""
    detect = language.detector()
    assert detect is not None
    return lambda sides: [language.judge(texts, detect) for texts in sides]


def share_unaligned(corpus: Corpus, start: int, stop: int) -> float:
    """The share of the parts of a file in which the targets would fit as well if they were moved by some lines.

    Of a pair, long sentences have long translations, names and numbers are on both sides, and so is the mark at the
    end. Over a part these agree best where no line is moved. In a shuffled text, or one where a line is missing before,
    another of the 250 ways of moving the part round is better.
    """
    length = min(_PART, stop - start)
    if length < _MIN_PART:
        return 0.0
    starts = np.linspace(start, stop - length, min(_MAX_PARTS, (stop - start) // length)).astype(int).tolist()
    parts = [slice(first, first + length) for first in starts]
    return float(np.mean([not _fits(corpus.sources[part], corpus.targets[part]) for part in parts]))


def _fits(sources: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether the sides agree best as they are; each kind of agreement counts by how far it stands out."""
    sides = (sources, targets)
    lengths = [np.log1p([len(text) for text in side]) for side in sides]
    ends = [np.array([text.rstrip()[-1:] for text in side]) for side in sides]
    stems = [[{word[:_STEM] for word in _WORD.findall(text.lower())} for text in side] for side in sides]
    shared = sorted(set().union(*stems[0]) & set().union(*stems[1]))
    found = [np.array([[stem in each for stem in shared] for each in side], np.float32) for side in stems]
    rarity = np.log(len(targets) / np.maximum(1, found[0].sum(axis=0)))
    rows = np.arange(len(targets))
    moved = (rows[:, None] + rows) % len(targets)
    total = np.zeros(len(targets))
    for agreement in (
        np.outer(*(each - each.mean() for each in lengths)),
        ends[0][:, None] == ends[1],
        (found[0] * rarity) @ found[1].T,
    ):
        means = agreement[rows, moved].mean(axis=1)
        if means.std() > _SAME:
            total += (means - means.mean()) / means.std()
    return bool(total[0] >= total.max() - _SAME)

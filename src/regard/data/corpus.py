"""Files of parallel text, read so that line n of one side stays beside line n of the other.

A line that cannot be used (not UTF-8, holding NUL, far too long) is left out together with its partner, counted and
named. Nothing is repaired by guessing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.alignment import AlignmentCheck
from regard.data.lines import decode, raw_lines
from regard.errors import DataError, UsageError

if TYPE_CHECKING:
    from regard.data.storage import StoredTexts

_NUM_NAMED = 20
NO_TAB = "no tab between source and target"
_END = b"\n\n"
"""stands for the missing line of the shorter file; no line can hold it"""


@dataclass
class ReadingReport:
    """How many lines were read, which could not be used, and what looks wrong."""

    num_lines: int = 0
    unusable: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)
    """the first unusable lines as file:line: reason"""
    warnings: list[str] = field(default_factory=list)

    def refuse(self, where: str, problem: str) -> None:
        self.unusable[problem] += 1
        if len(self.named) < _NUM_NAMED:
            self.named.append(f"{where}: {problem}")

    def __str__(self) -> str:
        parts = [f"{self.num_lines:,} lines read"]
        parts += [f"{count:,} {reason}" for reason, count in self.unusable.most_common()]
        lines = [", ".join(parts), *(f"  {name}" for name in self.named), *self.warnings]
        return "\n".join(lines)


@dataclass(frozen=True)
class Part:
    """The pairs of a corpus that came from one file, or one pair of files."""

    name: str
    start: int
    stop: int


@dataclass
class Corpus:
    """Sentences and their translations at the same index, in memory or in files."""

    sources: list[str] | StoredTexts
    targets: list[str] | StoredTexts
    parts: list[Part] = field(default_factory=list)
    report: ReadingReport = field(default_factory=ReadingReport)

    def __len__(self) -> int:
        return len(self.targets)


class _FilePairs:
    """The usable pairs of one file or pair of files, or of its lines with one label."""

    def __init__(self, folder: Path | None, name: str = "part") -> None:
        self.sources = _no_texts(folder, f"{name}.source")
        self.targets = _no_texts(folder, f"{name}.target")
        self.report = ReadingReport()
        self._alignment = AlignmentCheck()

    def add(self, number: int, source: str, target: str) -> None:
        self.sources.append(source)
        self.targets.append(target)
        self._alignment.add(number, len(source), len(target))

    def add_to(self, corpus: Corpus, name: str, advice: str | None) -> None:
        """advice: what to do about the first unusable line, where none is allowed."""
        if self.report.named and advice is not None:
            where, _, problem = self.report.named[0].rpartition(": ")
            raise DataError(f"{where}: every line must be usable: this one is {problem}; {advice}")
        start = len(corpus)
        corpus.sources.extend(self.sources)
        corpus.targets.extend(self.targets)
        corpus.parts.append(Part(name, start, len(corpus)))
        report = corpus.report
        report.num_lines += self.report.num_lines
        report.unusable.update(self.report.unusable)
        report.named = [*report.named, *self.report.named][:_NUM_NAMED]
        report.warnings += self._alignment.warnings(name)


def _no_texts(folder: Path | None, name: str) -> list[str] | StoredTexts:
    if folder is None:
        return []
    from regard.data.storage import StoredTexts

    return StoredTexts.new(folder / name)


def read_pairs(
    source: Sequence[str | Path] = (),
    target: Sequence[str | Path] = (),
    pairs: Sequence[str | Path] = (),
    *,
    swapped: bool = False,
    strict: bool = False,
    advice: str = "mend the file",
    sides: tuple[str, str] = ("source", "target"),
    folder: Path | None = None,
) -> Corpus:
    """Read source and target files side by side, then files of source TAB target.

    `file#label` is the lines of a file whose third column is the label. swapped: those files hold target TAB
    source. advice: what an error about an unusable line says to do, where `strict` allows none. sides: what the
    user calls them. folder: where to put the texts instead of in memory.
    """
    if len(source) != len(target):
        raise UsageError(
            f"source and target must be as many files: got {len(source)} and {len(target)}; "
            "name the translation of each file"
        )
    corpus = Corpus(_no_texts(folder, "source"), _no_texts(folder, "target"))
    strict_advice = advice if strict else None
    for source_path, target_path in zip(source, target, strict=True):
        found = _read_side_by_side(Path(source_path), Path(target_path), sides, folder)
        found.add_to(corpus, f"{source_path} and {target_path}", strict_advice)
    _read_tab_separated(corpus, [str(path) for path in pairs], strict_advice, swapped, folder)
    if folder is not None:
        for part in folder.glob("part*"):
            part.unlink()
    if not len(corpus):
        names = ", ".join(str(path) for path in (*source, *target, *pairs)) or "no files"
        reasons = f" ({corpus.report})" if corpus.report.num_lines else ""
        raise DataError(f"the corpus must hold a sentence pair: got none from {names}{reasons}")
    return corpus


def _read_side_by_side(
    source: Path, target: Path, sides: tuple[str, str], folder: Path | None
) -> _FilePairs:
    found = _FilePairs(folder)
    num_source = num_target = 0
    both = zip_longest(raw_lines(source), raw_lines(target), fillvalue=_END)
    for number, (source_line, target_line) in enumerate(both, start=1):
        num_source += source_line is not _END
        num_target += target_line is not _END
        if source_line is _END or target_line is _END:
            continue
        source_text, source_problem = decode(source_line)
        target_text, target_problem = decode(target_line)
        if source_problem:
            found.report.refuse(f"{source}:{number}", source_problem)
        if target_problem:
            found.report.refuse(f"{target}:{number}", target_problem)
        if not source_problem and not target_problem:
            found.add(number, source_text, target_text)
    for path, count in ((source, num_source), (target, num_target)):
        if count == 0:
            raise _empty(path)
    if num_source != num_target:
        raise DataError(
            f"{sides[0]} and {sides[1]} must have as many lines: got {num_source} in {source} and "
            f"{num_target} in {target}; line n of one must translate line n of the other"
        )
    found.report.num_lines = num_source
    return found


def _read_tab_separated(
    corpus: Corpus,
    names: Sequence[str],
    advice: str | None,
    swapped: bool,
    folder: Path | None,
) -> None:
    """Each file is read once, however often and with whichever labels it is named."""
    wanted = [split_label(name) for name in names]
    num_left = Counter(path for path, _ in wanted)
    held: dict[str, dict[str, _FilePairs]] = {}
    for name, (path, label) in zip(names, wanted, strict=True):
        if path not in held:
            labels = dict.fromkeys(each for other, each in wanted if other == path)
            prefix = f"part{len(corpus.parts)}"
            held[path] = {
                each: _FilePairs(folder, f"{prefix}.{number}") for number, each in enumerate(labels)
            }
            _read_table(Path(path), held[path], swapped)
        held[path][label].add_to(corpus, name, advice)
        num_left[path] -= 1
        if not num_left[path]:
            del held[path]


def split_label(name: str) -> tuple[str, str]:
    """The file and the label of `file#label`; a file may have such a name itself.

    >>> split_label("train.tsv.xz#news/2008"), split_label("train.tsv")
    (('train.tsv.xz', 'news/2008'), ('train.tsv', ''))
    """
    path, _, label = name.partition("#")
    return (name, "") if not label or Path(name).exists() else (path, label)


def _read_table(path: Path, labels: dict[str, _FilePairs], swapped: bool) -> None:
    number = 0
    for number, line in enumerate(raw_lines(path), start=1):
        text, problem = decode(line)
        first, tab, rest = text.partition("\t")
        second, _, label = rest.partition("\t")
        if not problem and not tab:
            problem = NO_TAB
        for wanted, found in labels.items():
            # A line that cannot be read has no label; it is named where the whole file is read.
            if wanted and (problem or not _is_within(label, wanted)):
                continue
            found.report.num_lines += 1
            if problem:
                found.report.refuse(f"{path}:{number}", problem)
            else:
                found.add(number, *((second, first) if swapped else (first, second)))
    if number == 0:
        raise _empty(path)
    for wanted, found in labels.items():
        if not found.report.num_lines:
            raise DataError(
                f"{path} must hold lines whose third column is {wanted}: it has none; "
                "check the label after #"
            )


def _empty(path: Path) -> DataError:
    return DataError(f"{path} must hold text: it is empty; give another file")


def _is_within(label: str, wanted: str) -> bool:
    """Whether a line's third column is the label, or a part of it such as news/2008 of news."""
    return label == wanted or label.startswith((f"{wanted}/", f"{wanted}-"))

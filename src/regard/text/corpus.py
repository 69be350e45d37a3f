"""Files of parallel text, read so that line n of one side stays beside line n of the other.

A line ends at the byte `\\n` and nowhere else: U+2028, form feeds and lone carriage returns stay inside
it. A line that cannot be used (not UTF-8, holding NUL, far too long) is left out together with its
partner, counted, and named; nothing is ever repaired by guessing.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from regard.errors import DataError, UsageError
from regard.text.reading import decode, raw_lines

_NUM_NAMED = 20
NO_TAB = "no tab between source and target"


@dataclass
class ReadingReport:
    """How many lines were read, which could not be used, and what looks wrong."""

    num_lines: int = 0
    unusable: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)
    """the first unusable lines as file:line: reason"""
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{self.num_lines:,} lines read"]
        parts += [f"{count:,} {reason}" for reason, count in self.unusable.most_common()]
        lines = [", ".join(parts), *(f"  {name}" for name in self.named), *self.warnings]
        return "\n".join(lines)


@dataclass
class Part:
    """The pairs of a corpus that came from one file, or one pair of files."""

    name: str
    start: int
    line_numbers: array[int]

    @property
    def stop(self) -> int:
        return self.start + len(self.line_numbers)


@dataclass
class Corpus:
    """Sentences and their translations at the same index."""

    sources: list[str]
    targets: list[str]
    parts: list[Part] = field(default_factory=list)
    report: ReadingReport = field(default_factory=ReadingReport)

    def __len__(self) -> int:
        return len(self.targets)


def read_pairs(
    source: Sequence[str | Path] = (),
    target: Sequence[str | Path] = (),
    pairs: Sequence[str | Path] = (),
    *,
    swapped: bool = False,
    strict: bool = False,
    advice: str = "mend the file",
    sides: tuple[str, str] = ("source", "target"),
) -> Corpus:
    """Read source and target files side by side, then files of source TAB target.

    `file#label` is the lines of a file whose third column is the label. swapped: those files hold target TAB
    source. advice: what an error about an unusable line says to do, where `strict` allows none. sides: what the
    user calls them.
    """
    if len(source) != len(target):
        raise UsageError(
            f"source and target must be as many files: got {len(source)} and {len(target)}; "
            "name the translation of each file"
        )
    corpus = Corpus([], [])
    strict_advice = advice if strict else None
    for source_path, target_path in zip(source, target, strict=True):
        _read_side_by_side(corpus, Path(source_path), Path(target_path), strict_advice, sides)
    _read_tab_separated(corpus, [str(path) for path in pairs], strict_advice, swapped)
    if not corpus.targets:
        names = ", ".join(str(path) for path in (*source, *target, *pairs)) or "no files"
        reasons = f" ({corpus.report})" if corpus.report.num_lines else ""
        raise DataError(f"the corpus must hold a sentence pair: got none from {names}{reasons}")
    return corpus


def read_lines(path: str | Path, *, strict: bool = True) -> list[str]:
    """The lines of one text; strict=False puts an empty line in place of an unusable one."""
    lines = []
    for number, line in enumerate(raw_lines(Path(path)), start=1):
        text, problem = decode(line)
        if problem and strict:
            raise DataError(f"{path}:{number}: a line must be UTF-8 text: {problem}; mend the file")
        lines.append(text)
    return lines


def _read_side_by_side(
    corpus: Corpus, source: Path, target: Path, advice: str | None, sides: tuple[str, str]
) -> None:
    part = Part(f"{source} and {target}", len(corpus), array("Q"))
    problems: list[tuple[str, str]] = []
    num_source = num_target = 0
    for number, (source_line, target_line) in enumerate(
        zip_longest(raw_lines(source), raw_lines(target), fillvalue=_END), start=1
    ):
        num_source += source_line is not _END
        num_target += target_line is not _END
        if source_line is _END or target_line is _END:
            continue
        source_text, source_problem = decode(source_line)
        target_text, target_problem = decode(target_line)
        if source_problem or target_problem:
            for path, problem in ((source, source_problem), (target, target_problem)):
                if problem:
                    problems.append((f"{path}:{number}", problem))
            continue
        corpus.sources.append(source_text)
        corpus.targets.append(target_text)
        part.line_numbers.append(number)
    for path, count in ((source, num_source), (target, num_target)):
        if count == 0:
            raise DataError(f"{path} must hold text: it is empty; give another file")
    if num_source != num_target:
        raise DataError(
            f"{sides[0]} and {sides[1]} must have as many lines: got {num_source} in {source} and "
            f"{num_target} in {target}; line n of one must translate line n of the other"
        )
    _finish(corpus, part, num_source, problems, advice)


@dataclass
class _Table:
    """The pairs of a tab-separated file, or those of them with one label."""

    num_lines: int = 0
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    line_numbers: array[int] = field(default_factory=lambda: array("Q"))
    problems: list[tuple[str, str]] = field(default_factory=list)


def _read_tab_separated(
    corpus: Corpus, names: Sequence[str], advice: str | None, swapped: bool
) -> None:
    """Each file is read once, however often and with whichever labels it is named."""
    wanted: dict[str, list[str]] = {}
    for name in names:
        path, label = split_label(name)
        wanted.setdefault(path, []).append(label)
    tables = {path: _read_tables(Path(path), labels) for path, labels in wanted.items()}
    for name in names:
        path, label = split_label(name)
        table = tables[path][label]
        part = Part(name, len(corpus), table.line_numbers)
        corpus.sources += table.targets if swapped else table.sources
        corpus.targets += table.sources if swapped else table.targets
        _finish(corpus, part, table.num_lines, table.problems, advice)


def split_label(name: str) -> tuple[str, str]:
    """The file and the label of `file#label`; a file may have such a name itself.

    >>> split_label("train.tsv.xz#news/2008"), split_label("train.tsv")
    (('train.tsv.xz', 'news/2008'), ('train.tsv', ''))
    """
    path, _, label = name.partition("#")
    return (name, "") if not label or Path(name).exists() else (path, label)


def _read_tables(path: Path, labels: Sequence[str]) -> dict[str, _Table]:
    tables = {label: _Table() for label in labels}
    number = 0
    for number, line in enumerate(raw_lines(path), start=1):
        text, problem = decode(line)
        source, tab, rest = text.partition("\t")
        target, _, label = rest.partition("\t")
        if not problem and not tab:
            problem = NO_TAB
        for wanted, table in tables.items():
            # A line that cannot be read has no label; it is named where the whole file is read.
            if wanted and (problem or not _is_within(label, wanted)):
                continue
            table.num_lines += 1
            if problem:
                table.problems.append((f"{path}:{number}", problem))
                continue
            table.sources.append(source)
            table.targets.append(target)
            table.line_numbers.append(number)
    if number == 0:
        raise DataError(f"{path} must hold text: it is empty; give another file")
    for wanted, table in tables.items():
        if not table.num_lines:
            raise DataError(
                f"{path} must hold lines whose third column is {wanted}: it has none; "
                "check the label after #"
            )
    return tables


def _is_within(label: str, wanted: str) -> bool:
    """Whether a line's third column is the label, or a part of it such as news/2008 of news."""
    return label == wanted or label.startswith((f"{wanted}/", f"{wanted}-"))


def _finish(
    corpus: Corpus, part: Part, num_lines: int, problems: list[tuple[str, str]], advice: str | None
) -> None:
    from regard.text.alignment import check_alignment

    if problems and advice is not None:
        where, problem = problems[0]
        raise DataError(f"{where}: every line must be usable: this one is {problem}; {advice}")
    report = corpus.report
    report.num_lines += num_lines
    report.unusable.update(problem for _, problem in problems)
    room = _NUM_NAMED - len(report.named)
    report.named += [f"{where}: {problem}" for where, problem in problems[: max(room, 0)]]
    corpus.parts.append(part)
    report.warnings += check_alignment(
        part.name, corpus.sources[part.start :], corpus.targets[part.start :], part.line_numbers
    )


_END = b"\n\n"
"""Stands for the missing line of the shorter file; no line can hold it."""

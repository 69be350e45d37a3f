"""Files of parallel text, read so that line n of one side stays beside line n of the other.

A line ends at the byte `\\n` and nowhere else: U+2028, form feeds and lone carriage returns stay inside
it. A line that cannot be used (not UTF-8, holding NUL, far too long) is left out together with its
partner, counted, and named; nothing is ever repaired by guessing.
"""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, cast

from regard.errors import DataError, UsageError

MAX_LINE_BYTES = 1 << 16
"""A longer line is dropped while it is read, so that it never lies in memory as a whole."""

_NUM_NAMED = 20
_UTF8_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}

NOT_UTF8 = "not UTF-8"
HOLDS_NUL = "holds a NUL byte"
TOO_LONG = f"longer than {MAX_LINE_BYTES} bytes"
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
    strict: bool = False,
    advice: str = "mend the file",
    sides: tuple[str, str] = ("source", "target"),
) -> Corpus:
    """Read source and target files side by side, then files of source TAB target.

    advice: what an error about an unusable line says to do, where `strict` allows none. sides: what the
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
    for path in pairs:
        _read_tab_separated(corpus, Path(path), strict_advice)
    if not corpus.targets:
        names = ", ".join(str(path) for path in (*source, *target, *pairs)) or "no files"
        reasons = f" ({corpus.report})" if corpus.report.num_lines else ""
        raise DataError(f"the corpus must hold a sentence pair: got none from {names}{reasons}")
    return corpus


def read_lines(path: str | Path, *, strict: bool = True) -> list[str]:
    """The lines of one text; strict=False puts an empty line in place of an unusable one."""
    lines = []
    for number, line in enumerate(_raw_lines(Path(path)), start=1):
        text, problem = _decode(line)
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
        zip_longest(_raw_lines(source), _raw_lines(target), fillvalue=_END), start=1
    ):
        num_source += source_line is not _END
        num_target += target_line is not _END
        if source_line is _END or target_line is _END:
            continue
        source_text, source_problem = _decode(source_line)
        target_text, target_problem = _decode(target_line)
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


def _read_tab_separated(corpus: Corpus, path: Path, advice: str | None) -> None:
    part = Part(str(path), len(corpus), array("Q"))
    problems: list[tuple[str, str]] = []
    number = 0
    for number, line in enumerate(_raw_lines(path), start=1):
        text, problem = _decode(line)
        source, tab, rest = text.partition("\t")
        if not problem and not tab:
            problem = NO_TAB
        if problem:
            problems.append((f"{path}:{number}", problem))
            continue
        corpus.sources.append(source)
        corpus.targets.append(rest.partition("\t")[0])
        part.line_numbers.append(number)
    if number == 0:
        raise DataError(f"{path} must hold text: it is empty; give another file")
    _finish(corpus, part, number, problems, advice)


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


def _raw_lines(path: Path) -> Iterator[bytes | None]:
    """The lines of a file without their ends; None for one that is too long."""
    try:
        with _open(path) as file:
            first = True
            while line := file.readline(MAX_LINE_BYTES):
                if first:
                    first = False
                    line = _without_mark(line, path)
                if line.endswith(b"\n"):
                    yield line[:-2] if line.endswith(b"\r\n") else line[:-1]
                elif len(line) < MAX_LINE_BYTES - len(_UTF8_MARK):
                    yield line
                else:
                    while (line := file.readline(MAX_LINE_BYTES)) and not line.endswith(b"\n"):
                        pass
                    yield None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it is cut short"
        raise DataError(f"{path} must be a readable file: {reason}; check its name") from error


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, io.BufferedReader(gzip.open(path, "rb"), 1 << 20))
    if path.suffix == ".xz":
        return cast(BinaryIO, io.BufferedReader(lzma.open(path, "rb"), 1 << 20))
    return open(path, "rb", buffering=1 << 20)


def _without_mark(line: bytes, path: Path) -> bytes:
    for mark, encoding in _OTHER_MARKS.items():
        if line.startswith(mark):
            raise DataError(
                f"{path}:1: text must be UTF-8: got {encoding}; "
                f"run  iconv -f {encoding} -t UTF-8 {path.name}"
            )
    return line.removeprefix(_UTF8_MARK)


def _decode(line: bytes | None) -> tuple[str, str]:
    """The text of a line, and what is wrong with it (nothing: an empty string)."""
    if line is None:
        return "", TOO_LONG
    if b"\0" in line:
        return "", HOLDS_NUL
    try:
        return line.decode(), ""
    except UnicodeDecodeError:
        return "", NOT_UTF8

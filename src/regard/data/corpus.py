"""Files of parallel text, read so that line n of one side stays beside line n of the other.

A line that cannot be used (not UTF-8, holding NUL, far too long) is left out together with its partner, counted and
named. Nothing is repaired by guessing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.lines import decode, raw_lines
from regard.errors import DataError, UsageError

if TYPE_CHECKING:
    from regard.data.storage import Mixture, StoredTexts

NumberedPair = tuple[int, str, str]  # line number, source and target

_NUM_NAMED = 20
NO_TAB = "no tab between source and target"
_END = b"\n\n"  # stands for the missing line of the shorter file; no line can hold it

_BLOCK = 200  # lines whose lengths are correlated together
_MAX_SHIFT = 3
_ALIGNED, _NOT_ALIGNED = 0.5, 0.25  # correlation above which a block is aligned, and below which it is not


@dataclass
class ReadingReport:
    """How many lines were read, which could not be used, and what looks wrong."""

    strict_advice: str = ""
    """advice of the error about the first unusable line; if empty, such lines are left out"""
    num_lines: int = 0
    unusable: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)  # the first unusable lines as file:line: reason
    warnings: list[str] = field(default_factory=list)

    def refuse(self, where: str, problem: str) -> None:
        if self.strict_advice:
            raise DataError(f"{where}: every line must be usable: got {problem}; {self.strict_advice}")
        self.unusable[problem] += 1
        if len(self.named) < _NUM_NAMED:
            self.named.append(f"{where}: {problem}")

    def __str__(self) -> str:
        parts = [f"{self.num_lines:,} lines read"]
        parts += [f"{count:,} {reason}" for reason, count in self.unusable.most_common()]
        lines = [", ".join(parts), *(f"  {name}" for name in self.named), *self.warnings]
        return "\n".join(lines)


@dataclass
class Corpus:
    """Sentences and their translations at the same index, in memory or in files."""

    sources: list[str] | StoredTexts
    targets: list[str] | StoredTexts
    starts: list[int] = field(default_factory=list)  # the index of the first pair of each file
    report: ReadingReport = field(default_factory=ReadingReport)
    mixture: Mixture | None = None  # the pairs of an epoch, if they are not all, once each

    def __len__(self) -> int:
        return len(self.targets)


def read_pairs(
    source: Sequence[str | Path] = (),
    target: Sequence[str | Path] = (),
    pairs: Sequence[str | Path] = (),
    *,
    swapped: bool = False,
    tags: Sequence[str] = (),
    strict: bool = False,
    advice: str = "mend the file",
    folder: Path | None = None,
) -> Corpus:
    """Read source and target files side by side, then files of source TAB target.

    `file#label` is the lines of a file whose third column is the label; a weight behind it is ignored here. swapped:
    those files hold target TAB source. tags: the target language of each of those files, written before its sources.
    advice: what an error about an unusable line says to do, where `strict` allows none. folder: where the texts are
    kept instead of in memory.
    """
    if len(source) != len(target):
        raise UsageError(
            f"source and target must be as many files: got {len(source)} and {len(target)}; "
            "name the translation of each file"
        )
    corpus = Corpus([], [], report=ReadingReport(advice if strict else ""))
    if folder is not None:
        from regard.data.storage import StoredTexts

        corpus.sources, corpus.targets = (StoredTexts(folder / side, new=True) for side in ("source", "target"))
    for source_path, target_path in zip(source, target, strict=True):
        found = _side_by_side(Path(source_path), Path(target_path), corpus.report)
        _add(corpus, f"{source_path} and {target_path}", found)
    for name, tag in zip(map(str, pairs), tags or [""] * len(pairs), strict=True):
        found = _tab_separated(*split_label(name), swapped, corpus.report)
        # A tag before the source tells the target language, as in Johnson et al. 2017.
        before = f"<2{tag}> " if tag else ""
        _add(corpus, name, ((number, before + first, second) for number, first, second in found))
    if not len(corpus):
        names = ", ".join(str(path) for path in (*source, *target, *pairs)) or "no files"
        read = str(corpus.report).partition("\n")[0]
        raise DataError(f"the corpus must hold a sentence pair: got none from {names} ({read}); give other files")
    return corpus


def _add(corpus: Corpus, name: str, found: Iterable[NumberedPair]) -> None:
    corpus.starts.append(len(corpus))
    block: list[tuple[int, int, int]] = []
    is_aligned = True
    for number, source, target in found:
        corpus.sources.append(source)
        corpus.targets.append(target)
        block.append((number, len(source), len(target)))
        if len(block) == _BLOCK:
            if is_aligned and (shift := _shift(block)):
                is_aligned = False
                corpus.report.warnings.append(
                    f"{name}: lines from {block[0][0]} on look shifted by {abs(shift)}: "
                    f"a line is missing in the {'source' if shift > 0 else 'target'} near it"
                )
            block = []


def _side_by_side(source: Path, target: Path, report: ReadingReport) -> Iterable[NumberedPair]:
    num_source = num_target = 0
    both = zip_longest(raw_lines(source), raw_lines(target), fillvalue=_END)
    for number, (source_line, target_line) in enumerate(both, start=1):
        if source_line is not _END:
            num_source = number
        if target_line is not _END:
            num_target = number
        if num_source != num_target:
            continue
        source_text, source_problem = decode(source_line)
        target_text, target_problem = decode(target_line)
        if source_problem:
            report.refuse(f"{source}:{number}", source_problem)
        if target_problem:
            report.refuse(f"{target}:{number}", target_problem)
        if not source_problem and not target_problem:
            yield number, source_text, target_text
    for path, count in ((source, num_source), (target, num_target)):
        if not count:
            raise _empty(path)
    if num_source != num_target:
        raise DataError(
            f"source and target must have as many lines: got {num_source} in {source} and "
            f"{num_target} in {target}; line n of one must translate line n of the other"
        )
    report.num_lines += num_source


def split_label(name: str) -> tuple[str, str]:
    """The file and the label of `file#label@weight`; a file may have such a name itself.

    >>> split_label("train.tsv.xz#news/2008"), split_label("train.tsv@3")
    (('train.tsv.xz', 'news/2008'), ('train.tsv', ''))
    """
    name = split_weight(name)[0]
    path, _, label = name.partition("#")
    return (name, "") if not label or Path(name).exists() else (path, label)


def split_weight(name: str) -> tuple[str, float]:
    """The file and the weight of `file@0.3`, 1 where there is none; a file may have such a name itself.

    >>> split_weight("train.tsv#news@0.3"), split_weight("me@home.tsv")
    (('train.tsv#news', 0.3), ('me@home.tsv', 1.0))
    """
    path, _, weight = name.rpartition("@")
    if not re.fullmatch(r"[\d.]+", weight) or Path(name).exists():
        return name, 1.0
    if not re.fullmatch(r"\d*\.?\d+", weight) or not float(weight):
        raise UsageError(f"a weight must be a number above 0, as in {path}@0.3: got {weight}; correct it")
    return path, float(weight)


def _tab_separated(path: str, wanted: str, swapped: bool, report: ReadingReport) -> Iterable[NumberedPair]:
    """wanted: a label, or one of its parts such as news/2008 of news; empty for the whole file."""
    number, num_before = 0, report.num_lines
    for number, line in enumerate(raw_lines(Path(path)), start=1):
        text, problem = decode(line)
        first, tab, rest = text.partition("\t")
        second, _, label = rest.partition("\t")
        if not problem and not tab:
            problem = NO_TAB
        # A line that cannot be read has no label; it is named where the whole file is read.
        if wanted and label != wanted and not label.startswith((f"{wanted}/", f"{wanted}-")):
            continue
        report.num_lines += 1
        if problem:
            report.refuse(f"{path}:{number}", problem)
        else:
            yield (number, second, first) if swapped else (number, first, second)
    if number == 0:
        raise _empty(path)
    if report.num_lines == num_before:
        raise DataError(f"{path} must hold lines whose third column is {wanted}: it has none; check the label after #")


def _empty(path: str | Path) -> DataError:
    return DataError(f"{path} must hold text: it is empty; give another file")


def _shift(block: Sequence[tuple[int, int, int]]) -> int:
    """By how many lines the target must move back to fit the source in this block; 0 if it fits, or nothing does.

    A long sentence has a long translation, so over a block of lines the lengths of the two sides correlate. Where they
    do not, but would if one side were moved by a line or a few, a line is missing.
    """
    import numpy as np

    _, source, target = np.log1p(np.array(block)).T
    inner = source[_MAX_SHIFT:-_MAX_SHIFT]

    def fit(shift: int) -> float:
        other = target[_MAX_SHIFT + shift : len(target) - _MAX_SHIFT + shift]
        return float(np.corrcoef(inner, other)[0, 1]) if inner.std() and other.std() else 1.0

    best = max(range(-_MAX_SHIFT, _MAX_SHIFT + 1), key=fit)
    return best if fit(0) <= _NOT_ALIGNED and fit(best) > _ALIGNED else 0

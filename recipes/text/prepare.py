"""Training files made from raw French and English ones, cleaned and sorted by domain.

    python recipes/text/prepare.py raw/train.tsv.xz europarl.tsv.gz --held-out newstest2013.fr --vary

Lines of French TAB English [TAB domain] go into data/prepared/fr-en/europarl.tsv.gz and so on; one pair of a thousand
goes into valid.fr and valid.en beside them. All files appear whole, or none does.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import multiprocessing
import os
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fr_en import DUPLICATE, CleanPair, PairCleaner, is_drawn, key_of

from regard.data.lines import decode, raw_lines
from regard.errors import DataError, RegardError

_PORTION = 5000
"""lines that a worker cleans at a time"""
_UNREADABLE = "not UTF-8 text"
_CAPITALS_SHARE = 100
"""one everyday pair of so many is written a second time, in capitals"""


@dataclass
class Prepared:
    """Lines of each file, and how many were left out for which reason."""

    num_read: int = 0
    kept: Counter[Path] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        lines = [
            f"{path}: {count:,} lines, {path.stat().st_size / 1e6:.1f} MB" for path, count in sorted(self.kept.items())
        ]
        lines.append(f"{self.num_read:,} lines read")
        lines += [f"left out: {reason} {count:,}" for reason, count in self.dropped.most_common()]
        return "\n".join(lines)


def prepare(
    files: Sequence[Path],
    folder: Path,
    *,
    held_out: Sequence[Path] = (),
    vary: bool = False,
    workers: int | None = None,
) -> Prepared:
    """Make the training files in a folder.

    held_out: files of sentences, one a line, that must not be trained on. vary: spell the French in many ways, for
    models that read it.
    """
    report = Prepared()
    keys = frozenset(
        key_of(text) for path in held_out for line in raw_lines(path) for text in decode(line)[0].split("\t") if text
    )
    with _Outputs(folder, report) as outputs:
        lines = _labelled_lines(files, report)
        _sort(_clean(lines, keys, vary, workers or os.cpu_count() or 1), outputs, report)
        if not report.kept:
            raise DataError(
                f"the files must hold something to train on: {report.num_read:,} lines were read and none "
                f"kept ({', '.join(report.dropped) or 'they are empty'}); check that they are French and English"
            )
    return report


class _Outputs:
    """Files of a folder that get their names when all are done."""

    def __init__(self, folder: Path, report: Prepared) -> None:
        self._folder, self._report = folder, report
        self._open: dict[Path, BinaryIO | gzip.GzipFile] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Outputs:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def write(self, name: str, line: str) -> None:
        path = self._folder / name
        if path not in self._open:
            raw = self._stack.enter_context(open(_unfinished(path), "wb"))
            # No name and no time inside: the same text gives the same bytes.
            packed = gzip.GzipFile("", "wb", 6, raw, 0) if name.endswith(".gz") else None
            self._open[path] = self._stack.enter_context(packed) if packed else raw
        self._open[path].write(line.encode() + b"\n")
        self._report.kept[path] += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        for path in self._open:
            if kind is None:
                os.replace(_unfinished(path), path)
            else:
                _unfinished(path).unlink()


def _unfinished(path: Path) -> Path:
    return path.with_name(path.name + ".unfinished")


def _labelled_lines(files: Sequence[Path], report: Prepared) -> Iterator[str]:
    """A file of two columns is of the domain that its name begins with."""
    for path in files:
        label = path.name.partition(".")[0]
        for line in raw_lines(path):
            text, problem = decode(line)
            report.num_read += 1
            if report.num_read % _PORTION == 0 and sys.stderr.isatty():
                print(f"\r{report.num_read:,} lines", end="", file=sys.stderr, flush=True)
            if problem:
                report.dropped[_UNREADABLE] += 1
            else:
                yield f"{text}\t{label}" if text.count("\t") == 1 else text


def _sort(judged: Iterable[CleanPair | str], outputs: _Outputs, report: Prepared) -> None:
    seen: set[int] = set()
    for found in judged:
        if isinstance(found, str):
            report.dropped[found] += 1
            continue
        if found.key in seen:
            report.dropped[DUPLICATE] += 1
            continue
        seen.add(found.key)
        if found.file == "valid":
            outputs.write("valid.fr", found.source)
            outputs.write("valid.en", found.target)
            continue
        pair = f"{found.source}\t{found.target}"
        outputs.write(f"{found.file}.tsv.gz", pair)
        if found.file == "everyday" and is_drawn(found.key, _CAPITALS_SHARE):
            outputs.write("everyday.tsv.gz", pair.upper())


def _clean(lines: Iterator[str], held_out: frozenset[int], vary: bool, workers: int) -> Iterator[CleanPair | str]:
    """Lines judged by several processes, in order; only some portions are in memory at a time."""
    if workers == 1:
        yield from map(PairCleaner(held_out, vary=vary), lines)
        return
    portions: Iterable[list[str]] = iter(lambda: list(itertools.islice(lines, _PORTION)), [])
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker, (held_out, vary)) as pool:
        waiting: deque[Future[list[CleanPair | str]]] = deque()
        for portion in portions:
            waiting.append(pool.submit(_clean_portion, portion))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


_worker_cleaner: PairCleaner


def _start_worker(held_out: frozenset[int], vary: bool) -> None:
    global _worker_cleaner
    _worker_cleaner = PairCleaner(held_out, vary=vary)


def _clean_portion(lines: list[str]) -> list[CleanPair | str]:
    return [_worker_cleaner(line) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, default=Path("data/prepared/fr-en"))
    parser.add_argument("--held-out", type=Path, action="append", default=[])
    parser.add_argument("--vary", action="store_true", help="spell the French in many ways")
    parser.add_argument("--workers", type=int, help="processes that clean; by default one a core")
    options = parser.parse_args()
    try:
        made = prepare(
            options.files, options.output, held_out=options.held_out, vary=options.vary, workers=options.workers
        )
    except RegardError as error:
        sys.exit(str(error))
    print(("\r" if sys.stderr.isatty() else "") + str(made), file=sys.stderr)


if __name__ == "__main__":
    main()

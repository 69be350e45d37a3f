"""Training files made from raw ones: `regard data prepare fr-en train.tsv.xz`. Each appears whole or not at all.

They lie below prepared/:

fr-en    lines of French TAB English [TAB domain]    fr-en/europarl.tsv.gz …, fr-en/written.tsv.gz, fr-en/valid.*
chat     dialogues, turns separated by tabs          chat/dialogues.tsv.gz, chat/small-talk.tsv.gz, chat/valid.*
stories  paragraphs, a line each, # before a title   stories/prose.txt.gz, tales, plots, retold, valid*.txt
search   lines of any of these                       search/pairs.tsv.gz
reading  paragraphs, or lines of any TAB English     reading/pairs.tsv.gz
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from regard.corpora import (
    dialogues,
    phrases,
    queries,
    reading,
    retold,
    small_talk,
    stories,
    tales,
    translations,
)
from regard.corpora.spelling import as_typed
from regard.corpora.translations import Cleaner, Kept
from regard.data.find import PREPARED
from regard.data.reading import decode, raw_lines
from regard.errors import DataError, UsageError, suggest

KINDS = ("fr-en", "chat", "stories", "search", "reading")

_PORTION = 5000
_UNREADABLE = "not UTF-8 text"
_VALID_SHARE = 100
"""one dialogue of so many is held out"""
_CAPITALS_SHARE = 100
"""one everyday pair of so many stands there a second time, in capitals"""


@dataclass
class Prepared:
    """What came of it: lines of each file, and how many were left out for which reason."""

    num_read: int = 0
    kept: Counter[Path] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        lines = [
            f"{path}: {count:,} lines, {path.stat().st_size / 1e6:.1f} MB"
            for path, count in sorted(self.kept.items())
        ]
        lines.append(f"{self.num_read:,} lines read")
        lines += [f"left out: {reason} {count:,}" for reason, count in self.dropped.most_common()]
        return "\n".join(lines)


def prepare(
    kind: str,
    files: Sequence[Path],
    folder: Path,
    *,
    held_out: Sequence[Path] = (),
    vary: bool = False,
    workers: int | None = None,
    say: Callable[[int], None] = lambda num_read: None,
) -> Prepared:
    """Make the training files of a kind below a folder, from these raw ones.

    held_out: files of sentences, one a line, that must not be trained on. vary: French typed in any way, for models
    that read it. `say` is told now and then how many lines have been read.
    """
    if kind not in KINDS:
        raise UsageError(
            f"what to prepare must be one of {', '.join(KINDS)}: got {kind!r}{suggest(kind, KINDS)}"
        )
    if kind != "fr-en" and (vary or held_out and kind != "search"):
        raise UsageError(
            f"--held-out and --vary are for fr-en, the first for search too: got one with {kind}; leave it out"
        )
    if not files and kind != "chat":
        raise UsageError(f"{kind} is made from files: got none; name them after {kind}")
    report = Prepared()
    with _Outputs(folder / PREPARED / kind, report) as outputs:
        if kind == "fr-en":
            lines = _text_lines(files, report, say, labelled=True)
            keys = _keys(held_out)
            _translations(lines, outputs, report, keys, vary, workers)
            if report.kept:
                _written(outputs, keys, vary)
        elif kind == "chat":
            _dialogues(_text_lines(files, report, say), outputs, report)
        elif kind == "search":
            _queries(_text_lines(files, report, say), outputs, report, _keys(held_out))
        elif kind == "reading":
            for pair in reading.pairs(_text_lines(files, report, say), report.dropped):
                outputs.write("pairs.tsv.gz", "\t".join(pair))
        else:
            _stories(_text_lines(files, report, say), outputs, report)
        if not report.kept:
            raise DataError(
                f"the files must hold something to train on: {report.num_read:,} lines were read and none "
                f"kept ({', '.join(report.dropped) or 'they are empty'}); check that they are of {kind}"
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


def _text_lines(
    files: Sequence[Path], report: Prepared, say: Callable[[int], None], *, labelled: bool = False
) -> Iterator[str]:
    """labelled: a file of two columns is of the domain that its name begins with."""
    for path in files:
        label = path.name.partition(".")[0]
        for line in raw_lines(path):
            text, problem = decode(line)
            report.num_read += 1
            if report.num_read % _PORTION == 0:
                say(report.num_read)
            if problem:
                report.dropped[_UNREADABLE] += 1
            else:
                yield f"{text}\t{label}" if labelled and text.count("\t") == 1 else text


def _translations(
    lines: Iterator[str],
    outputs: _Outputs,
    report: Prepared,
    held_out: frozenset[int],
    vary: bool,
    workers: int | None,
) -> None:
    seen: set[int] = set()
    for judged in _judged(lines, held_out, vary, workers or os.cpu_count() or 1):
        for found in judged:
            if isinstance(found, str):
                report.dropped[found] += 1
            elif found.key in seen:
                report.dropped[translations.DUPLICATE] += 1
            else:
                seen.add(found.key)
                if found.file == "valid":
                    outputs.write("valid.fr", found.source)
                    outputs.write("valid.en", found.target)
                else:
                    outputs.write(f"{found.file}.tsv.gz", f"{found.source}\t{found.target}")
                    if found.file == "everyday" and translations.is_drawn(
                        found.key, _CAPITALS_SHARE
                    ):
                        pair = phrases.in_capitals((found.source, found.target))
                        outputs.write("everyday.tsv.gz", "\t".join(pair))


def _written(outputs: _Outputs, held_out: frozenset[int], vary: bool) -> None:
    for french, english in phrases.written(held_out=held_out):
        outputs.write("written.tsv.gz", f"{as_typed(french) if vary else french}\t{english}")


def _keys(held_out: Sequence[Path]) -> frozenset[int]:
    """Of the sentences that are not to be trained on."""
    return frozenset(
        translations.key_of(text)
        for path in held_out
        for line in raw_lines(path)
        for text in decode(line)[0].split("\t")
        if text
    )


def _queries(
    lines: Iterator[str], outputs: _Outputs, report: Prepared, held_out: frozenset[int]
) -> None:
    def allowed() -> Iterator[str]:
        for line in lines:
            if any(translations.key_of(text) in held_out for text in line.split("\t")):
                report.dropped[translations.HELD_OUT] += 1
            else:
                yield line

    for query, passage in queries.pairs(allowed()):
        outputs.write("pairs.tsv.gz", f"{query}\t{passage}")


def _stories(lines: Iterator[str], outputs: _Outputs, report: Prepared) -> None:
    def write(name: str, documents: Iterable[list[str]]) -> None:
        for document in documents:
            for line in (*document, ""):
                outputs.write(name, line)

    write("prose.txt.gz", stories.prose(lines, report.dropped))
    if report.kept:
        short, valid = tales.split()
        write("tales.txt.gz", tales.told(short))
        write("valid.txt", tales.told(valid))
        plots, valid = tales.split(tales.PLOTS_FILE)
        write("plots.txt.gz", tales.told(plots, tales.PLOT_NUM_TOLD))
        write("valid-plots.txt", tales.told(valid))
        write("retold.txt.gz", retold.retold(plots, retold.PLOT_NUM_TOLD, others=short))
        write("retold.txt.gz", retold.retold(short, retold.NUM_TOLD, others=plots))


def _judged(
    lines: Iterator[str], held_out: frozenset[int], vary: bool, workers: int
) -> Iterator[list[Kept | str]]:
    """Portions of lines, judged by several processes, in order; only some are in memory at a time."""
    portions: Iterable[list[str]] = iter(lambda: list(itertools.islice(lines, _PORTION)), [])
    if workers == 1:
        cleaner = Cleaner(held_out, vary=vary)
        yield from ([cleaner(line) for line in portion] for portion in portions)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _begin, (held_out, vary)) as pool:
        waiting: deque[Future[list[Kept | str]]] = deque()
        for portion in portions:
            waiting.append(pool.submit(_judge, portion))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


_cleaners: list[Cleaner] = []
"""of a child process: its own"""


def _begin(held_out: frozenset[int], vary: bool) -> None:
    _cleaners[:] = [Cleaner(held_out, vary=vary)]


def _judge(lines: list[str]) -> list[Kept | str]:
    return [_cleaners[0](line) for line in lines]


def _dialogues(lines: Iterator[str], outputs: _Outputs, report: Prepared) -> None:
    cleaner = dialogues.DialogueCleaner()
    for line in lines:
        is_valid = translations.is_drawn(translations.key_of(line), _VALID_SHARE)
        for found in cleaner(line):
            if is_valid:
                outputs.write("valid.context", found.context)
                outputs.write("valid.reply", found.reply)
            else:
                outputs.write("dialogues.tsv.gz", f"{found.context}\t{found.reply}")
    report.dropped += cleaner.dropped
    for found in small_talk.small_talk():
        outputs.write("small-talk.tsv.gz", f"{found.context}\t{found.reply}")

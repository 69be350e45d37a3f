"""What goes in and out of the verbs that work line by line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from regard.data.lines import Line, arriving, open_lines
from regard.data.lines import on_one_line as on_one_line
from regard.errors import DataError, UsageError

if TYPE_CHECKING:
    from regard.api import Model, Translation

_STDIN = Path("-")
_PROGRESS_LINES = 256

# What a terminal would obey instead of show; a translated text has no business with it.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Writer:
    """Bytes to stdout as soon as they are there, or to a file that appears when it is whole."""

    def __init__(self, path: Path | None, *, force: bool = True) -> None:
        self._path, self._force = path, force

    def __enter__(self) -> Writer:
        if self._path is None:
            if sys.stdout is None:
                raise UsageError("standard output must be open: it is closed; name a file with -o")
            self._file: IO[bytes] = sys.stdout.buffer
            self._for_eyes = sys.stdout.isatty()
            return self
        self._for_eyes = False
        check_output(self._path, self._force)
        try:
            self._file = open(self._unfinished, "wb")
        except OSError as error:
            raise UsageError(
                f"--output must be a file that can be written: {self._path}: {error.strerror}"
            ) from error
        return self

    def write(self, text: str) -> None:
        if self._for_eyes:
            text = without_controls(text)
        self._file.write(text.encode())
        self._file.flush()

    def write_bytes(self, data: bytes) -> None:
        if self._for_eyes:
            self.write(data.decode(errors="replace").replace("\r\n", "\n"))
        else:
            self._file.write(data)
            self._file.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._path is None:
            return
        self._file.close()
        if kind is None:
            os.replace(self._unfinished, self._path)
        else:
            os.unlink(self._unfinished)

    @property
    def _unfinished(self) -> str:
        return f"{self._path}.unfinished"


def without_controls(text: str) -> str:
    """For a terminal: what it would obey is shown instead."""
    return _CONTROLS.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def check_output(path: Path, force: bool) -> None:
    """Refuse what cannot be written, and what would be lost."""
    if path.is_dir():
        raise UsageError(f"--output must be a file: {path} is a folder; name a file in it")
    if path.exists() and not force:
        raise UsageError(
            f"--output must be a new file: {path} is there already; name another, or add --force"
        )


def arriving_lines(paths: Iterable[Path]) -> Iterator[list[Line]]:
    """The lines of files, one after another; `-` is stdin."""
    for path in paths:
        if path == _STDIN:
            if sys.stdin is None:
                raise UsageError("standard input must be open: it is closed; give texts or files")
            if sys.stdin.isatty():
                print("reading lines as you type them; Ctrl-D ends.", file=sys.stderr, flush=True)
            yield from arriving(sys.stdin.buffer, "standard input")
        else:
            with open_lines(path) as file:
                yield from arriving(file, str(path))


def as_text(answer: Translation, count: int) -> list[str]:
    """The n best texts, always as many as asked for."""
    texts = answer.alternatives[:count]
    return texts + texts[-1:] * (count - len(texts))


def as_json(answer: Translation) -> list[str]:
    return [json.dumps(answer.to_dict(), ensure_ascii=False)]


Pair = tuple[str, str]


def pairs(
    pair: list[str] | None, source: Path | None, target: Path | None
) -> Iterator[list[Pair | None]]:
    """Sources and their targets: two arguments, two files, or stdin with a tab between.

    None stands for an empty line of stdin.
    """
    if pair:
        yield [(pair[0], pair[1])]
    elif source is not None and target is not None:
        from regard.data.corpus import read_pairs

        corpus = read_pairs([source], [target], strict=True, sides=("--source", "--target"))
        for start in range(0, len(corpus), _PROGRESS_LINES):
            part = slice(start, start + _PROGRESS_LINES)
            yield list(zip(corpus.sources[part], corpus.targets[part], strict=True))
    elif source is not None or target is not None:
        raise UsageError("--source and --target belong together: got one; name both files")
    else:
        number = 0
        for lines in arriving_lines([_STDIN]):
            known: list[Pair | None] = []
            for line in lines:
                number += 1
                left, tab, rest = line.text.partition("\t")
                if line.text and not tab:
                    yield known
                    raise DataError(
                        f"standard input:{number}: a line must be source TAB target: got no tab; "
                        "or name the two files with --source and --target"
                    )
                known.append((left, rest.partition("\t")[0]) if tab else None)
            yield known


def scored(model: Model, pairs: Sequence[Pair | None], with_details: bool) -> Iterator[str]:
    """A line for each pair: the log-probability of its target, with its pieces' own if asked for."""
    known = [pair for pair in pairs if pair is not None]
    answers = iter(model.score([source for source, _ in known], [target for _, target in known]))
    tokenizer = model.translator.target
    for pair in pairs:
        source, target = pair or ("", "")
        values = next(answers) if pair else []
        if not with_details:
            yield f"{sum(values):.4f}" if pair else ""
            continue
        answer = {
            "source": source,
            "target": target,
            "log_probability": sum(values) if pair else None,
            "tokens": tokenizer.token_strings(tokenizer.encode(target)),
            "token_log_probabilities": values,
        }
        yield json.dumps(answer, ensure_ascii=False)


def with_progress(lines: Sequence[str], what: str) -> Iterator[Sequence[str]]:
    """The lines in portions, with a bar on stderr when someone is watching."""
    portions = [
        lines[start : start + _PROGRESS_LINES] for start in range(0, len(lines), _PROGRESS_LINES)
    ]
    if not sys.stderr.isatty():
        yield from portions
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(portions, what, console=Console(stderr=True), transient=True)

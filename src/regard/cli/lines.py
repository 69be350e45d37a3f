"""Input, output and progress bars of the verbs."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self, TypeVar

import typer

from regard.data.lines import Line, arriving, open_bytes
from regard.errors import UsageError

T = TypeVar("T")
STDIN = Path("-")
_PORTION = 256  # maximum lines between two updates of the bar
_NUM_UPDATES = 40  # updates of the bar for fewer lines, of at least a batch each
_MIN_PORTION = 32

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""characters that a terminal would obey instead of showing"""


class Writer:
    """Writes to stdout at once, or to a file that appears when it is complete."""

    def __init__(self, path: Path | None, *, force: bool = True) -> None:
        self._path, self._force = path, force

    def __enter__(self) -> Self:
        if self._path is None:
            if sys.stdout is None:
                raise UsageError("standard output must be open: it is closed; name a file with -o")
            self._file: IO[bytes] = sys.stdout.buffer
            return self
        check_output(self._path, self._force)
        try:
            self._file = open(f"{self._path}.unfinished", "wb")
        except OSError as error:
            raise UsageError(f"--output must be a file that can be written: {self._path}: {error.strerror}") from error
        return self

    def write(self, text: str) -> None:
        self.write_bytes(text.encode())

    def write_json(self, answer: object) -> None:
        self.write(json.dumps(answer, ensure_ascii=False) + "\n")

    def write_bytes(self, data: bytes) -> None:
        if self._path is None and sys.stdout.isatty():
            data = without_controls(data.decode(errors="replace").replace("\r\n", "\n")).encode()
        self._file.write(data)
        self._file.flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._path is None:
            return
        self._file.close()
        if kind is None:
            os.replace(self._file.name, self._path)
        else:
            os.unlink(self._file.name)


def without_controls(text: str) -> str:
    r"""
    >>> without_controls("a\x1b[2J")
    'a\\x1b[2J'
    """
    return _CONTROLS.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def check_output(path: Path, force: bool) -> None:
    if path.is_dir():
        raise UsageError(f"--output must be a file: {path} is a folder; name a file in it")
    if path.exists() and not force:
        raise UsageError(f"--output must be a new file: {path} is there already; name another, or add --force")


def arriving_lines(path: Path, encoding: str | None = None) -> Iterator[list[Line]]:
    """The lines of a file, or of stdin for `-`, in blocks as they arrive."""
    if path != STDIN:
        with open_bytes(path) as file:
            yield from arriving(file, str(path), encoding)
        return
    if sys.stdin is None:
        raise UsageError("standard input must be open: it is closed; give texts or files")
    if sys.stdin.isatty():
        print("reading lines as you type them; Ctrl-D ends.", file=sys.stderr, flush=True)
    yield from arriving(sys.stdin.buffer, "standard input", encoding)


class Bars:
    """A bar for each file or task while it runs, and a line for each message."""

    def __init__(self, *, count_bytes: bool = False) -> None:
        self._count_bytes = count_bytes
        self._progress: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import DownloadColumn, Progress

            columns = Progress.get_default_columns()
            if self._count_bytes:
                columns = (*columns[:2], DownloadColumn(), columns[-1])
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(text, highlight=False)
        else:
            typer.echo(text, err=True)

    def start(self, name: str) -> Callable[[int, int | None], None]:
        """A function to call with the number done and the total."""
        if self._progress is None:
            return lambda done, total: None
        task = self._progress.add_task(name, total=None)
        return lambda done, total: self._progress.update(task, completed=done, total=total)


def portions(lines: Sequence[T], name: str) -> Iterator[Sequence[T]]:
    size = min(_PORTION, max(_MIN_PORTION, len(lines) // _NUM_UPDATES))
    with Bars() as bars:
        update = bars.start(name)
        for start in range(0, len(lines), size):
            update(start, len(lines))
            yield lines[start : start + size]

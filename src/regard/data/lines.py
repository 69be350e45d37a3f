"""Lines as they arrive: those that are there, without waiting for more.

A program that writes one line and waits gets its answer at once; a file comes in blocks of many lines,
which are faster together. A line ends at the byte `\\n` and nowhere else.
"""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from regard.errors import DataError

_BLOCK_BYTES = 1 << 16

_MOST_BYTES = 1 << 26
"""in one line: far above any text, and below what a packed file of nothing can swell to"""

_UTF8_MARK = b"\xef\xbb\xbf"
_LINE_ENDS = re.compile("\r\n|[\r\n]")


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    end: str
    """how it ended, so that an answer can end likewise"""


def open_lines(path: Path) -> IO[bytes]:
    """A file to read lines from; .gz and .xz are unpacked on the way."""
    opener: Any = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    try:
        file: IO[bytes] = opener(path, "rb")
    except OSError as error:
        raise DataError(
            f"{path} must be a readable file: {error.strerror}; check its name"
        ) from error
    return file


def arriving(file: IO[bytes], name: str) -> Iterator[list[Line]]:
    """The lines of a file in blocks; an undecodable one is an error after all lines before it."""
    number = 0
    for block in _blocks(file, name):
        lines: list[Line] = []
        for line in block:
            number += 1
            ended = b"\r\n" if line.endswith(b"\r") else b"\n"
            line = line.removesuffix(b"\r")
            if number == 1:
                line = line.removeprefix(_UTF8_MARK)
            try:
                lines.append(Line(line.decode(), ended.decode()))
            except UnicodeDecodeError as error:
                if lines:
                    yield lines
                raise DataError(
                    f"{name}:{number}: a line must be UTF-8 text: {error.reason} at byte "
                    f"{error.start + 1}; mend it or convert the file with iconv"
                ) from error
        yield lines


def on_one_line(text: str) -> str:
    """A model can write a line end; in a file of lines it would be one line too many."""
    return _LINE_ENDS.sub(" ", text)


def _blocks(file: IO[bytes], name: str) -> Iterator[list[bytes]]:
    """Whole lines without their `\\n`; the last one need not have had any."""
    unfinished: list[bytes] = []
    waiting = 0
    # One read of what is there; `read` would wait for a full block.
    read: Any = getattr(file, "read1", file.read)
    try:
        while block := read(_BLOCK_BYTES):
            head, newline, tail = block.rpartition(b"\n")
            if newline:
                yield b"".join([*unfinished, head]).split(b"\n")
                unfinished, waiting = [tail] if tail else [], len(tail)
            else:
                unfinished.append(block)
                waiting += len(block)
            if waiting > _MOST_BYTES:
                raise DataError(
                    f"{name}: a line must have at most {_MOST_BYTES >> 20} MiB: got a longer one; it is no "
                    "text, or has no line ends"
                )
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{name} must be a readable file: {error}; check it") from error
    if unfinished:
        yield [b"".join(unfinished)]

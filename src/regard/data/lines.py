"""Lines of text files, plain, .gz or .xz: read whole, or as they arrive.

A line ends at the byte `\\n` and nowhere else.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

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


MAX_LINE_BYTES = 1 << 16
"""A longer line is dropped while it is read, so that it never lies in memory as a whole."""

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


def raw_lines(path: Path) -> Iterator[bytes | None]:
    """The lines of a file without their ends; None for one that is too long."""
    try:
        with open_bytes(path) as file:
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


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, plain, .gz or .xz."""
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


def decode(line: bytes | None) -> tuple[str, str]:
    """The text of a line, and what is wrong with it (nothing: an empty string)."""
    if line is None:
        return "", TOO_LONG
    if b"\0" in line:
        return "", HOLDS_NUL
    try:
        return line.decode(), ""
    except UnicodeDecodeError:
        return "", NOT_UTF8


def read_lines(path: str | Path, *, strict: bool = True) -> list[str]:
    """The lines of one text; strict=False puts an empty line in place of an unusable one."""
    lines = []
    for number, line in enumerate(raw_lines(Path(path)), start=1):
        text, problem = decode(line)
        if problem and strict:
            raise DataError(f"{path}:{number}: a line must be UTF-8 text: {problem}; mend the file")
        lines.append(text)
    return lines

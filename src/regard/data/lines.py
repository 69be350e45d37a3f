"""Lines of text files, plain, .gz or .xz: one after another, or in blocks as they arrive.

A line ends at the byte `\\n` and nowhere else: U+2028, form feeds and lone carriage returns stay inside it.
"""

import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from regard.errors import DataError, RegardError, UsageError

MAX_LINE_BYTES = 1 << 16  # maximum bytes of a line of a corpus; a longer one is dropped while it is read
_MAX_ARRIVING_BYTES = 1 << 26
"""maximum bytes of a line that arrives: far above any text, far below what a small .gz can unpack to"""
_BLOCK_BYTES = 1 << 16
_BUFFER_BYTES = 1 << 20

_UTF8_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error)  # errors of a file that cannot be read or unpacked
_LINE_ENDS = re.compile("\r\n|[\r\n]")


def unreadable(name: object, error: Exception) -> RegardError:
    """A file that is not there is a mistake in the command, one that breaks off a mistake in the file."""
    reason = getattr(error, "strerror", None) or str(error) or "it is cut short"
    kind = UsageError if isinstance(error, FileNotFoundError | IsADirectoryError) else DataError
    return kind(f"{name} must be a readable file: {reason}; check its name")


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file; .gz and .xz are unpacked on the way."""
    try:
        if path.suffix in (".gz", ".xz"):
            packed = gzip.open(path, "rb") if path.suffix == ".gz" else lzma.open(path, "rb")
            return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, packed), _BUFFER_BYTES))
        return open(path, "rb", buffering=_BUFFER_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error


def raw_lines(path: Path) -> Iterator[bytes | None]:
    """The lines of a file without their ends; None for one that is too long."""
    try:
        with open_bytes(path) as file:
            first = True
            while line := file.readline(MAX_LINE_BYTES):
                if first:
                    first = False
                    encodings = [name for mark, name in _OTHER_MARKS.items() if line.startswith(mark)]
                    if encodings:
                        advice = f"run  iconv -f {encodings[0]} -t UTF-8 {path.name}"
                        raise DataError(f"{path}:1: text must be UTF-8: got {encodings[0]}; {advice}")
                    line = line.removeprefix(_UTF8_MARK)
                if line.endswith(b"\n"):
                    yield line[:-2] if line.endswith(b"\r\n") else line[:-1]
                elif len(line) < MAX_LINE_BYTES - len(_UTF8_MARK):
                    yield line
                else:
                    while (line := file.readline(MAX_LINE_BYTES)) and not line.endswith(b"\n"):
                        pass
                    yield None
    except DAMAGED as error:
        raise unreadable(path, error) from error


def decode(line: bytes | None) -> tuple[str, str]:
    """The text of a line, and what is wrong with it: an empty string if nothing is."""
    if line is None:
        return "", f"longer than {MAX_LINE_BYTES} bytes"
    if b"\0" in line:
        return "", "holds a NUL byte"
    try:
        return line.decode(), ""
    except UnicodeDecodeError:
        return "", "not UTF-8"


def read_lines(path: str | Path) -> list[str]:
    lines = []
    for number, line in enumerate(raw_lines(Path(path)), start=1):
        text, problem = decode(line)
        if problem:
            raise DataError(f"{path}:{number}: a line must be UTF-8 text: {problem}; mend the file")
        lines.append(text)
    return lines


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    end: str  # line end, which the answer gets too


def _recoded(chunks: Iterator[bytes], name: str, encoding: str) -> Iterator[bytes]:
    """Chunks in another encoding as UTF-8, each as soon as it has arrived."""
    try:
        codecs.getincrementaldecoder(encoding)
        io.TextIOWrapper(io.BytesIO(), encoding)  # refuses codecs of other things than text
    except (LookupError, ValueError) as error:
        wanted = f"an encoding must be one that Python knows: got {encoding!r}"
        raise UsageError(f"{wanted}; name it, such as cp1252") from error
    try:
        yield from (text.encode() for text in codecs.iterdecode(chunks, encoding))
    except UnicodeDecodeError as error:
        raise DataError(f"{name} must be {encoding} text: {error.reason}; name its encoding") from error


def arriving(file: IO[bytes], name: str, encoding: str | None = None) -> Iterator[list[Line]]:
    """The lines of a file in blocks, without waiting for more than have arrived.

    A program that writes one line and waits gets its answer at once; a file comes in blocks of many lines. An
    undecodable line is an error after all lines before it.
    """
    number = 0
    for block in _blocks(file, name, encoding):
        lines: list[Line] = []
        for line in block:
            number += 1
            end = "\r\n" if line.endswith(b"\r") else "\n"
            line = line.removesuffix(b"\r")
            if number == 1:
                line = line.removeprefix(_UTF8_MARK)
            try:
                lines.append(Line(line.decode(), end))
            except UnicodeDecodeError as error:
                if lines:
                    yield lines
                advice = "mend it, or name the file's encoding, such as --encoding cp1252"
                raise DataError(f"{name}:{number}: a line must be UTF-8 text: {error.reason}; {advice}") from error
        yield lines


def _blocks(file: IO[bytes], name: str, encoding: str | None) -> Iterator[list[bytes]]:
    """Whole lines without their `\\n`; the last one need not have had any."""
    unfinished: list[bytes] = []
    num_waiting = 0
    # read1 returns what has arrived; read would wait for a full block.
    read = getattr(file, "read1", file.read)
    arrived = iter(lambda: read(_BLOCK_BYTES), b"")
    try:
        for block in _recoded(arrived, name, encoding) if encoding else arrived:
            head, newline, tail = block.rpartition(b"\n")
            if newline:
                yield b"".join([*unfinished, head]).split(b"\n")
                unfinished, num_waiting = [], 0
            if tail:
                unfinished.append(tail)
                num_waiting += len(tail)
            if num_waiting > _MAX_ARRIVING_BYTES:
                raise DataError(
                    f"{name}: a line must have at most {_MAX_ARRIVING_BYTES >> 20} MiB: got a longer one; is it text?"
                )
    except DAMAGED as error:
        raise unreadable(name, error) from error
    if unfinished:
        yield [b"".join(unfinished)]


def on_one_line(text: str) -> str:
    """The text with spaces for its line ends: in a file of lines each would be one line too many."""
    return _LINE_ENDS.sub(" ", text)

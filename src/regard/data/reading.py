"""The lines of a text file as bytes, plain, .gz or .xz, and their text where they are UTF-8."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from regard.errors import DataError

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

"""The lines inside what was fetched: a text, a packed text, a member of an archive, a column of a table.

Of an archive only the members that are asked for are read, as streams, and only regular files: nothing is written
under a name that an archive chooses.
"""

from __future__ import annotations

import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from regard.data.listing import Source
from regard.errors import DataError

MOST_BYTES = 1 << 24
"""of a line; an archive of a few bytes can hold endless ones"""
_SEGMENT = re.compile(rb"<seg[^<>]*>((?:[^<]|<(?!/?seg))*+)</seg>")
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def lines_of(fetched: Path, source: Source) -> Iterator[bytes]:
    """Without their ends."""
    try:
        with _opened(fetched, source) as file:
            while line := file.readline(MOST_BYTES):
                if len(line) >= MOST_BYTES:  # of a member of a zip there may come more
                    raise DataError(
                        f"{source.url} must hold lines of text: one has {MOST_BYTES:,} bytes or more; "
                        f"remove {fetched}, and tell its publisher"
                    )
                line = line.rstrip(b"\r\n")
                if source.member.endswith(".sgm"):
                    if found := _SEGMENT.search(line):
                        yield found[1].strip()
                elif source.column is None:
                    yield line
                else:
                    yield _column(line, source.column)
    except _BROKEN as error:
        raise DataError(
            f"{source.url} must be an intact file: {error}; remove {fetched} and run the same again"
        ) from error


def _column(line: bytes, column: int) -> bytes:
    columns = line.split(b"\t")
    return columns[column] if column < len(columns) else b""


@contextmanager
def _opened(fetched: Path, source: Source) -> Iterator[IO[bytes]]:
    if not source.member:
        packed = source.url.endswith(".gz")
        with gzip.open(fetched) if packed else fetched.open("rb") as text:
            yield cast(IO[bytes], text)
    elif source.url.endswith(".zip"):
        with zipfile.ZipFile(fetched) as archive:
            if source.member not in archive.namelist():
                raise _missing(source)
            with archive.open(source.member) as file:
                yield file
    else:
        with tarfile.open(fetched) as tar:
            try:
                member = tar.getmember(source.member)
            except KeyError:
                raise _missing(source) from None
            member_file = tar.extractfile(member) if member.isfile() else None
            if member_file is None:
                raise _missing(source)
            with member_file:
                yield member_file


def _missing(source: Source) -> DataError:
    return DataError(
        f"{source.url} must hold the file {source.member}: it has none; "
        "its publisher may have changed it: get it by hand, and name its folder with --data"
    )

"""Lines come out as they went in, and as soon as they are there."""

import gzip
import io
import os
from pathlib import Path

import pytest

from regard.data.lines import Line, arriving, open_bytes
from regard.errors import DataError


def test_lines_come_before_the_next_and_before_bad_bytes() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb", buffering=0) as sink:
        lines = arriving(source, "test")
        for number in range(3):
            sink.write(f"{number}\n".encode())
            assert next(lines) == [Line(str(number), "\n")]
    lines = arriving(io.BytesIO(b"\xef\xbb\xbfa\nb\n\xff\xfe\nc\n"), "my.txt")
    assert [line.text for line in next(lines)] == ["a", "b"]
    with pytest.raises(DataError, match=r"my\.txt:3: a line must be UTF-8 text"):
        next(lines)


def test_a_packed_file_of_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(80):
            file.write(bytes(1 << 20))
    with open_bytes(path) as file, pytest.raises(DataError, match="at most 64 MiB: got a longer"):
        list(arriving(file, str(path)))

"""Pretrained word vectors: word2vec (text and binary), GloVe, fastText (.vec).

    word2vec, fastText .vec   a line "words width", then a line "word number number ..." for each word
    GloVe                     the same without the first line; words may hold spaces
    word2vec binary           the same first line, then for each word its bytes, a space, and 4 bytes a number

The first bytes of a file tell its format; all may be .gz or .xz. Only the vectors of wanted words are kept, so memory does
not depend on the size of the file. A fastText model (.bin) is refused: its makers publish the words' vectors as .vec too.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from regard.data.lines import DAMAGED, open_bytes, unreadable
from regard.errors import DataError, UsageError

MAX_LINE_BYTES = 1 << 20
MAX_WORD_BYTES = 1 << 12
MAGIC = b"\xba\x16\x4f\x2f"  # first bytes of a fastText model

Vectors = dict[str, np.ndarray]
Rows = Iterator[tuple[str, np.ndarray]]


def read_vectors(path: str | Path, wanted: Collection[str], width: int) -> Vectors:
    """The vectors, of `width` numbers each, of the wanted words in the file."""
    path, vectors = Path(path), Vectors()
    try:
        with open_bytes(path) as file:
            if file.read(4) == MAGIC:
                raise DataError(f"{path} must be word vectors: got a fastText model; use the .vec file beside it")
            file.seek(0)
            for word, vector in _read_plain(path, file, set(wanted), width):
                # The first counts of a word that comes twice.
                vectors.setdefault(word, vector)
    except DAMAGED as error:
        raise unreadable(path, error) from error
    for word, vector in vectors.items():
        if not np.isfinite(vector).all():
            raise DataError(f"{path}: vectors must be finite numbers: that of {word!r} is not; mend the file")
    return vectors


def _check_width(path: Path, found: int, width: int) -> None:
    if found != width:
        raise UsageError(
            f"word vectors must be as wide as d_model={width}: those of {path.name} have {found} "
            f"numbers; set d_model={found}, or use others"
        )


def _read_plain(path: Path, file: BinaryIO, wanted: set[str], width: int) -> Rows:
    """word2vec and GloVe."""
    first = file.readline(MAX_LINE_BYTES)
    counts = first.split()
    if len(counts) == 2 and all(each.isdigit() for each in counts):
        _check_width(path, int(counts[1]), width)
        begins = file.tell()
        is_text = _num_numbers(file.readline(MAX_LINE_BYTES)) >= width
        file.seek(begins)
        if is_text:
            return _read_text(path, file, wanted, width, 2)
        return _read_binary(path, file, wanted, width, int(counts[0]))
    found = _num_numbers(first)
    if not found:
        raise DataError(
            f"{path}: word vectors must begin with the number of words and their width, or with a word "
            f"and its numbers: got {first[:40]!r}; give a word2vec, GloVe or fastText file"
        )
    _check_width(path, found, width)
    file.seek(0)
    return _read_text(path, file, wanted, width, 1)


def _num_numbers(line: bytes) -> int:
    """How many numbers a line ends with; its first field is the word, even if it is a number."""
    fields = line.split()[1:]
    for count, field in enumerate(reversed(fields)):
        try:
            float(field)
        except ValueError:
            return count
    return len(fields)


def _read_text(path: Path, file: BinaryIO, wanted: set[str], width: int, number: int) -> Rows:
    """A word and its numbers a line; `number` is that of the first line."""
    while line := file.readline(MAX_LINE_BYTES):
        fields = line.rstrip().rsplit(None, width)
        if fields and (len(fields) != width + 1 or len(line) == MAX_LINE_BYTES):
            raise DataError(
                f"{path}:{number}: a line must be a word and {width} numbers: got {line[:40]!r}; mend the file"
            )
        word = fields[0].decode("utf-8", "replace") if fields else ""
        if word in wanted:
            try:
                yield word, np.array([float(each) for each in fields[1:]], dtype=np.float32)
            except ValueError as error:
                raise DataError(f"{path}:{number}: {error}; mend the file") from error
        number += 1


def _read_binary(path: Path, file: BinaryIO, wanted: set[str], width: int, count: int) -> Rows:
    """A word, a space, and its numbers as bytes; some writers add a line end."""
    for number in range(1, count + 1):
        name = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte:
                raise EOFError
            if name or byte != b"\n":
                name += byte
            if len(name) > MAX_WORD_BYTES:
                raise DataError(f"{path}: a word must have at most {MAX_WORD_BYTES} bytes: number {number:,} has more")
        numbers = file.read(4 * width)
        if len(numbers) < 4 * width:
            raise EOFError
        word = name.decode("utf-8", "replace")
        if word in wanted:
            yield word, np.frombuffer(numbers, "<f4")

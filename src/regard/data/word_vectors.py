"""Pretrained word vectors as text: word2vec, GloVe, fastText (.vec).

    word2vec, fastText .vec   a line "words width", then a line "word number number ..." for each word
    GloVe                     the same without the first line; words may hold spaces

The first line of a file tells its format; all may be .gz or .xz. Only the vectors of wanted words are kept, so memory does
not depend on the size of the file.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from regard.data.lines import DAMAGED, open_bytes, unreadable
from regard.errors import DataError, UsageError

MAX_LINE_BYTES = 1 << 20

Rows = Iterator[tuple[str, np.ndarray]]


def read_vectors(path: str | Path, wanted: Collection[str], width: int) -> dict[str, np.ndarray]:
    """The vectors, of `width` numbers each, of the wanted words in the file."""
    path, vectors = Path(path), dict[str, np.ndarray]()
    try:
        with open_bytes(path) as file:
            for word, vector in _read_plain(path, file, set(wanted), width):
                # The first counts of a word that comes twice.
                vectors.setdefault(word, vector)
    except DAMAGED as error:
        raise unreadable(path, error) from error
    for word, vector in vectors.items():
        if not np.isfinite(vector).all():
            raise DataError(f"{path}: vectors must be finite numbers: that of {word!r} is not; mend the file")
    return vectors


def _read_plain(path: Path, file: BinaryIO, wanted: set[str], width: int) -> Rows:
    """The rows of a file that begins with their number and width, or with the first of them."""
    first = file.readline(MAX_LINE_BYTES).split()
    has_counts = len(first) == 2 and all(each.isdigit() for each in first)
    found = int(first[1]) if has_counts else max(len(first) - 1, 0)
    if found != width:
        raise UsageError(
            f"word vectors must be as wide as d_model={width}: those of {path.name} have {found} "
            f"numbers; set d_model={found}, or use others"
        )
    if not has_counts:
        file.seek(0)
    return _read_text(path, file, wanted, width, 1 + has_counts)


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

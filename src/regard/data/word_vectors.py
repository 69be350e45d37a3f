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


def read_vectors(path: str | Path, wanted: Collection[str], width: int) -> dict[str, np.ndarray]:
    """The vectors, of `width` numbers each, of the wanted words in the file; the first counts of a word that comes twice."""
    path, vectors = Path(path), dict[str, np.ndarray]()
    try:
        with open_bytes(path) as file:
            for where, word, numbers in _rows(path, file, width):
                if word in wanted and word not in vectors:
                    vectors[word] = _vector(where, numbers)
    except DAMAGED as error:
        raise unreadable(path, error) from error
    return vectors


def _vector(where: str, numbers: list[bytes]) -> np.ndarray:
    try:
        vector = np.array(numbers, np.float32)
    except ValueError as error:
        raise DataError(f"{where}: {error}; mend the file") from error
    if not np.isfinite(vector).all():
        raise DataError(f"{where}: vectors must be finite numbers: this one is not; mend the file")
    return vector


def _rows(path: Path, file: BinaryIO, width: int) -> Iterator[tuple[str, str, list[bytes]]]:
    """The place of each line, its word and its numbers."""
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
    lines = iter(lambda: file.readline(MAX_LINE_BYTES), b"")
    for number, line in enumerate(lines, start=1 + has_counts):
        fields = line.rstrip().rsplit(None, width)
        if fields and (len(fields) != width + 1 or len(line) == MAX_LINE_BYTES):
            raise DataError(
                f"{path}:{number}: a line must be a word and {width} numbers: got {line[:40]!r}; mend the file"
            )
        if fields:
            yield f"{path}:{number}", fields[0].decode("utf-8", "replace"), fields[1:]

"""A fastText model file, as much of it as word vectors need (Bojanowski et al. 2017).

    vector(word) = mean of its own row and the rows of its character n-grams, "<" and ">" around the word

The layout is that of fastText's own source, format 12: settings, dictionary, input matrix. An n-gram's row is found
by its hash (FNV-1a over signed bytes), after the words' rows. The matrix stays on disk; only rows in use are read.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import numpy as np

from regard.errors import DataError

MAGIC = 793712314
VERSION = 12
_SETTINGS = struct.Struct("<12id")
_COUNTS = struct.Struct("<3i2q")
_ENTRY = struct.Struct("<qb")
_SHAPE = struct.Struct("<?2q")


def read_fasttext(
    path: Path, wanted: Collection[str], check_width: Callable[[int], None]
) -> Iterator[tuple[str, np.ndarray]]:
    """The vectors of those wanted words that its dictionary has."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic, version = struct.unpack_from("<2i", data, 0)
        if version != VERSION:
            raise DataError(
                f"{path} must be a fastText model of format {VERSION}: got format {version}; "
                "use its .vec file"
            )
        settings = _SETTINGS.unpack_from(data, 8)
        width, num_buckets, shortest, longest = settings[0], settings[8], settings[9], settings[10]
        check_width(width)
        at = 8 + _SETTINGS.size
        num_entries, num_words, _, _, num_pruned = _COUNTS.unpack_from(data, at)
        ids, at = _dictionary(path, data, at + _COUNTS.size, num_entries, set(wanted))
        ids = {word: row for word, row in ids.items() if row < num_words}
        is_quantized, num_rows, num_columns = _SHAPE.unpack_from(data, at)
        if is_quantized or num_pruned > 0:
            raise DataError(
                f"{path} must be a fastText model in full: it is quantized; use the .bin or .vec it was made from"
            )
        begins = at + _SHAPE.size
        fits = num_rows == num_words + num_buckets and num_columns == width and num_rows > 0
        if not fits or begins + 4 * num_rows * num_columns > len(data):
            raise DataError(
                f"{path} must hold {num_words:,} words and {num_buckets:,} n-grams of {width} numbers: its "
                "matrix is another, or cut short; get the whole file"
            )
        matrix = np.memmap(path, "<f4", "r", begins, (num_rows, num_columns))
        for word, row in ids.items():
            rows = [row]
            if num_buckets > 0:
                grams = ngrams(word, shortest, longest)
                rows += [num_words + hashed(gram) % num_buckets for gram in grams]
            yield word, np.asarray(matrix[rows].mean(axis=0, dtype=np.float64), dtype=np.float32)


def _dictionary(
    path: Path, data: mmap.mmap, at: int, num_entries: int, wanted: set[str]
) -> tuple[dict[str, int], int]:
    """The rows of the wanted words, and where the dictionary ends."""
    ids: dict[str, int] = {}
    for i in range(num_entries):
        end = data.find(b"\0", at)
        if end < 0:
            raise DataError(
                f"{path} must hold {num_entries:,} words: it ends within word {i + 1:,}; get the whole file"
            )
        _, is_label = _ENTRY.unpack_from(data, end + 1)
        word = data[at:end].decode("utf-8", "replace")
        if word in wanted and not is_label:
            ids.setdefault(word, i)
        at = end + 1 + _ENTRY.size
    return ids, at


def ngrams(word: str, shortest: int, longest: int) -> list[bytes]:
    """The character n-grams of a word between its marks, in the order of fastText.

    >>> ngrams("ab", 2, 3)
    [b'<a', b'<ab', b'ab', b'ab>', b'b>']
    """
    if word == "</s>":  # the end of a line, no word
        return []
    marked = f"<{word}>"
    found = []
    for start in range(len(marked)):
        for size in range(max(1, shortest), longest + 1):
            gram = marked[start : start + size]
            if len(gram) < size:
                break
            # A mark alone says nothing.
            if size > 1 or 0 < start < len(marked) - 1:
                found.append(gram.encode())
    return found


def hashed(gram: bytes) -> int:
    """FNV-1a of 32 bits, where a byte above 127 counts as a negative number.

    >>> hashed(b"a")
    3826002220
    """
    value = 2166136261
    for byte in gram:
        value ^= byte if byte < 128 else byte | 0xFFFFFF00
        value = value * 16777619 & 0xFFFFFFFF
    return value

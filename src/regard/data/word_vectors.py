"""Pretrained word vectors: word2vec (text and binary), GloVe, fastText (.vec and .bin).

    word2vec, fastText .vec   a line "words width", then a line "word number number ..." for each word
    GloVe                     the same without the first line; words may hold spaces
    word2vec binary           the same first line, then for each word its bytes, a space, and 4 bytes a number
    fastText .bin             dictionary and matrix; a word's vector is the mean of its own row and its subwords'

The first bytes of a file tell its format; the first three formats may be .gz or .xz. Only the vectors of wanted words are
kept, so memory does not depend on the size of the file.

fastText .bin (Bojanowski et al. 2017) is read as fastText's own source writes format 12: settings, dictionary, input
matrix. A character n-gram of "<word>" has the row of its hash (FNV-1a over signed bytes), after the words' rows. The
matrix stays on disk; only rows in use are read.
"""

import mmap
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from regard.data.lines import DAMAGED, open_bytes, unreadable
from regard.errors import DataError, UsageError

MAX_LINE_BYTES = 1 << 20
MAX_WORD_BYTES = 1 << 12
MAGIC = 793712314
"""first number of a fastText model"""
_SETTINGS = struct.Struct("<12id")
_COUNTS = struct.Struct("<3i2q")
_ENTRY = struct.Struct("<qb")
_SHAPE = struct.Struct("<?2q")

Vectors = dict[str, np.ndarray]
Rows = Iterator[tuple[str, np.ndarray]]


def read_vectors(path: str | Path, wanted: Collection[str], width: int) -> Vectors:
    """The vectors, of `width` numbers each, of the wanted words in the file."""
    path, vectors = Path(path), Vectors()
    try:
        with open_bytes(path) as file:
            is_fasttext = file.read(4) == struct.pack("<i", MAGIC)
            if is_fasttext and path.suffix in (".gz", ".xz"):
                raise DataError(f"{path} must be unpacked to be read as a fastText model: unpack it")
            file.seek(0)
            read = _read_fasttext if is_fasttext else _read_plain
            for word, vector in read(path, file, set(wanted), width):
                # The first counts of a word that comes twice.
                vectors.setdefault(word, vector)
    except (*DAMAGED, struct.error) as error:
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


def _read_fasttext(path: Path, file: BinaryIO, wanted: set[str], width: int) -> Rows:
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        _, version = struct.unpack_from("<2i", data, 0)
        if version != 12:
            raise DataError(f"{path} must be a fastText model of format 12: got format {version}; use its .vec file")
        settings = _SETTINGS.unpack_from(data, 8)
        num_buckets, shortest, longest = settings[8:11]
        _check_width(path, settings[0], width)
        at = 8 + _SETTINGS.size
        num_entries, num_words, _, _, num_pruned = _COUNTS.unpack_from(data, at)
        at += _COUNTS.size
        ids: dict[str, int] = {}
        for entry in range(num_entries):
            end = data.find(b"\0", at)
            if end < 0:
                raise EOFError
            _, is_label = _ENTRY.unpack_from(data, end + 1)
            word = data[at:end].decode("utf-8", "replace")
            if word in wanted and not is_label and entry < num_words:
                ids.setdefault(word, entry)
            at = end + 1 + _ENTRY.size
        is_quantized, num_rows, num_columns = _SHAPE.unpack_from(data, at)
        size = len(data)
    if is_quantized or num_pruned > 0:
        raise DataError(f"{path} must be a fastText model in full: it is quantized; use the .vec it was made from")
    begins = at + _SHAPE.size
    fits = num_rows == num_words + num_buckets and num_columns == width and num_rows > 0
    if not fits or begins + 4 * num_rows * num_columns > size:
        raise DataError(
            f"{path} must hold {num_words:,} words and {num_buckets:,} n-grams of {width} numbers: its "
            "matrix is another, or cut short; get the whole file"
        )
    matrix = np.memmap(path, "<f4", "r", begins, (num_rows, num_columns))
    for word, row in ids.items():
        grams = ngrams(word, shortest, longest) if num_buckets > 0 else []
        rows = [row, *(num_words + hashed(gram) % num_buckets for gram in grams)]
        with np.errstate(invalid="ignore"):  # what is not finite is refused where it is read
            mean = matrix[rows].mean(axis=0, dtype=np.float64).astype(np.float32)
        yield word, mean


def ngrams(word: str, shortest: int, longest: int) -> list[bytes]:
    """The character n-grams of <word>, in the order of fastText.

    >>> ngrams("ab", 2, 3)
    [b'<a', b'<ab', b'ab', b'ab>', b'b>']
    """
    if word == "</s>":  # the end of a line, no word
        return []
    marked = f"<{word}>"
    return [
        marked[start : start + size].encode()
        for start in range(len(marked))
        for size in range(max(1, shortest), min(longest, len(marked) - start) + 1)
        if size > 1 or 0 < start < len(marked) - 1  # not < or > alone
    ]


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

"""Numbers and texts in files: only those in use lie in memory.

A file is memory-mapped for one reading at a time. A map that stayed open would count every page ever read as this
process's memory, in the end the whole corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Numbers = NDArray[Any]
Rows = NDArray[np.int64]

CHUNK = 1 << 12  # texts read together
_UNWRITTEN_BYTES = 1 << 14
"""bytes of a column that are gathered before they are written; cleaning has a thousand columns"""
_UNWRITTEN_TEXTS = 1 << 11


class Column:
    """Numbers of one type: added at the end, read by index."""

    def __init__(self, path: Path, dtype: DTypeLike, *, new: bool = False) -> None:
        """The numbers of a file; a new column replaces the file."""
        self.path, self.dtype = path, np.dtype(dtype)
        if new:
            path.write_bytes(b"")
        self._num_written = path.stat().st_size // self.dtype.itemsize
        self._pending: list[Numbers] = []
        self._num_pending = 0

    def __len__(self) -> int:
        return self._num_written + self._num_pending

    def extend(self, numbers: Numbers) -> None:
        if not len(numbers):
            return
        self._pending.append(np.asarray(numbers, self.dtype))
        self._num_pending += len(numbers)
        if self._num_pending * self.dtype.itemsize >= _UNWRITTEN_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._num_pending:
            return
        with self.path.open("ab") as file:
            for numbers in self._pending:
                file.write(np.ascontiguousarray(numbers).data)
        self._num_written += self._num_pending
        self._pending, self._num_pending = [], 0

    def map(self, mode: Any = "r") -> Numbers:
        """All numbers, memory-mapped; do not keep it."""
        self.flush()
        if not self._num_written:
            return np.zeros(0, self.dtype)
        return np.memmap(self.path, self.dtype, mode, shape=(self._num_written,))

    def take(self, places: Rows) -> Numbers:
        return np.asarray(self.map()[places])

    def slice(self, start: int, stop: int) -> Numbers:
        return np.array(self.map()[start:stop])

    def put(self, places: Rows, number: int) -> None:
        self.map("r+")[places] = number

    def chunks(self, size: int) -> Iterator[tuple[int, Numbers]]:
        """The index of the first number of each chunk, and the chunk."""
        for start in range(0, len(self), size):
            yield start, self.slice(start, start + size)


class StoredTexts(Sequence[str]):
    """Texts in the files PATH.text and PATH.ends, added at the end and read by index; with `rows`, some of them."""

    def __init__(self, path: Path, rows: Column | None = None, *, new: bool = False) -> None:
        self._path, self._rows = path, rows
        self._data = Column(path.with_name(f"{path.name}.text"), np.uint8, new=new)
        self._ends = Column(path.with_name(f"{path.name}.ends"), np.int64, new=new)
        self._pending: list[bytes] = []

    def append(self, text: str) -> None:
        assert self._rows is None
        self._pending.append(text.encode("utf-8", "surrogatepass"))
        if len(self._pending) == _UNWRITTEN_TEXTS:
            self.flush()

    def extend(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.append(text)

    def flush(self) -> None:
        lengths = np.fromiter(map(len, self._pending), np.int64, len(self._pending))
        self._ends.extend(len(self._data) + np.cumsum(lengths))
        self._data.extend(np.frombuffer(b"".join(self._pending), np.uint8))
        self._pending = []
        self._data.flush()
        self._ends.flush()

    def __len__(self) -> int:
        return len(self._ends) + len(self._pending) if self._rows is None else len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self.take(np.arange(*place.indices(len(self)), dtype=np.int64))
        return self.take(np.array([range(len(self))[place]], np.int64))[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), CHUNK):
            yield from self[start : start + CHUNK]

    def take(self, places: Rows) -> list[str]:
        """The texts at these indices, in that order."""
        if not len(places):
            return []
        self.flush()
        rows = places if self._rows is None else self._rows.take(places)
        ends = self._ends.map()
        # A text begins where the one before it ends.
        starts = np.where(rows > 0, ends[np.maximum(rows - 1, 0)], 0).tolist()
        stops = ends[rows].tolist()
        # Read, not mapped: a map would count whole pages around each text as memory.
        with self._data.path.open("rb", buffering=0) as file:

            def read(start: int, stop: int) -> bytes:
                file.seek(start)
                return file.read(stop - start)

            places_in_file = zip(starts, stops, strict=True)
            first, last = min(starts), max(stops)
            if last - first > 2 * (sum(stops) - sum(starts)):
                found = [read(start, stop) for start, stop in places_in_file]
            else:  # neighbours are read at once
                data = read(first, last)
                found = [data[start - first : stop - first] for start, stop in places_in_file]
        return [str(text, "utf-8", "surrogatepass") for text in found]

    def select(self, rows: Column) -> StoredTexts:
        """Some of all texts that are stored."""
        self.flush()
        return StoredTexts(self._path, rows)


class Mixture:
    """The pairs of an epoch: of each file as many as its weight says, in the next epoch those that follow.

    So of a file with weight 0.3 each pair comes three times in ten epochs.
    """

    def __init__(self, bounds: Sequence[int], weights: Sequence[float]) -> None:
        """bounds: where the files begin, and the end of the last."""
        self.bounds, self.weights = bounds, weights
        self._starts, self._sizes = np.array(bounds[:-1]), np.diff(bounds)
        self._counts = np.maximum(self._sizes > 0, np.rint(self._sizes * np.array(weights))).astype(np.int64)
        self._ends = np.cumsum(self._counts)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def within(self, kept: Column) -> Mixture:
        """The same of the pairs that are kept."""
        return Mixture(np.searchsorted(kept.map(), self.bounds).tolist(), self.weights)

    def rows(self, epoch: int, places: Rows) -> Rows:
        """The pairs at these places of an epoch."""
        file = np.searchsorted(self._ends, places, side="right")
        count, place = self._counts[file], places - (self._ends - self._counts)[file]
        return np.asarray(self._starts[file] + (epoch * count + place) % self._sizes[file])


def stored_rows(texts: Sequence[str], start: int, stop: int) -> Rows:
    """The stored rows of texts[start:stop]; of a list, the indices themselves."""
    if isinstance(texts, StoredTexts) and texts._rows is not None:
        return texts._rows.slice(start, stop)
    return np.arange(start, stop)


def take_texts(texts: Sequence[str], places: Rows) -> list[str]:
    """Some texts of a list, or of a file."""
    if isinstance(texts, StoredTexts):
        return texts.take(places)
    return [texts[place] for place in places.tolist()]


def chunks_of_pairs(
    sources: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[int, Sequence[str], Sequence[str]]]:
    """Both sides in chunks, with the index of the first pair of each."""
    for start in range(0, len(targets), CHUNK):
        yield start, sources[start : start + CHUNK], targets[start : start + CHUNK]

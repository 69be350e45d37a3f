"""Numbers in a file, as many as there are, of which only those that are looked at lie in memory.

A file is memory-mapped for as long as one reading takes: a map that stayed open would count every page that was ever
looked at as this process's memory, until all of a large corpus did.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Numbers = NDArray[Any]

_UNWRITTEN = 1 << 17


class Column:
    """Numbers of one kind: added at the end, read by place. A new one replaces the file; `open` keeps it."""

    def __init__(self, path: Path, dtype: DTypeLike, unwritten: int = _UNWRITTEN) -> None:
        """unwritten: bytes that are gathered before they are written."""
        self.path, self.dtype, self._unwritten = path, np.dtype(dtype), unwritten
        path.write_bytes(b"")
        self._num_written = 0
        self._pending: list[Numbers] = []
        self._num_pending = 0

    @classmethod
    def open(cls, path: Path, dtype: DTypeLike) -> Column:
        column = cls.__new__(cls)
        column.path, column.dtype, column._unwritten = path, np.dtype(dtype), _UNWRITTEN
        column._num_written = os.path.getsize(path) // column.dtype.itemsize
        column._pending, column._num_pending = [], 0
        return column

    def __len__(self) -> int:
        return self._num_written + self._num_pending

    def extend(self, numbers: Numbers) -> None:
        self._pending.append(np.asarray(numbers, self.dtype))
        self._num_pending += len(numbers)
        if self._num_pending * self.dtype.itemsize >= self._unwritten:
            self.flush()

    def flush(self) -> None:
        """Write what is still in memory."""
        if not self._num_pending:
            return
        with self.path.open("ab") as file:
            for numbers in self._pending:
                file.write(np.ascontiguousarray(numbers).data)
        self._num_written += self._num_pending
        self._pending, self._num_pending = [], 0

    def map(self, mode: Any = "r") -> Numbers:
        """All of them; let go of it soon."""
        self.flush()
        if not self._num_written:
            return np.zeros(0, self.dtype)
        return np.memmap(self.path, self.dtype, mode, shape=(self._num_written,))

    def take(self, places: NDArray[np.int64]) -> Numbers:
        return np.asarray(self.map()[places])

    def slice(self, start: int, stop: int) -> Numbers:
        """Those from `start` up to, but without, `stop`."""
        return np.array(self.map()[start:stop])

    def put(self, places: NDArray[np.int64], number: int) -> None:
        self.map("r+")[places] = number

    def chunks(self, size: int) -> Iterator[Numbers]:
        for start in range(0, len(self), size):
            yield self.slice(start, start + size)

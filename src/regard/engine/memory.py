"""Memory for the keys and values of the tokens so far, on the CPU.

It is written in place, a token after the other, and still a state that was handed out never changes: what a
second continuation of the same state would overwrite is copied first. Memory that no state holds any more is
used again, for fresh memory costs more to touch than to fill.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

FIRST_CAPACITY = 64
MOST_KEPT = 4
"""pieces of memory that wait to be used again"""
_ALWAYS = 1 << 60
"""so many places are alike in a row and itself"""


class Piece:
    """Some memory in one shape: [layer and key or value, row, head, place, feature]."""

    def __init__(self, flat: np.ndarray, shape: tuple[int, ...]) -> None:
        self.flat = flat
        self.array = flat[: math.prod(shape)].reshape(shape)
        self.prepared: dict[Any, Any] = {}
        """the calls that read and write it, ready to be made again"""


class Pool:
    """Where pieces come from and go back to."""

    def __init__(self, num_layers: int, num_heads: int, width: int) -> None:
        self._sizes = num_layers, num_heads, width
        self._waiting: list[Piece] = []

    def take(self, num_rows: int, capacity: int) -> Piece:
        num_layers, num_heads, width = self._sizes
        shape = (2 * num_layers, num_rows, num_heads, capacity, width)
        large_enough = None
        for index, piece in enumerate(self._waiting):
            if piece.array.shape == shape:
                return self._waiting.pop(index)
            if piece.flat.size >= math.prod(shape):
                large_enough = index
        if large_enough is not None:
            return Piece(self._waiting.pop(large_enough).flat, shape)
        return Piece(np.empty(math.prod(shape), dtype=np.float32), shape)

    def give_back(self, piece: Piece) -> None:
        self._waiting.append(piece)
        if len(self._waiting) > MOST_KEPT:
            sizes = [piece.flat.size for piece in self._waiting]
            del self._waiting[sizes.index(min(sizes))]


class Memory:
    """Keys and values of some rows, laid out for the sources they read."""

    def __init__(self, pool: Pool, sources: Any, num_rows: int, capacity: int) -> None:
        self._pool = pool
        self.sources = sources
        self.piece = pool.take(num_rows, capacity)
        self.num_rows, self.capacity = num_rows, capacity
        self.filled = 0
        """how many places of each row are written"""
        self.num_holders = 0
        """states that go on from it"""
        self._alike = np.zeros((num_rows, num_rows), dtype=np.int64)
        """how many first places of two rows hold the same, because one was once copied from the other"""
        np.fill_diagonal(self._alike, _ALWAYS)

    def __del__(self) -> None:
        self._pool.give_back(self.piece)

    def moved(self, sources: Any, rows: Sequence[int], length: int, room: int) -> Memory:
        """The first `length` places of these rows in another memory, with room for more."""
        capacity = self.capacity
        while capacity < length + room:
            capacity *= 2
        other = Memory(self._pool, sources, len(rows), capacity)
        other.filled = length
        of, to = self.piece.array, other.piece.array
        for new, old in enumerate(rows):
            to[:, new, :, :length] = of[:, old, :, :length]
        other._alike = np.minimum(self._alike[rows][:, rows], length)
        np.fill_diagonal(other._alike, _ALWAYS)
        return other

    def spread(self, rows: list[int], length: int) -> list[int]:
        """A row for each of `rows` alone: where one is asked for again, a copy in place of one nobody asks for.

        The rows of a sentence lie together, as many as before, and are asked for together: so the first unused
        one is always of the same sentence. Hypotheses of one sentence mostly differ in their last words alone,
        and only where two rows differ is one of them copied.
        """
        unused = iter(sorted(set(range(self.num_rows)).difference(rows)))
        taken: set[int] = set()
        places = []
        array, alike = self.piece.array, self._alike
        for row in rows:
            place = row
            if row in taken:
                place = next(unused)
                begin = alike[place, row]
                array[:, place, :, begin:length] = array[:, row, :, begin:length]
                alike[place] = alike[:, place] = alike[row]
                alike[place, row] = alike[row, place] = length
                alike[place, place] = _ALWAYS
            taken.add(place)
            places.append(place)
        return places

"""The key-value cache of the engines on a CPU: of onnxruntime, and of the kernel in C.

The cache is written in place, token after token, yet a state that was handed out never changes: a second
continuation of the same state works on a copy. Memory that no state holds is reused, because touching fresh
memory costs more than filling it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

FIRST_CAPACITY = 64  # places of a new cache
MAX_FREE_BLOCKS = 4  # blocks kept for reuse
_ALWAYS = 1 << 60  # number of equal places of a row and itself: above the length of any row


def outputs_of(wanted: str, places: int, count: int, vocab_size: int) -> dict[str, np.ndarray]:
    """The arrays of a pass's outputs: the best tokens at each place, or the log-probabilities of all."""
    if wanted != "best":
        return {wanted: np.empty((places, vocab_size), np.float32)}
    return {"best_values": np.empty((places, count), np.float32), "best_tokens": np.empty((places, count), np.int64)}


class CacheHolder:
    """A state, counted among those that use its cache."""

    __slots__ = ()
    cache: Cache | None

    def __post_init__(self) -> None:
        if self.cache is not None:
            self.cache.num_holders += 1

    def __del__(self) -> None:
        if self.cache is not None:
            self.cache.num_holders -= 1


class CacheBlock:
    """Memory of one shape: [layer and key or value, row, head, place, feature]."""

    def __init__(self, flat: np.ndarray, shape: tuple[int, ...]) -> None:
        self.flat = flat
        self.array = flat[: math.prod(shape)].reshape(shape)
        self.call: Any = None
        """the engine's last call over it, ready for reuse"""


class BlockPool:
    """Gives out blocks and takes them back."""

    def __init__(self, num_layers: int, num_heads: int, width: int) -> None:
        self._sizes = num_layers, num_heads, width
        self._free: list[CacheBlock] = []

    def take(self, num_rows: int, capacity: int) -> CacheBlock:
        num_layers, num_heads, width = self._sizes
        shape = (2 * num_layers, num_rows, num_heads, capacity, width)
        large_enough = None
        for index, block in enumerate(self._free):
            if block.array.shape == shape:
                return self._free.pop(index)
            if block.flat.size >= math.prod(shape):
                large_enough = index
        if large_enough is not None:
            return CacheBlock(self._free.pop(large_enough).flat, shape)
        return CacheBlock(np.empty(math.prod(shape), dtype=np.float32), shape)

    def give_back(self, block: CacheBlock) -> None:
        self._free.append(block)
        if len(self._free) > MAX_FREE_BLOCKS:
            sizes = [block.flat.size for block in self._free]
            del self._free[sizes.index(min(sizes))]


class Cache:
    """Keys and values of some rows, each of a sentence."""

    def __init__(self, pool: BlockPool, sentences: Sequence[int], capacity: int, sources: Any = None) -> None:
        self._pool, self._sentences = pool, sentences
        self.sources = sources
        """The sources that hold these sentences in the same order, if the engine needs to know."""
        self.num_rows, self.capacity = num_rows, _ = len(sentences), capacity
        self.block = pool.take(num_rows, capacity)
        self.filled = 0
        """Number of places written in each row."""
        self.num_holders = 0
        """Number of states that use it."""
        self.alike = np.zeros((num_rows, num_rows), dtype=np.int64)
        """Number of equal first places of two rows, because one was copied from the other."""
        np.fill_diagonal(self.alike, _ALWAYS)

    def __del__(self) -> None:
        self._pool.give_back(self.block)

    def moved(
        self, sentences: Sequence[int], rows: Sequence[int], length: int, room: int, sources: Any = None
    ) -> Cache:
        """The first `length` places of these rows in another cache, with room for more."""
        capacity = self.capacity
        while capacity < length + room:
            capacity *= 2
        other = Cache(self._pool, sentences, capacity, sources)
        other.filled = length
        of, to = self.block.array, other.block.array
        for new, old in enumerate(rows):
            to[:, new, :, :length] = of[:, old, :, :length]
        other.alike = np.minimum(self.alike[np.ix_(rows, rows)], length)
        np.fill_diagonal(other.alike, _ALWAYS)
        return other

    def spread(self, rows: list[int], length: int) -> list[int]:
        """A row of its own for each of `rows`: a repeated row is copied over an unused one, of the same sentence if there is one.

        Hypotheses of one sentence mostly differ in their last words only, and only the places where two rows differ are copied.
        """
        unused: dict[int, list[int]] = {}
        for row in sorted(set(range(self.num_rows)).difference(rows), reverse=True):
            unused.setdefault(self._sentences[row], []).append(row)
        taken: set[int] = set()
        places = []
        array, alike = self.block.array, self.alike
        for row in rows:
            place = row
            if row in taken:
                place = (unused.get(self._sentences[row]) or next(filter(None, unused.values()))).pop()
                begin = alike[place, row]
                array[:, place, :, begin:length] = array[:, row, :, begin:length]
                alike[place] = alike[:, place] = alike[row]
                alike[place, row] = alike[row, place] = length
                alike[place, place] = _ALWAYS
            taken.add(place)
            places.append(place)
        return places

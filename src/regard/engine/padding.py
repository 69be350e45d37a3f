"""Sentences of unequal length in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def pad(sources: Sequence[Sequence[int]], pad_id: int) -> tuple[np.ndarray, np.ndarray]:
    """Sentences as the rows of one array, filled up at the end, and their lengths."""
    lengths = np.array([len(source) for source in sources], dtype=np.int64)
    assert len(sources) and lengths.min() > 0, "every source ends in the end token"
    rows = np.full((len(sources), lengths.max()), pad_id, dtype=np.int64)
    for row, source in zip(rows, sources, strict=True):
        row[: len(source)] = source
    return rows, lengths

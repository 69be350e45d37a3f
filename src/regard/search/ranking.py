"""The passages nearest to a query: every one is compared, and the first are exactly the best."""

from __future__ import annotations

import numpy as np

ROWS_AT_ONCE = 65536
"""of vectors that may lie on a disk and are read only as they are needed"""


def nearest(
    queries: np.ndarray, vectors: np.ndarray, count: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each query [features] the rows of its nearest vectors [rows, features], best first, and their scores.

    All are of length 1, so that a score is a cosine. Of equal scores the earlier row comes first.
    """
    scores = np.empty((len(queries), len(vectors)), np.float32)
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        part = vectors[start : start + ROWS_AT_ONCE]
        np.matmul(queries, part.T, out=scores[:, start : start + len(part)])
    found = []
    for row in scores:
        if count < len(row):
            least = np.partition(row, len(row) - count)[len(row) - count]
            candidates = np.flatnonzero(row >= least)
        else:
            candidates = np.arange(len(row))
        best = candidates[np.argsort(-row[candidates], kind="stable")][:count]
        found.append((best, row[best]))
    return found

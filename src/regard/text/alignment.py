"""Does line n of one side translate line n of the other? Lengths tell.

A long sentence has a long translation, so over a block of lines the lengths of the two sides move
together. Where they do not, but would if one side were moved by a line or a few, a line is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_BLOCK = 200
_MAX_SHIFT = 3
_ALIGNED = 0.5
_NOT_ALIGNED = 0.25


def check_alignment(
    name: str, sources: Sequence[str], targets: Sequence[str], line_numbers: Sequence[int]
) -> list[str]:
    """One warning for each stretch of lines that looks shifted against its translations."""
    import numpy as np

    num_blocks = len(sources) // _BLOCK
    if not num_blocks:
        return []
    source = np.log1p(np.fromiter(map(len, sources), np.float64, len(sources)))
    target = np.log1p(np.fromiter(map(len, targets), np.float64, len(targets)))
    stretches: list[tuple[int, int, int]] = []  # first block, last block, shift
    for block in range(num_blocks):
        shift = _shift(source, target, block * _BLOCK)
        if shift == 0:
            continue
        if stretches and stretches[-1][1:] == (block - 1, shift):
            stretches[-1] = (stretches[-1][0], block, shift)
        else:
            stretches.append((block, block, shift))
    warnings = []
    for first, last, shift in stretches:
        stop = len(sources) if last == num_blocks - 1 else (last + 1) * _BLOCK
        warnings.append(
            f"{name}: lines {line_numbers[first * _BLOCK]} to {line_numbers[stop - 1]} look shifted by "
            f"{abs(shift)}: a line is missing in the {'source' if shift > 0 else 'target'} near the first"
        )
    return warnings


def _shift(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any], start: int) -> int:
    """By how many lines the target must move back to fit the source here; 0 if it fits, or nothing does."""
    block = source[start : start + _BLOCK]
    if _correlation(block, target[start : start + _BLOCK]) > _NOT_ALIGNED:
        return 0
    fits: dict[int, float] = {}
    for shift in range(-_MAX_SHIFT, _MAX_SHIFT + 1):
        first, last = start + shift, start + shift + _BLOCK
        if first >= 0 and last <= len(target):
            fits[shift] = _correlation(block, target[first:last])
    best = max(fits, key=fits.__getitem__)
    return best if fits[best] > _ALIGNED else 0


def _correlation(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    a, b = a - a.mean(), b - b.mean()
    scale = float((a @ a) * (b @ b)) ** 0.5
    return float(a @ b) / scale if scale else 1.0

"""Warns where line n of one side does not translate line n of the other.

A long sentence has a long translation, so over a block of lines the lengths of the two sides correlate. Where they do
not, but would if one side were moved by a line or a few, a line is missing.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_BLOCK = 200
"""lines whose lengths are correlated together"""
_BLOCKS_AT_ONCE = 50
_MAX_SHIFT = 3
_ALIGNED, _NOT_ALIGNED = 0.5, 0.25
"""correlation above which a block is aligned, and below which it is not"""


@dataclass
class _ShiftedLines:
    """Neighbouring blocks with the same shift."""

    first_line: int
    last_line: int
    last_block: int
    shift: int


class AlignmentCheck:
    """Gets the lengths of pairs one after another, and holds those of a few thousand."""

    def __init__(self) -> None:
        self._lines = array("Q")
        self._sources, self._targets = array("Q"), array("Q")
        self._start = 0
        """index of the first line of the next block"""
        self._num_blocks = 0
        self._shifted: list[_ShiftedLines] = []

    def add(self, line: int, source_length: int, target_length: int) -> None:
        self._lines.append(line)
        self._sources.append(source_length)
        self._targets.append(target_length)
        if len(self._lines) >= self._start + _BLOCKS_AT_ONCE * _BLOCK + _MAX_SHIFT:
            self._judge(_BLOCKS_AT_ONCE)

    def warnings(self, name: str) -> list[str]:
        """To be called after the last pair: one for each run of lines that look shifted."""
        self._judge((len(self._lines) - self._start) // _BLOCK)
        if self._shifted and self._shifted[-1].last_block == self._num_blocks - 1:
            self._shifted[-1].last_line = self._lines[-1]
        return [
            f"{name}: lines {each.first_line} to {each.last_line} look shifted by {abs(each.shift)}: "
            f"a line is missing in the {'source' if each.shift > 0 else 'target'} near the first"
            for each in self._shifted
        ]

    def _judge(self, num_blocks: int) -> None:
        import numpy as np

        source, target = (np.log1p(np.array(side)) for side in (self._sources, self._targets))
        for start in range(self._start, self._start + num_blocks * _BLOCK, _BLOCK):
            if shift := _shift(source, target, start):
                last_line = self._lines[start + _BLOCK - 1]
                last = self._shifted[-1] if self._shifted else None
                if last and (last.last_block, last.shift) == (self._num_blocks - 1, shift):
                    last.last_block, last.last_line = self._num_blocks, last_line
                else:
                    first_line = self._lines[start]
                    self._shifted.append(
                        _ShiftedLines(first_line, last_line, self._num_blocks, shift)
                    )
            self._num_blocks += 1
        # The next block is also compared with the end of this one.
        superfluous = max(0, self._start + num_blocks * _BLOCK - _MAX_SHIFT)
        self._start += num_blocks * _BLOCK - superfluous
        for held in (self._lines, self._sources, self._targets):
            if len(held) > superfluous:
                del held[:superfluous]


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

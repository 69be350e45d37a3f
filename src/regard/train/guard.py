"""A step that would do harm changes nothing: its gradient is no number, or far larger than the ones before.

The judgement is made on the device, so that nobody waits for it and a recorded step can hold it. Adam does the rest:
its fused kernels leave weights, moments and their count alone where `found_inf` is one. The host looks at the
numbers only when it looks at the loss.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

SPIKE = 50.0
"""times the usual norm: above it a gradient says nothing about the way down"""
NUM_USUAL = 100
"""steps that the usual norm is a mean of; before as many are known only numbers are asked for"""
MOST_IN_A_ROW = 10
"""skipped steps after which the weights themselves must be wrong"""


class Skipped(NamedTuple):
    """What the host is told."""

    total: int
    in_a_row: int
    """up to now"""
    longest_row: int


class Guard:
    """Judges each step's gradient by its norm, and counts."""

    def __init__(self, device: torch.device) -> None:
        self.numbers = torch.zeros(5, device=device)
        """everything the judgement rests on, to be saved with the run"""
        self._usual, self._num_good, self._total, self._in_a_row, self._longest = self.numbers
        self.skips = torch.zeros((), device=device)
        """one where the last step was to be skipped, else zero"""

    @torch.no_grad()
    def judge(self, norm: Float[Tensor, ""]) -> None:
        spike = (self._num_good >= NUM_USUAL) & (norm > SPIKE * self._usual)
        bad = ~norm.isfinite() | spike
        self.skips.copy_(bad)
        self._num_good += ~bad
        weight = ~bad / self._num_good.clamp(1, NUM_USUAL)
        # No product with a norm that may be no number: zero times that is none either.
        self._usual += weight * (norm.where(~bad, self._usual) - self._usual)
        self._total += self.skips
        self._in_a_row.add_(1).mul_(self.skips)
        self._longest.copy_(self._longest.maximum(self._in_a_row))

    def read(self) -> Skipped:
        """Makes the host wait for the device."""
        return Skipped(*map(int, self.numbers[2:].tolist()))

    def forget_row(self) -> None:
        """Begin a new row, after the weights have been put back or when the last one has been told."""
        self._in_a_row.zero_()
        self._longest.zero_()

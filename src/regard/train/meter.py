"""What a run measures of itself: losses and speed since the last look, and the time it has trained."""

from __future__ import annotations

import math
import time

import torch
from jaxtyping import Float
from torch import Tensor

from regard.train.feed import Fed
from regard.train.loss import Sums
from regard.train.parallel import Processes


class Meter:
    """Mean losses and speed since the last look, without making the device wait in between."""

    def __init__(self, device: torch.device) -> None:
        self._sums = torch.zeros(3, device=device)
        self.restart()

    def restart(self) -> None:
        self._sums.zero_()
        self._num_tokens = self._num_steps = 0
        self._since = time.perf_counter()

    @property
    def is_empty(self) -> bool:
        return not self._num_steps

    def add(self, batches: list[Fed], sums: Sums, skips: Float[Tensor, ""]) -> None:
        """What one step found; of a skipped one, whose loss may be no number, only the time counts."""
        num_targets = sums.loss.new_full((), sum(fed.num_targets for fed in batches))
        found = torch.stack([*sums, num_targets])
        self._sums += found.where(skips == 0, 0.0)
        self._num_tokens += sum(fed.num_tokens for fed in batches)
        self._num_steps += 1

    def read(self, processes: Processes) -> tuple[float, float, float]:
        """Loss and plain cross-entropy for each target token, and tokens a second; then start anew.

        The losses are no numbers where every step was skipped. Every process has counted its own batches.
        """
        loss, plain, num_targets = processes.add(self._sums).tolist()
        loss, plain = (value / num_targets if num_targets else math.nan for value in (loss, plain))
        num_tokens = processes.add(torch.tensor(self._num_tokens)).item()
        speed = num_tokens / (time.perf_counter() - self._since)
        self.restart()
        return loss, plain, speed


class Clock:
    """Seconds of training, and apart from them those of the first steps, which compile and record."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self.first_seconds = 0.0
        self._since: float | None = None
        self._is_first = False

    @property
    def seconds(self) -> float:
        """Of training so far."""
        if self._since is None or self._is_first:
            return self._seconds
        return self._seconds + time.perf_counter() - self._since

    def set(self, seconds: float, first_seconds: float) -> None:
        """Go on from an earlier run."""
        self._seconds, self.first_seconds = seconds, first_seconds

    def run(self, *, first: bool = False) -> None:
        """Count from now on, if need be towards the first steps."""
        self.stop()
        self._since, self._is_first = time.perf_counter(), first

    def stop(self) -> None:
        if self._since is None:
            return
        passed = time.perf_counter() - self._since
        if self._is_first:
            self.first_seconds += passed
        else:
            self._seconds += passed
        self._since = None

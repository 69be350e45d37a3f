"""The progress of a run: learning rate, validations and early stopping, by steps or by minutes.

    rate(step) = d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)                  (equation 3)

This schedule of Vaswani et al. 2017, section 5.3, is a linear warm-up to the peak (d_model * warmup)^-0.5, then an
inverse square root. The cosine schedule shares the warm-up and falls to zero at the last step.

A run counted in steps depends on its settings alone, and a resumed one is the same run. A run counted in minutes
depends on the machine's speed as well: it ends on time, and a resumed one continues with the minutes left.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from regard.config import TrainConfig
from regard.train.plan import NUM_VALIDATIONS, WARMUP_SHARE


@dataclass(frozen=True)
class Progress:
    """Elapsed steps and training seconds (compilation and validation not counted) against the settings."""

    settings: TrainConfig

    def rate(self, step: int, seconds: int | float) -> float:
        """The learning rate of a step, counted from 1, that begins after so many seconds."""
        settings, peak = self.settings, self.settings.learning_rate
        assert peak is not None
        if settings.minutes is None:
            assert settings.steps and settings.warmup
            if step <= settings.warmup:
                return peak * step / settings.warmup
            if settings.schedule == "inverse-sqrt":
                return peak * math.sqrt(settings.warmup / step)
            done = (step - settings.warmup) / max(1, settings.steps - settings.warmup)
            return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
        done = self.done(step, seconds)
        warm = step / settings.warmup if settings.warmup else done / WARMUP_SHARE
        return peak * min(1.0, warm) * 0.5 * (1 + math.cos(math.pi * done))

    def done(self, step: int, seconds: int | float) -> float:
        """The finished share of the run, between 0 and 1."""
        if self.settings.minutes is not None:
            return min(1.0, seconds / (60 * self.settings.minutes))
        assert self.settings.steps
        return min(1.0, step / self.settings.steps)

    def is_due(self, step: int, seconds: int | float, last_seconds: int | float) -> bool:
        """Whether to validate after this step; the last validation was after `last_seconds`."""
        if self.done(step, seconds) == 1:
            return True
        if self.settings.validate_every is not None:
            return step % self.settings.validate_every == 0
        parts = [int(NUM_VALIDATIONS * self.done(step, each)) for each in (last_seconds, seconds)]
        return parts[0] < parts[1]


class Clock:
    """Training seconds; the first steps, which compile and record, are counted apart."""

    def __init__(self) -> None:
        self._seconds = self.first_seconds = 0.0
        self._since: float | None = None
        self._is_first = False

    @property
    def seconds(self) -> float:
        if self._since is None or self._is_first:
            return self._seconds
        return self._seconds + time.perf_counter() - self._since

    def set(self, seconds: float, first_seconds: float) -> None:
        """Continue from an earlier run."""
        self._seconds, self.first_seconds = seconds, first_seconds

    def run(self, *, first: bool = False) -> None:
        """Count from now on; `first` says to count as first steps."""
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


class Validation(NamedTuple):
    loss: float
    """plain cross-entropy for each target token"""
    bleu: float | None
    """BLEU of greedy translations; None where the run does not measure it"""


@dataclass
class History:
    """Validation history: the best checkpoints so far, and early stopping."""

    num_kept: int
    best: list[tuple[float, float, int]] = field(default_factory=list)
    """the best validations, best first: score, tie-breaking score, step"""
    without_improvement: int = 0
    """number of validations since the best"""

    @property
    def best_steps(self) -> list[int]:
        return [step for *_, step in self.best]

    def add(self, step: int, found: Validation) -> bool:
        """Record a validation; True if it is the best so far."""
        scores = (found.bleu or 0.0, -found.loss)
        improved = not self.best or scores > self.best[0][:2]
        self.best = sorted([*self.best, (*scores, step)], reverse=True)[: self.num_kept]
        self.without_improvement = 0 if improved else self.without_improvement + 1
        return improved

    def state(self) -> dict[str, Any]:
        return {"best": self.best, "without_improvement": self.without_improvement}

    def restore(self, state: dict[str, Any]) -> None:
        self.best = [(score, other, step) for score, other, step in state["best"]]
        self.without_improvement = state["without_improvement"]

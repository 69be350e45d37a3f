"""How far a run has come, what learning rate that means, and when it is measured: in steps, or in minutes.

Counted in steps, a run depends on nothing but its settings, and a resumed one is the same run. Counted in minutes
it depends on how fast the machine is as well: it ends on time, and a resumed one goes on with the minutes left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.config import TrainConfig
from regard.train.optimizer import Schedule
from regard.train.plan import NUM_VALIDATIONS, WARMUP_SHARE


@dataclass(frozen=True)
class Course:
    """`seconds` are those of training, without compilation and validation."""

    settings: TrainConfig

    def rate(self, step: int, seconds: int | float) -> float:
        """The learning rate of a step, counted from 1, that begins after so many seconds."""
        peak = self.settings.learning_rate
        assert peak is not None
        if self.settings.minutes is None:
            assert self.settings.steps and self.settings.warmup
            return Schedule(
                self.settings.schedule, peak, self.settings.warmup, self.settings.steps
            ).rate(step)
        done = self.done(step, seconds)
        warm = step / self.settings.warmup if self.settings.warmup else done / WARMUP_SHARE
        return peak * min(1.0, warm) * 0.5 * (1 + math.cos(math.pi * done))

    def done(self, step: int, seconds: int | float) -> float:
        """The part that is behind, between 0 and 1."""
        if self.settings.minutes is not None:
            return min(1.0, seconds / (60 * self.settings.minutes))
        assert self.settings.steps
        return min(1.0, step / self.settings.steps)

    def is_due(self, step: int, seconds: int | float, last_seconds: int | float) -> bool:
        """Whether to validate after this step; the last time was after `last_seconds`."""
        if self.done(step, seconds) == 1:
            return True
        if self.settings.validate_every is not None:
            return step % self.settings.validate_every == 0
        parts = [int(NUM_VALIDATIONS * self.done(step, each)) for each in (last_seconds, seconds)]
        return parts[0] < parts[1]

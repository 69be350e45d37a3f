"""The progress of a run: learning rate, validations and early stopping, and what is written and shown of them.

    rate(step) = d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)                  (equation 3)

This schedule of Vaswani et al. 2017, section 5.3, is a linear warm-up to the peak (d_model * warmup)^-0.5, then an
inverse square root. The cosine schedule shares the warm-up and falls to zero at the last step.

A run counted in steps depends on its settings alone, and a resumed one is the same run. A run counted in minutes
depends on the machine's speed as well: it ends on time, and a resumed one continues with the minutes left.
"""

import json
import math
import os
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import TrainConfig
from regard.errors import needs_extra
from regard.files import write_file
from regard.train.batches import DeviceBatch
from regard.train.loss import Sums
from regard.train.parallel import Processes
from regard.train.plan import NUM_VALIDATIONS, WARMUP_SHARE

METRICS, TENSORBOARD = "metrics.jsonl", "tensorboard"
LINE_EVERY_SECONDS = 30.0
"""Interval between two progress lines in seconds, where there is no terminal for a progress bar."""


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

    def __init__(self, seconds: float = 0.0, first_seconds: float = 0.0) -> None:
        self._stopped, self.first_seconds = seconds, first_seconds
        self._since: float | None = None
        self._is_first = False

    @property
    def seconds(self) -> float:
        return self._stopped + (0.0 if self._is_first else self._running)

    @property
    def _running(self) -> float:
        return 0.0 if self._since is None else time.perf_counter() - self._since

    def run(self, *, first: bool = False) -> None:
        """Count from now on; `first` says to count as first steps."""
        self.stop()
        self._since, self._is_first = time.perf_counter(), first

    def stop(self) -> None:
        if self._is_first:
            self.first_seconds += self._running
        else:
            self._stopped += self._running
        self._since = None


class Validation(NamedTuple):
    loss: float
    """plain cross-entropy for each target token"""
    bleu: float | None
    """BLEU of greedy translations; None where the run does not measure it"""
    exchanged: float | None = None
    """the loss with each source replaced by another's, until the sources have helped once"""


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


class Meter:
    """Mean losses and speed since the last reading; the host waits for the device only when it reads."""

    def __init__(self, device: torch.device) -> None:
        self._sums = torch.zeros(3, device=device)
        self.restart()

    def restart(self) -> None:
        self._sums.zero_()
        self.num_steps = self._num_tokens = 0
        self._since = time.perf_counter()

    def add(self, batches: list[DeviceBatch], sums: Sums, skips: Float[Tensor, ""]) -> None:
        """Count one step; the loss of a skipped one, which may be NaN, is left out."""
        num_targets = sums.loss.new_full((), sum(batch.num_targets for batch in batches))
        found = torch.stack([*sums, num_targets])
        self._sums += found.where(skips == 0, 0.0)
        self._num_tokens += sum(batch.num_tokens for batch in batches)
        self.num_steps += 1

    def read(self, processes: Processes) -> tuple[float, float, float]:
        """Loss and plain cross-entropy for each target token, and tokens a second, over all processes; then restart.

        The losses are NaN where every step was skipped.
        """
        loss, plain, num_targets = processes.add(self._sums).tolist()
        loss, plain = (value / num_targets if num_targets else math.nan for value in (loss, plain))
        num_tokens = processes.add(torch.tensor(self._num_tokens)).item()
        speed = num_tokens / (time.perf_counter() - self._since)
        self.restart()
        return loss, plain, speed


def lines_of(path: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl of this kind; not one that a crash has cut short, or that is being written."""
    whole = path.read_bytes().rpartition(b"\n")[0] if path.is_file() else b""
    return [line for line in map(json.loads, whole.splitlines()) if line["kind"] == kind]


class Reporter(AbstractContextManager["Reporter"]):
    """Writes each measurement to metrics.jsonl and TensorBoard, and shows the newest on the screen."""

    def __init__(self, run: Path, settings: TrainConfig, begun: tuple[int, float], show: bool, writes: bool) -> None:
        """begun: the steps and seconds that are done already."""
        self.settings, self.show, self._shown_at = settings, show, time.monotonic()
        self._path = run / METRICS if writes else Path(os.devnull)
        self.forget_after(begun[0])
        self._board: Any = None
        if settings.tensorboard and writes:
            with needs_extra("tensorboard", "tensorboard=true"):
                from torch.utils.tensorboard import SummaryWriter
            self._board = SummaryWriter(str(run / TENSORBOARD))
        self._bar = _progress_bar(*self._extent(*begun)) if show and sys.stderr.isatty() else None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._board is not None:
            self._board.close()

    def record(self, kind: str, step: int, **values: Any) -> None:
        """Write one line of metrics.jsonl; `kind` is train, valid, skipped, rollback or warning."""
        line = {"kind": kind, "step": step, "time": round(time.time(), 3)}
        for name, value in values.items():
            line[name] = None if isinstance(value, float) and not math.isfinite(value) else value
            if self._board is not None and isinstance(value, (int, float)):
                self._board.add_scalar(f"{kind}/{name}", value, step)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """What was recorded of this kind, the runs before a resumed one included."""
        return lines_of(self._path, kind)

    def warn(self, step: int, cause: str, text: str) -> None:
        """Record and say what may be wrong, each cause once."""
        if all(line["cause"] != cause for line in self.lines("warning")):
            self.record("warning", step, cause=cause, text=text)
            self.say(f"step {step:,}: {text}")

    def forget_after(self, step: int) -> None:
        """Drop the lines of steps that will be repeated."""
        if self._path.is_file():
            lines = self._path.read_text("utf-8").splitlines()
            kept = [line for line in lines if _step_of(line) <= step]
            write_file(self._path, "".join(line + "\n" for line in kept).encode())

    def progress(self, step: int, seconds: float, loss: float, speed: float, rate: float) -> None:
        done, total, unit = self._extent(step, seconds)
        numbers = f"loss {loss:.3f}  {speed:,.0f} tokens/s  rate {rate:.2e}"
        if self._bar is None and time.monotonic() - self._shown_at > LINE_EVERY_SECONDS:
            self._shown_at = time.monotonic()
            self.say(f"{unit} {done:,}/{total:,}  {numbers}")
        elif self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, numbers=numbers)

    def _extent(self, step: int, seconds: float) -> tuple[int, int, str]:
        """Done, total, and their unit."""
        if self.settings.minutes is not None:
            return round(seconds), round(60 * self.settings.minutes), "second"
        assert self.settings.steps is not None
        return step, self.settings.steps, "step"

    def say(self, text: str) -> None:
        """Print a line above the progress bar."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)
        elif self.show:
            print(text, file=sys.stderr, flush=True)


def _progress_bar(done: int, total: int, unit: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    numbers = f"{unit}s  {{task.fields[numbers]}}"
    columns = ("training", BarColumn(), MofNCompleteColumn(), numbers, TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True))
    bar.add_task("", total=total, completed=done, numbers="")
    bar.start()
    return bar


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")  # cut short by a crash

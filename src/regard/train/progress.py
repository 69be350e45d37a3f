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
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import TrainConfig
from regard.errors import needs_extra
from regard.files import write_file
from regard.train.plan import NUM_VALIDATIONS, WARMUP_SHARE, in_words

METRICS, TENSORBOARD = "metrics.jsonl", "tensorboard"
LINE_EVERY_SECONDS, FIRST_LINE_SECONDS = 30.0, 10.0
"""Interval between two progress lines, and time of the first, where there is no terminal for a progress bar."""
SMOOTHING = 0.9  # Decay of the running average of the loss that is shown; metrics.jsonl has each reading.


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
    """Training seconds; the first steps, which compile and record, are counted apart. All seconds, too."""

    def __init__(self, seconds: float = 0.0, first_seconds: float = 0.0, earlier: float = 0.0) -> None:
        """earlier: all seconds of the processes before this one, up to the checkpoint that it resumes from."""
        self._stopped, self.first_seconds, self.earlier = seconds, first_seconds, earlier
        self.began = time.monotonic()
        self._since: float | None = None
        self._is_first = False

    @property
    def seconds(self) -> float:
        return self._stopped + (0.0 if self._is_first else self._running)

    @property
    def total(self) -> float:
        """All seconds, reading and validation included, summed over interruptions."""
        return self.earlier + time.monotonic() - self.began

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
    loss: float  # plain cross-entropy for each target token
    bleu: float | None  # BLEU of greedy translations; None where the run does not measure it
    exchanged: float | None = None
    """the loss with each source replaced by another's, until the sources have helped once"""

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Validation":
        """That of a line of metrics.jsonl."""
        return cls(line["loss"], line["bleu"])

    def __str__(self) -> str:
        return f"loss {self.loss:.3f}" + ("" if self.bleu is None else f", greedy BLEU {self.bleu:.2f}")


@dataclass
class History:
    """Validation history: the best checkpoints so far, and early stopping."""

    num_kept: int
    best: list[tuple[float, float, int]] = field(default_factory=list)
    """the best validations, best first: score, tie-breaking score, step"""
    without_improvement: int = 0  # number of validations since the best

    @property
    def best_steps(self) -> list[int]:
        """The steps to average; that of a given model is not mixed with later ones when nothing was better."""
        steps = [step for *_, step in self.best]
        return steps[:1] if steps[:1] == [0] else steps

    def add(self, step: int, found: Validation) -> bool:
        """Record a validation; True if it is the best so far."""
        scores = (found.bleu or 0.0, -found.loss)
        improved = not self.best or scores > self.best[0][:2]
        self.best = sorted([*self.best, (*scores, step)], reverse=True)[: self.num_kept]
        self.without_improvement = 0 if improved else self.without_improvement + 1
        return improved


def lines_of(path: Path, kind: str = "") -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, or those of a kind; not one that a crash has cut short, or that is being written."""
    whole = path.read_bytes().rpartition(b"\n")[0] if path.is_file() else b""
    return [line for line in map(json.loads, whole.splitlines()) if kind in ("", line["kind"])]


class Reporter(AbstractContextManager["Reporter"]):
    """Writes each measurement to metrics.jsonl and TensorBoard, and shows the newest on the screen."""

    def __init__(self, run: Path, settings: TrainConfig, begun: tuple[int, float], show: bool, writes: bool) -> None:
        """begun: the steps and seconds that are done already."""
        self.settings, self.show, self._loss = settings, show, math.nan
        self._first: tuple[float, int] | None = None
        self._shown_at = time.monotonic() + FIRST_LINE_SECONDS - LINE_EVERY_SECONDS
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
            kept = [json.dumps(line) + "\n" for line in lines_of(self._path) if line["step"] <= step]
            write_file(self._path, "".join(kept).encode())

    def progress(self, step: int, seconds: float, loss: float, speed: float, rate: float) -> None:
        """Show the newest numbers, the loss smoothed, and the time left at the speed so far, validations included."""
        done, total, unit = self._extent(step, seconds)
        self._loss = SMOOTHING * self._loss + (1 - SMOOTHING) * loss if math.isfinite(self._loss) else loss
        numbers = f"loss {self._loss:.3f}  {speed:,.0f} tokens/s  rate {rate:.2e}"
        now = time.monotonic()
        began, done_before = self._first = self._first or (now, done)
        if self._bar is None and now - self._shown_at > LINE_EVERY_SECONDS and done > done_before:
            self._shown_at = now
            left = (now - began) * (total - done) / (done - done_before)
            self.say(f"{unit} {done:,}/{total:,}  {numbers}  {in_words(left)} left")
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

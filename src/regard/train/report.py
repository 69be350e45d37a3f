"""Metrics of a run: mean losses and speed, written to metrics.jsonl and TensorBoard, shown as a progress bar."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import TrainConfig
from regard.errors import MissingExtra
from regard.files import write_file
from regard.train.loss import Sums
from regard.train.parallel import Processes
from regard.train.prefetch import DeviceBatch

METRICS = "metrics.jsonl"
LINE_EVERY_SECONDS = 30.0
"""Interval between two progress lines in seconds, where there is no terminal for a progress bar."""


class Meter:
    """Mean losses and speed since the last reading; the host waits for the device only when it reads."""

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

    def add(self, batches: list[DeviceBatch], sums: Sums, skips: Float[Tensor, ""]) -> None:
        """Count one step; the loss of a skipped one, which may be NaN, is left out."""
        num_targets = sums.loss.new_full((), sum(batch.num_targets for batch in batches))
        found = torch.stack([*sums, num_targets])
        self._sums += found.where(skips == 0, 0.0)
        self._num_tokens += sum(batch.num_tokens for batch in batches)
        self._num_steps += 1

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


class Reporter:
    """Writes each measurement to metrics.jsonl and shows the newest on the screen."""

    def __init__(
        self,
        run: Path,
        settings: TrainConfig,
        *,
        step: int,
        seconds: float,
        show: bool,
        writes: bool = True,
    ) -> None:
        self.minutes, self.num_steps = settings.minutes, settings.steps
        self.show, self._shown_at = show, time.monotonic()
        self._path = run / METRICS if writes else Path(os.devnull)
        self._file = self._path.open("a", encoding="utf-8")
        self.forget_after(step)
        self._board = _open_tensorboard(run) if settings.tensorboard and writes else None
        self._bar = _progress_bar(*self._extent(step, seconds)) if show else None

    def __enter__(self) -> Reporter:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._file.close()
        if self._board is not None:
            self._board.close()

    def record(self, kind: str, step: int, **values: Any) -> None:
        """Write one line of metrics.jsonl; `kind` is train, valid, skipped or rollback."""
        line = {"kind": kind, "step": step, "time": round(time.time(), 3)}
        for name, value in values.items():
            not_finite = isinstance(value, float) and not math.isfinite(value)
            line[name] = None if not_finite else value
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def forget_after(self, step: int) -> None:
        """Drop the lines of steps that will be repeated."""
        if not self._path.is_file():
            return
        lines = self._path.read_text("utf-8").splitlines()
        kept = [line for line in lines if _step_of(line) <= step]
        self._file.close()
        write_file(self._path, "".join(line + "\n" for line in kept).encode())
        self._file = self._path.open("a", encoding="utf-8")

    def progress(
        self, step: int, seconds: float, loss: float, tokens_a_second: float, rate: float
    ) -> None:
        done, total, unit = self._extent(step, seconds)
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0],
                completed=done,
                loss=f"{loss:.3f}",
                speed=f"{tokens_a_second:,.0f}",
                rate=f"{rate:.2e}",
            )
        elif self.show and time.monotonic() - self._shown_at > LINE_EVERY_SECONDS:
            self._shown_at = time.monotonic()
            self.say(
                f"{unit} {done:,}/{total:,}  loss {loss:.3f}  "
                f"{tokens_a_second:,.0f} tokens/s  rate {rate:.2e}"
            )

    def _extent(self, step: int, seconds: float) -> tuple[int, int, str]:
        """Done, total, and their unit."""
        if self.minutes is not None:
            return round(seconds), round(60 * self.minutes), "second"
        assert self.num_steps is not None
        return step, self.num_steps, "step"

    def say(self, text: str) -> None:
        """Print a line above the progress bar."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)
        elif self.show:
            print(text, file=sys.stderr, flush=True)


def _progress_bar(done: int, total: int, unit: str) -> Any:
    """None where there is no terminal."""
    from rich import progress
    from rich.console import Console

    text, console = progress.TextColumn, Console(stderr=True)
    if not console.is_terminal:
        return None
    bar = progress.Progress(
        text("training"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        text(f"{unit}s"),
        text("loss {task.fields[loss]}"),
        text("{task.fields[speed]} tokens/s"),
        text("rate {task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        console=console,
    )
    bar.add_task("", total=total, completed=done, loss="-", speed="-", rate="-")
    return bar


def _open_tensorboard(run: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra("tensorboard", "tensorboard", "tensorboard=true") from error
    return SummaryWriter(str(run / "tensorboard"))


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")  # cut short by a crash

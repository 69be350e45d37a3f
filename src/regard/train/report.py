"""What a run tells while it works: a progress bar, metrics.jsonl always, TensorBoard when asked."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

from regard.config import TrainConfig
from regard.errors import MissingExtra
from regard.files import write_file

METRICS = "metrics.jsonl"
LINE_EVERY_SECONDS = 30.0
"""without a terminal a plain line takes the progress bar's place, this often"""


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
        self._bar: Any = None
        self._task: Any = None
        if show:
            done, total, unit = self._extent(step, seconds)
            self._bar, self._task = _progress_bar(done, total, unit)

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
        """One line of metrics.jsonl; `kind` is what was measured: train or valid."""
        numbers = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()
        }
        line = {"kind": kind, "step": step, "time": round(time.time(), 3), **numbers}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def forget_after(self, step: int) -> None:
        """Drop the lines of steps that will be done again."""
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
                self._task,
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
        """What is behind, the whole, and what is counted."""
        if self.minutes is not None:
            return round(seconds), round(60 * self.minutes), "second"
        assert self.num_steps is not None
        return step, self.num_steps, "step"

    def say(self, text: str) -> None:
        """A line for the reader, above the progress bar."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False)
        elif self.show:
            print(text, file=sys.stderr, flush=True)


def _progress_bar(done: int, total: int, unit: str) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    if not console.is_terminal:
        return None, None
    bar = Progress(
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit}s"),
        TextColumn("loss {task.fields[loss]}"),
        TextColumn("{task.fields[speed]} tokens/s"),
        TextColumn("rate {task.fields[rate]}"),
        TimeLeft(),
        console=console,
    )
    task = bar.add_task("", total=total, completed=done, loss="-", speed="-", rate="-")
    return bar, task


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

"""The training loop: batches in, updates of the weights, a validation and a checkpoint now and then.

Read `Trainer.run` from top to bottom; everything it calls is below it.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.config import TrainConfig
from regard.errors import RegardError, TrainingError
from regard.model.transformer import Translating
from regard.text.batches import BatchStream
from regard.train.checkpoints import keep_best, load_latest, save_best, save_checkpoint
from regard.train.course import Course
from regard.train.feed import Feed
from regard.train.meter import Clock, Meter
from regard.train.optimizer import RunningAverage, make_optimizer
from regard.train.report import Reporter
from regard.train.split import SplittingUpdater
from regard.train.update import STEPS_BEFORE_RECORDING, Updater

LOG_EVERY = {"cuda": 20}
"""steps between two looks at the loss, where a look makes the host wait for the device; elsewhere 1"""


class Interrupted(RegardError):
    """A signal asked the run to stop; everything is saved."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name} with everything saved: continue with --resume")
        self.exit_code = 128 + number


class Validation(NamedTuple):
    loss: float
    """plain cross-entropy for each target token"""
    bleu: float | None
    """of greedy translations; measured only when it is what the run looks at"""


@dataclass
class History:
    """What early stopping and the choice of the best weights look at."""

    best: list[tuple[float, float, int]]
    """the best validations, best first: score, what decides between equal scores, and the step"""
    without_improvement: int = 0


class Trainer:
    """One run: its weights, their running average, the optimizer, the data and the history."""

    def __init__(
        self,
        model: Translating,
        stream: BatchStream,
        validate: Callable[[Translating], Validation],
        settings: TrainConfig,
        run: Path,
        *,
        longest: int,
    ) -> None:
        self.model, self.settings, self.run_folder = model, settings, run
        self.validate_model = validate
        self.device = next(model.parameters()).device
        self.course = Course(settings)
        self.clock = Clock()
        self.optimizer = make_optimizer(model, settings)
        self.average = RunningAverage(model.parameters(), settings.ema)
        self.stream = stream
        self.history = History([])
        self.step = 0
        self.is_done = False
        self._signal = 0
        self.update = Updater(model, self.optimizer, settings, longest=longest)

    def run(self, reporter: Reporter, stop_at: int | None = None) -> None:
        """Train to the end, to the step `stop_at`, or until nothing improves any more."""
        settings, course, clock = self.settings, self.course, self.clock
        update = SplittingUpdater(self.update, reporter.say)
        first_steps = range(self.step, self.step + self._num_first_steps)
        validated_at, last = clock.seconds, math.inf if stop_at is None else stop_at
        with self._signals(), self.update.own_stream(), Feed(self.stream, self.device) as feed:
            meter = Meter(self.device)
            self.model.train()
            clock.run(first=self.step in first_steps)
            while not (self.is_done or self._exhausted or self.step >= last):
                batches = [next(feed) for _ in range(settings.accumulate)]
                sums = update(batches, course.rate(self.step + 1, clock.seconds))
                if settings.ema:
                    self.average.update(self.step)
                self.step += 1
                meter.add(batches, sums)
                if self.step == first_steps.stop:
                    self._wait_for_device()
                    clock.run()
                seconds = clock.seconds
                self.is_done = course.done(self.step, seconds) == 1
                validates = course.is_due(self.step, seconds, validated_at)
                saves = validates or self.step == last or bool(self._signal)
                if saves or self.step % LOG_EVERY.get(self.device.type, 1) == 0:
                    self._log(meter, reporter)
                if saves:
                    clock.stop()
                if validates:
                    validated_at = seconds
                    self._validate(reporter)
                    meter.restart()
                if saves:
                    self.save(feed.position)
                    keep_best(self.run_folder, [step for *_, step in self.history.best])
                    clock.run(first=self.step in first_steps)
                if self._signal:
                    raise Interrupted(self._signal)
            clock.stop()

    @property
    def _num_first_steps(self) -> int:
        """Steps that compile and record, whose time says nothing about the others."""
        if self.update.records:
            return STEPS_BEFORE_RECORDING + 1
        return int(bool(self.settings.compile))

    def _wait_for_device(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @property
    def _exhausted(self) -> bool:
        return 0 < self.settings.patience <= self.history.without_improvement

    def _log(self, meter: Meter, reporter: Reporter) -> None:
        loss, plain, speed = meter.read()
        self._check_number(loss)
        seconds = self.clock.seconds
        rate = self.course.rate(self.step, seconds)
        measured = {"loss": loss, "nll": plain, "tokens_a_second": speed, "rate": rate}
        reporter.record("train", self.step, seconds=round(seconds, 3), **measured)
        reporter.progress(self.step, seconds, loss, speed, rate)

    def _check_number(self, loss: float) -> None:
        """Before anything is saved: weights that are no numbers must never replace good ones."""
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss must stay a number: it was {loss} at step {self.step}; "
                "start again with a lower learning_rate or a longer warmup"
            )

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """Work with the running average in place of the newest weights."""
        if self.settings.ema:
            self.average.swap()
        self.model.eval()
        try:
            yield
        finally:
            self.model.train()
            if self.settings.ema:
                self.average.swap()

    def _validate(self, reporter: Reporter) -> None:
        """Measure, keep the weights if they are among the best, and remember whether it got better."""
        with self.averaged_weights():
            result = self.validate_model(self.model)
            self._check_number(result.loss)
            scores = (result.bleu or 0.0, -result.loss)
            known = self.history.best
            improved = not known or scores > known[0][:2]
            ranked = sorted([*known, (*scores, self.step)], reverse=True)[: self.settings.average]
            if self.step in [step for *_, step in ranked]:
                save_best(self.run_folder, self.step, weights_of(self.model))
        self.history.best = ranked
        self.history.without_improvement = 0 if improved else self.history.without_improvement + 1
        seconds = round(self.clock.seconds, 3)
        reporter.record("valid", self.step, seconds=seconds, loss=result.loss, bleu=result.bleu)
        reporter.say(
            f"step {self.step:,}: validation loss {result.loss:.3f}"
            + ("" if result.bleu is None else f", greedy BLEU {result.bleu:.2f}")
            + (" (best)" if improved else "")
        )

    def save(self, position: dict[str, Any]) -> None:
        """A checkpoint from which `restore` continues bit for bit on the same kind of machine."""
        names = [name for name, _ in self.model.named_parameters()]
        tensors = {f"weights.{n}": value for n, value in weights_of(self.model).items()}
        if self.settings.ema:
            tensors |= {f"average.{n}": v for n, v in zip(names, self.average.values, strict=True)}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"adam.{key}.{name}"] = torch.as_tensor(value)
        tensors["generator.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["generator.cuda"] = torch.cuda.get_rng_state(self.device)
        save_checkpoint(
            self.run_folder,
            self.step,
            tensors,
            {
                "step": self.step,
                "seconds": self.clock.seconds,
                "first_seconds": self.clock.first_seconds,
                "position": position,
                "best": self.history.best,
                "without_improvement": self.history.without_improvement,
            },
        )

    def restore(self) -> bool:
        """Continue from the newest checkpoint; False where there is none."""
        found = load_latest(self.run_folder, self.device)
        if found is None:
            return False
        tensors, state = found
        with torch.no_grad():
            for name, value in weights_of(self.model).items():
                value.copy_(tensors[f"weights.{name}"])
            for i, (name, parameter) in enumerate(self.model.named_parameters()):
                if self.settings.ema:
                    self.average.values[i].copy_(tensors[f"average.{name}"])
                moments = {
                    key: tensors[f"adam.{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq")
                }
                # A fused Adam counts its steps on the device, the plain one on the host.
                fused = bool(self.optimizer.param_groups[0]["fused"])
                moments["step"] = moments["step"] if fused else moments["step"].cpu()
                self.optimizer.state[parameter] = moments
        torch.set_rng_state(tensors["generator.cpu"].cpu())
        if "generator.cuda" in tensors and self.device.type == "cuda":
            torch.cuda.set_rng_state(tensors["generator.cuda"].cpu(), self.device)
        self.step = state["step"]
        self.clock.set(state["seconds"], state["first_seconds"])
        self.is_done = self.course.done(self.step, self.clock.seconds) == 1
        self.stream.restore(state["position"])
        self.history = History(
            [(score, other, step) for score, other, step in state["best"]],
            state["without_improvement"],
        )
        return True

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Let the first SIGINT or SIGTERM save and stop after the step; the second acts at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def remember(number: int, frame: object) -> None:
            self._signal = number
            for known, handler in before.items():
                signal.signal(known, handler)

        for number in before:
            signal.signal(number, remember)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def weights_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every weight once, a shared table under its first name, and the statistics of norms that have some."""
    named = (*model.named_parameters(), *model.named_buffers())
    return {name: value.detach() for name, value in named}

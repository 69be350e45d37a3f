"""The training loop: batches in, updates of the weights, a validation and a checkpoint now and then.

Read `Trainer.run` from top to bottom; everything it calls is below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard.config import RUNNING_TEXT, TrainConfig
from regard.data.batches import BatchStream
from regard.data.stretches import ProseStream
from regard.errors import TrainingError
from regard.model.transformer import Model
from regard.train.checkpoints import load_latest, save_best, save_checkpoint, tidy
from regard.train.course import Course
from regard.train.feed import Feed
from regard.train.guard import MOST_IN_A_ROW
from regard.train.history import History, Validation
from regard.train.meter import Clock, Meter
from regard.train.optimizer import RunningAverage, make_optimizer
from regard.train.parallel import Processes, whole_model
from regard.train.report import Reporter
from regard.train.signals import Interrupted, Signals
from regard.train.split import SplittingUpdater
from regard.train.state import put_back, put_back_generators, tensors_of, weights_of
from regard.train.update import STEPS_BEFORE_RECORDING, Updater, loss_for

LOG_EVERY = {"cuda": 20}
"""steps between two looks at the loss, where a look makes the host wait for the device; elsewhere 1"""
WORSE_THAN_GUESSING = 2.0
"""times the loss of a model that knows nothing: a run that is there again and again goes nowhere"""
MOST_ROLLBACKS = 3
"""without a validation of steps that went well in between"""


class Trainer:
    """One run: its weights, their running average, the optimizer, the data and the history."""

    def __init__(
        self,
        model: Model,
        stream: BatchStream | ProseStream,
        validate: Callable[[Any], Validation],
        settings: TrainConfig,
        run: Path,
        *,
        longest: int,
        processes: Processes | None = None,
    ) -> None:
        self.model, self.settings, self.run_folder = model, settings, run
        self.validate_model = validate
        self.processes = processes or Processes()
        self.device = next(model.parameters()).device
        self.course = Course(settings)
        self.clock = Clock()
        loss = self.processes.wrap(model, loss_for(settings, self.device), sharded=settings.sharded)
        self.optimizer = make_optimizer(model, settings)
        self.average = RunningAverage(model.parameters(), settings.ema)
        self.stream = stream
        self.history = History(settings.average)
        self.step = 0
        self.is_done = False
        self.owes_validation = False
        """whether the validation that is due after this step is still to come"""
        self.signals = Signals(many=not self.processes.alone)
        self._num_skipped = self._num_bad_looks = self._num_rollbacks = 0
        self.update = Updater(model, self.optimizer, settings, longest=longest, loss=loss)

    def run(self, reporter: Reporter, stop_at: int | None = None) -> None:
        """Train to the end, to the step `stop_at`, or until nothing improves any more."""
        course, clock = self.course, self.clock
        first_steps = range(self.step, self.step + self._num_first_steps)
        seconds = validated_at = clock.seconds
        last = math.inf if stop_at is None else stop_at
        with (
            self.signals.watched(),
            self.update.own_stream(),
            Feed(self.stream, self.device) as feed,
        ):
            update, meter = SplittingUpdater(self.update, reporter.say), Meter(self.device)
            self.model.train()
            clock.run(first=self.step in first_steps)
            while self.owes_validation or not self._ends_at(last):
                if not self.owes_validation:
                    self._do_step(feed, update, meter, seconds)
                    if self.step == first_steps.stop:
                        self._wait_for_device()
                        clock.run()
                seconds, stops = self._agreed(seconds)
                if not self.owes_validation:
                    self.is_done = course.done(self.step, seconds) == 1
                    self.owes_validation = course.is_due(self.step, seconds, validated_at)
                saves = self.owes_validation or self.step == last or stops
                if saves or self.step % LOG_EVERY.get(self.device.type, 1) == 0:
                    self._log(meter, reporter)
                    if self._rolled_back(feed.position, reporter):
                        continue
                if saves:
                    clock.stop()
                if self.owes_validation and not stops:
                    validated_at = seconds
                    self._validate(reporter)
                    meter.restart()
                    if self.owes_validation:  # a signal has cut it short
                        stops = self.signals.number
                if saves:
                    self.save(feed.position)
                    clock.run(first=self.step in first_steps)
                if stops:
                    raise Interrupted(stops)
            clock.stop()
        if self._exhausted and not self.is_done:
            reporter.say(
                f"stopped early: no better validation in the last {self.settings.patience}; "
                "--set patience=0 trains to the end"
            )

    def _do_step(self, feed: Feed, update: SplittingUpdater, meter: Meter, seconds: float) -> None:
        batches = [next(feed) for _ in range(self.settings.accumulate)]
        mine = self.processes.share(batches)
        num_targets = self.processes.total(sum(fed.num_targets for fed in mine), self.device)
        self.processes.seed(self.settings.seed, self.step)
        rate = self.course.rate(self.step + 1, seconds)
        sums = update(mine, rate, num_targets / self.processes.size)
        if self.settings.ema:
            self.average.update(self.step)
        self.step += 1
        meter.add(mine, sums, self.update.guard.skips)

    def _agreed(self, seconds: float) -> tuple[float, int]:
        """The time and the signal that all processes go by; between two looks, the time as it was."""
        # On many machines to agree takes longer than a step on a GPU.
        if not self.processes.alone and self.step % LOG_EVERY.get(self.device.type, 1):
            return seconds, 0
        seconds, signal = self.processes.agree(self.clock.seconds, float(self.signals.number))
        return seconds, int(signal)

    def _ends_at(self, last: int | float) -> bool:
        return self.is_done or self._exhausted or self.step >= last

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
        if meter.is_empty:
            return
        loss, plain, speed = meter.read(self.processes)
        guessing = math.log(self.model.config.target_vocab_size)
        self._num_bad_looks += 1
        if math.isnan(plain) or plain <= WORSE_THAN_GUESSING * guessing:
            self._num_bad_looks = 0
        seconds = self.clock.seconds
        rate = self.course.rate(self.step, seconds)
        measured = {"loss": loss, "nll": plain, "tokens_a_second": speed, "rate": rate}
        reporter.record("train", self.step, seconds=round(seconds, 3), **measured)
        reporter.progress(self.step, seconds, loss, speed, rate)

    def _rolled_back(self, position: dict[str, Any], reporter: Reporter) -> bool:
        """Whether the run went wrong and now goes on from its last checkpoint, with the text that comes next."""
        guard = self.update.guard
        skipped = guard.read()
        if skipped.total > self._num_skipped:
            more, self._num_skipped = skipped.total - self._num_skipped, skipped.total
            reporter.record(
                "skipped", self.step, steps=more, total=skipped.total, position=position
            )
        if skipped.longest_row >= MOST_IN_A_ROW:
            reason = f"{skipped.longest_row} steps in a row had a gradient that is no number or far too large"
        elif self._num_bad_looks >= MOST_IN_A_ROW:
            reason = "the loss stays far above that of guessing"
        else:
            return False
        found = load_latest(self.run_folder, self.device)
        if found is None or self._num_rollbacks == MOST_ROLLBACKS:
            raise TrainingError(
                f"the loss must fall: at step {self.step} {reason}; "
                "start again with a lower learning_rate or a longer warmup"
            )
        tensors, state = found
        put_back(self, tensors)
        reporter.say(f"step {self.step:,}: {reason}; going back to step {state['step']:,}")
        self.step = state["step"]
        self.is_done = self.course.done(self.step, self.clock.seconds) == 1
        reporter.forget_after(self.step)
        reporter.record("rollback", self.step, reason=reason, position=position)
        guard.forget_row()
        self._num_skipped = guard.read().total
        self._num_rollbacks, self._num_bad_looks = self._num_rollbacks + 1, 0
        self.owes_validation = False
        return True

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
            model = whole_model(self.model)
            try:
                with self.signals.cutting_short():
                    result = self.validate_model(model)
            except Interrupted:
                return  # it stays owed
            self._check_number(result.loss)
            improved = self.history.add(self.step, result)
            if self.step in self.history.best_steps and self.processes.is_first:
                save_best(self.run_folder, self.step, weights_of(model))
        self.owes_validation = False
        if not self.update.guard.read().in_a_row:
            self._num_rollbacks = 0
        seconds = round(self.clock.seconds, 3)
        reporter.record("valid", self.step, seconds=seconds, loss=result.loss, bleu=result.bleu)
        reporter.say(
            f"step {self.step:,}: validation loss {result.loss:.3f}"
            + ("" if result.bleu is None else f", greedy BLEU {result.bleu:.2f}")
            + (f", perplexity {math.exp(result.loss):.2f}" if self._is_of_text else "")
            + (" (best)" if improved else "")
        )

    @property
    def _is_of_text(self) -> bool:
        return self.settings.objective in RUNNING_TEXT

    def save(self, position: dict[str, Any]) -> None:
        """A checkpoint from which `restore` continues bit for bit on the same kind of machine."""
        tensors = tensors_of(self)
        state = {
            "step": self.step,
            "seconds": self.clock.seconds,
            "first_seconds": self.clock.first_seconds,
            "position": self.processes.merged(position),
            "owes_validation": self.owes_validation,
            **self.history.state(),
        }
        if self.processes.is_first:
            save_checkpoint(self.run_folder, self.step, tensors, state)
        self.processes.wait()

    def restore(self) -> bool:
        """Continue from the newest checkpoint; False where there is none."""
        if self.processes.is_first:
            tidy(self.run_folder)
        found = load_latest(self.run_folder, self.device)
        if found is None:
            return False
        tensors, state = found
        put_back(self, tensors)
        put_back_generators(self, tensors)
        self.step = state["step"]
        self.clock.set(state["seconds"], state["first_seconds"])
        self.is_done = self.course.done(self.step, self.clock.seconds) == 1
        self.owes_validation = state["owes_validation"]
        self._num_skipped = self.update.guard.read().total
        self.stream.restore(state["position"])
        self.history.restore(state)
        return True

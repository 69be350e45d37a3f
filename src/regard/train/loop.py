"""The training loop: batches, updates of the weights, and now and then a validation and a checkpoint.

Read `Trainer.run` from top to bottom; everything it calls is below it.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard.config import TrainConfig
from regard.data.batch_stream import BatchStream
from regard.errors import TrainingError
from regard.model.transformer import Model
from regard.train import checkpoints
from regard.train.batches import Prefetcher, share
from regard.train.diagnosis import Signs, diagnose
from regard.train.loss import BatchLoss
from regard.train.optimizer import MAX_IN_A_ROW, RunningAverage, make_optimizer, trained
from regard.train.parallel import Processes, whole_model
from regard.train.progress import Clock, History, Progress, Reporter, Validation
from regard.train.rendezvous import Interrupted, Signals
from regard.train.snapshots import SnapshotWriter
from regard.train.update import STEPS_BEFORE_RECORDING, Meter, Updater

LOG_EVERY = {"cuda": 20}
"""Steps between two readings of the loss, by device; a reading makes the host wait for a GPU. Elsewhere 1."""
WORSE_THAN_GUESSING = 2.0  # Loss that counts as diverged, as a multiple of the loss of a uniform guess.
ADVICE = "start again with a lower learning_rate or a longer warmup"
MAX_ROLLBACKS = 3
"""Consecutive rollbacks, without a good validation in between, before the run is given up."""


class Trainer:
    """One run: weights, running average, optimizer, data and history."""

    def __init__(
        self,
        model: Model,
        stream: BatchStream,
        validate: Callable[[Any], Validation],
        settings: TrainConfig,
        run: Path,
        processes: Processes,
        snapshots: SnapshotWriter | None = None,
    ) -> None:
        self.model, self.settings, self.run_folder = model, settings, run
        self.validate_model, self.stream, self.processes = validate, stream, processes
        self.snapshots = snapshots
        self.device = next(model.parameters()).device
        self.progress, self.clock = Progress(settings), Clock()
        self.history = History(settings.average)
        loss = processes.wrap(BatchLoss(model, settings), sharded=settings.sharded)
        optimizer = make_optimizer(model, settings)
        self.average = RunningAverage(trained(model).values(), settings.ema) if settings.ema else None
        longest = stream.max_sequence_length
        self.update = Updater(model, optimizer, settings, longest=longest, loss=loss)
        self.state = checkpoints.TrainingState(model, optimizer, self.average, self.update.guard)
        self.signals = Signals(many=not processes.alone)
        self.step = 0
        self.is_done = False
        self.owes_validation = False
        """whether the validation that is due after this step is still to come"""
        self._num_skipped = self._num_bad_readings = self._num_rollbacks = 0

    def run(self, reporter: Reporter, stop_at: int | None = None) -> None:
        """Train to the end, to the step `stop_at`, or until nothing improves any more."""
        clock, last = self.clock, math.inf if stop_at is None else stop_at
        # These steps compile and record; their time is counted apart.
        num_first = STEPS_BEFORE_RECORDING + 1 if self.update.records else self.settings.compile
        first_steps = range(self.step, self.step + int(num_first or 0))
        seconds = validated_at = clock.seconds
        with self.signals.watched(), self.update.own_stream(), Prefetcher(self.stream, self.device) as batches:
            meter = Meter(self.device)
            self.model.train()
            if self.step == 0:
                self._take_snapshot()
            clock.run(first=self.step in first_steps)
            while self.owes_validation or not (self.is_done or self._exhausted or self.step >= last):
                if not self.owes_validation:
                    self._do_step(batches, meter, seconds, reporter)
                    if self.step == first_steps.stop:
                        if self.device.type == "cuda":
                            torch.cuda.synchronize(self.device)
                        clock.run()
                seconds, stops = self._agreed(seconds)
                if not self.owes_validation:
                    self.is_done = self.progress.done(self.step, seconds) == 1
                    self.owes_validation = self.progress.is_due(self.step, seconds, validated_at)
                saves = self.owes_validation or self.step == last or stops
                pauses = saves or self._snapshot_is_due
                if pauses or self._reads_loss:
                    self._log(meter, reporter)
                    if self._rolled_back(batches.position, reporter):
                        continue
                if pauses:
                    clock.stop()
                if self._snapshot_is_due:
                    self._take_snapshot()
                    meter.restart()
                if self.owes_validation and not stops:
                    validated_at = seconds
                    self._validate(reporter)
                    meter.restart()
                    if self.owes_validation:  # a signal has cut it short
                        stops = self.signals.number
                if saves:
                    self.save(batches.position)
                if pauses:
                    clock.run(first=self.step in first_steps)
                if stops:
                    raise Interrupted(stops)
            clock.stop()
            if (self.is_done or self._exhausted) and not self._snapshot_is_due:
                self._take_snapshot()
        if self._exhausted and not self.is_done:
            reporter.say(f"stopped: {self.settings.patience} validations no better; --resume --set patience=0 goes on")

    @property
    def _exhausted(self) -> bool:
        return 0 < self.settings.patience <= self.history.without_improvement

    @property
    def _reads_loss(self) -> bool:
        return self.step % LOG_EVERY.get(self.device.type, 1) == 0

    @property
    def _snapshot_is_due(self) -> bool:
        return self.snapshots is not None and self.snapshots.is_due(self.step)

    def _take_snapshot(self) -> None:
        if self.snapshots is not None and self.snapshots.is_on:
            with self._averaged_weights():
                model = whole_model(self.model)
                if self.processes.is_first:
                    self.snapshots.take(self.step, model, self.update.optimizer)

    def _do_step(self, prefetched: Prefetcher, meter: Meter, seconds: float, reporter: Reporter) -> None:
        processes = self.processes
        mine = share([next(prefetched) for _ in range(self.settings.accumulate)], processes, self.stream.pad_id)
        num_targets = processes.total(sum(batch.num_targets for batch in mine), self.device)
        if not processes.alone:  # different random numbers in each process, the same whenever it comes to this step
            torch.manual_seed((self.settings.seed << 40) + (self.step << 12) + processes.rank)
        rate = self.progress.rate(self.step + 1, seconds)
        sums = self.update(mine, rate, num_targets / processes.size)
        if self.average is not None:
            self.average.update(self.step)
        self.step += 1
        meter.add(mine, sums, self.update.guard.skips)

    def _agreed(self, seconds: float) -> tuple[float, int]:
        """Time and signal, the same in all processes; between two readings the time stays as it was."""
        # On many machines an agreement takes longer than a step on a GPU.
        if not self.processes.alone and not self._reads_loss:
            return seconds, 0
        seconds, signal = self.processes.agree(self.clock.seconds, float(self.signals.number))
        return seconds, int(signal)

    def _log(self, meter: Meter, reporter: Reporter) -> None:
        if not meter.num_steps:
            return
        loss, plain, speed = meter.read(self.processes)
        guessing = math.log(self.model.config.target_vocab_size)
        bad = plain > WORSE_THAN_GUESSING * guessing  # False for NaN
        self._num_bad_readings = self._num_bad_readings + 1 if bad else 0
        seconds = self.clock.seconds
        rate = self.progress.rate(self.step, seconds)
        numbers = {"seconds": round(seconds, 3), "loss": loss, "nll": plain, "tokens_a_second": speed, "rate": rate}
        numbers["gradient"] = float(self.update.guard.norm)
        reporter.record("train", self.step, **numbers)
        reporter.progress(self.step, seconds, loss, speed, rate)

    def _rolled_back(self, position: dict[str, Any], reporter: Reporter) -> bool:
        """Return to the last checkpoint if the run has diverged; the text goes on from here."""
        skipped = self.update.guard.read()
        if skipped.total > self._num_skipped:
            more, self._num_skipped = skipped.total - self._num_skipped, skipped.total
            reporter.record("skipped", self.step, steps=more, total=skipped.total, position=position)
        if skipped.longest_row >= MAX_IN_A_ROW:
            reason = f"{skipped.longest_row} steps in a row had a gradient that is no number or far too large"
        elif self._num_bad_readings >= MAX_IN_A_ROW:
            reason = "the loss stays far above that of guessing"
        else:
            return False
        cause = f"learning_rate={self.settings.learning_rate:.1e} is likely too high"
        checkpoint = checkpoints.load_latest(self.run_folder, self.device)
        warning = f"{reason[0].upper()}{reason[1:]}: {cause}."
        if checkpoint is None or self._num_rollbacks == MAX_ROLLBACKS:
            reporter.warn(self.step, "nan", warning)
            raise TrainingError(f"the loss must fall: at step {self.step} {reason}: {cause}; {ADVICE}")
        reporter.say(f"step {self.step:,}: {reason}; going back to step {checkpoint[1]['step']:,}")
        self._load(*checkpoint)
        reporter.forget_after(self.step)
        if self.snapshots is not None and self.processes.is_first:
            self.snapshots.forget_after(self.step)
        reporter.record("rollback", self.step, reason=reason, position=position)
        reporter.warn(self.step, "nan", warning)
        self.update.guard.forget_row()
        self._num_rollbacks, self._num_bad_readings = self._num_rollbacks + 1, 0
        self.owes_validation = False
        return True

    def _validate(self, reporter: Reporter) -> None:
        """Validate, keep the weights if they are among the best, and record the result."""
        with self._averaged_weights():
            model = whole_model(self.model)
            try:
                with self.signals.cutting_short():
                    result = self.validate_model(model)
            except Interrupted:
                return  # the validation is still owed
            # Before anything is saved: NaN weights must never replace good ones.
            if not math.isfinite(result.loss):
                cause = f"learning_rate={self.settings.learning_rate:.1e} is likely too high"
                reporter.warn(self.step, "nan", f"The validation loss is no number: {cause}.")
                problem = f"the loss must stay a number: got {result.loss} at step {self.step}"
                raise TrainingError(f"{problem}: {cause}; {ADVICE}")
            improved = self.history.add(self.step, result)
            if self.step in self.history.best_steps and self.processes.is_first:
                checkpoints.save_best(self.run_folder, self.step, checkpoints.weights_of(model))
        self.owes_validation = False
        if not self.update.guard.read().in_a_row:
            self._num_rollbacks = 0
        numbers = {"loss": result.loss, "bleu": result.bleu, "best": improved}
        reporter.record("valid", self.step, seconds=round(self.clock.seconds, 3), **numbers)
        reporter.say(f"step {self.step:,}: validation {result}{' (best)' * improved}")
        self._diagnose(result, reporter)

    def _diagnose(self, result: Validation, reporter: Reporter) -> None:
        done = self.progress.done(self.step, self.clock.seconds)
        guessing = math.log(self.model.config.target_vocab_size)
        train = [line["nll"] for line in reporter.lines("train")]
        valid = [line["loss"] for line in reporter.lines("valid")]
        signs = Signs(train, valid, done, guessing, result.exchanged)
        if signs.valid and (found := diagnose(signs, self.settings)):
            reporter.warn(self.step, *found)

    @contextmanager
    def _averaged_weights(self) -> Iterator[None]:
        """Work with the running average in place of the newest weights."""
        swap = self.average.swap if self.average is not None else lambda: None
        swap()
        self.model.eval()
        try:
            yield
        finally:
            self.model.train()
            swap()

    def save(self, position: dict[str, Any]) -> None:
        """Save a checkpoint; `restore` continues from it bit for bit on the same kind of machine."""
        tensors = self.state.tensors()
        state = {
            "step": self.step,
            "seconds": self.clock.seconds,
            "first_seconds": self.clock.first_seconds,
            "total_seconds": self.clock.total,
            "position": self.processes.merged(position),
            "owes_validation": self.owes_validation,
            "best": self.history.best,
            "without_improvement": self.history.without_improvement,
        }
        if self.processes.is_first:
            checkpoints.save_checkpoint(self.run_folder, self.step, tensors, state)
        self.processes.wait()

    def restore(self) -> bool:
        """Continue from the newest checkpoint; False where there is none."""
        if self.processes.is_first:
            checkpoints.tidy(self.run_folder)
        checkpoint = checkpoints.load_latest(self.run_folder, self.device)
        if checkpoint is None:
            return False
        tensors, state = checkpoint
        self.clock = Clock(state["seconds"], state["first_seconds"], state.get("total_seconds", state["seconds"]))
        self._load(tensors, state)
        self.state.restore_generators(tensors)
        self.owes_validation = state["owes_validation"]
        self.stream.restore(state["position"])
        self.history.best = [(score, other, step) for score, other, step in state["best"]]
        self.history.without_improvement = state["without_improvement"]
        if self.snapshots is not None and self.processes.is_first:
            self.snapshots.forget_after(self.step)
        return True

    def _load(self, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
        self.state.restore(tensors)
        self.step = state["step"]
        self.is_done = self.progress.done(self.step, self.clock.seconds) == 1
        self._num_skipped = self.update.guard.read().total

"""The run behind a model: its snapshots as models to look into, its curves, and what it wrote on the way."""

import json
import os
import threading
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from regard.engine.torch import model_of
from regard.errors import UsageError
from regard.folder.manifest import Manifest
from regard.look.subject import Subject
from regard.model.transformer import Model
from regard.train.corpora import TOKENIZERS, Tokenizers, load_tokenizers
from regard.train.finish import manifest_of
from regard.train.plan import RESULT, RUN_FILE, Plan
from regard.train.progress import METRICS, Progress
from regard.train.snapshots import Snapshot, list_snapshots, probes_of, read_snapshot

MAX_POINTS = 400  # Points of a curve on the page; a longer run is thinned.


class _Metrics:
    """The whole lines of a growing file by kind: what was read is not read again, unless the run went back."""

    def __init__(self) -> None:
        self._lines = defaultdict[str, list[dict[str, Any]]](list)
        self._place, self._inode = 0, 0
        self._lock = threading.Lock()

    def read(self, path: Path) -> Mapping[str, list[dict[str, Any]]]:
        with self._lock:
            if not path.is_file():
                return self._lines
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if (status.st_ino, status.st_size >= self._place) != (self._inode, True):
                    self._lines, self._place, self._inode = defaultdict(list), 0, status.st_ino
                file.seek(self._place)
                whole, end, _ = file.read().rpartition(b"\n")
                self._place += len(whole + end)
            for line in map(json.loads, whole.splitlines()):
                self._lines[line["kind"]].append(line)
            return self._lines


class Budget:
    """The share of a trainer's processor time that the answers to its page may take, and how long the page should rest."""

    def __init__(self, share: float = 0.02) -> None:
        self._share, self._began = share, time.process_time()
        self._answers, self._next = list[float](), 0.0

    def spend(self, seconds: float, is_change: bool) -> None:
        """Count an answer. A change of what is shown is followed by other requests."""
        self._answers.append(seconds)
        self._next = 2 * seconds if is_change else self._next

    @property
    def wait(self) -> float:
        """Seconds until there is time to show the next snapshot."""
        return max(0.0, (sum(self._answers) + self._next) / self._share - (time.process_time() - self._began))


@dataclass(frozen=True)
class TrainingRun:
    """A run's folder, finished or not."""

    folder: Path
    budget: Budget | None = None  # where the page's answers take the trainer's own time
    _probes: dict[int, list[dict[str, str]]] = field(default_factory=dict)
    _metrics: _Metrics = field(default_factory=_Metrics)

    @classmethod
    def at(cls, folder: Path) -> Self | None:
        """The run in a folder; None where it has no snapshots."""
        return cls(folder) if (folder / RUN_FILE).is_file() and list_snapshots(folder) else None

    @property
    def is_finished(self) -> bool:
        return (self.folder / RESULT).is_file()

    @cached_property
    def plan(self) -> Plan:
        return Plan.load(self.folder / RUN_FILE)

    @cached_property
    def tokenizers(self) -> Tokenizers:
        return load_tokenizers(self.folder / TOKENIZERS, self.manifest.tokenizer, self.plan.model)

    @cached_property
    def manifest(self) -> Manifest:
        return manifest_of(self.plan)

    def snapshot(self, step: int) -> Snapshot:
        if step not in list_snapshots(self.folder):
            steps = ", ".join(map(str, list_snapshots(self.folder)))
            raise UsageError(f"step must be one of a snapshot: got {step}; choose one of {steps}")
        return read_snapshot(self.folder, step)

    def subject(self, step: int) -> Subject:
        """The model as it was at a step, in the bytes of its snapshot."""
        network = model_of(self.snapshot(step).tensors, self.plan.model)
        return Subject(self.folder.resolve().name, self.manifest, network, *self.tokenizers, step=step)

    def rate(self, step: int) -> float:
        """The learning rate of the step after this one."""
        lines = [line for line in self._metrics.read(self.folder / METRICS)["train"] if line["step"] <= step]
        return Progress(self.plan.train).rate(step + 1, lines[-1]["seconds"] if lines else 0.0)

    def first_text(self) -> str:
        """A sentence to begin with: the first probe."""
        return next((each["source"] for each in self.snapshot(list_snapshots(self.folder)[0]).probes), "")

    def probes(self, step: int | None, network: Model | None = None) -> list[dict[str, str]]:
        """What the model wrote at a step, by default the last; network: the snapshot's, where it is open."""
        if step is None:
            step, network = list_snapshots(self.folder)[-1], None
        if step not in self._probes:
            self._probes[step] = probes_of(self.folder, step, self.plan, self.tokenizers, network)
        return self._probes[step]

    def describe(self, after: int = 0) -> dict[str, Any]:
        """What the page shows of the run beside a sentence: steps, curves after a step, and what may be wrong."""
        lines = self._metrics.read(self.folder / METRICS)
        train, valid, warnings = lines["train"], lines["valid"], lines["warning"]
        after = 0 if lines["rollback"] else after  # a run that was rolled back has repeated steps
        last, stride = len(train) - 1, max(1, len(train) // MAX_POINTS)
        places = range(bisect_right(train, after, key=lambda line: int(line["step"])), last + 1)
        # The first steps, where most is learnt, are few: they stay.
        kept = [train[i] for i in places if i < MAX_POINTS // 4 or i % stride == 0 or i == last]
        return {
            "steps": list_snapshots(self.folder),
            "finished": self.is_finished,
            "after": after,
            "train": [{name: line.get(name) for name in ("step", "loss", "rate", "gradient")} for line in kept],
            "valid": [{name: line.get(name) for name in ("step", "loss", "bleu")} for line in valid],
            "warning": warnings[-1]["text"] if warnings else None,
            "smoothing": self.plan.train.label_smoothing or 0.0,
            "wait": self.budget.wait if self.budget and not self.is_finished else 0,
        }

"""The run behind a model: its snapshots as models to look into, its curves, and what it wrote on the way."""

import functools
import json
import os
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from regard.engine.torch import model_of
from regard.errors import UsageError
from regard.folder.manifest import Manifest
from regard.look.subject import Subject
from regard.train.corpora import TOKENIZERS, Tokenizers, load_tokenizers
from regard.train.finish import manifest_of
from regard.train.plan import RESULT, RUN_FILE, Plan
from regard.train.progress import METRICS, Progress
from regard.train.snapshots import Snapshot, list_snapshots, probes_of, read_snapshot

MOST_POINTS = 400  # Points of a curve on the page; a longer run is thinned.


class _Metrics:
    """The whole lines of a growing file: what was read is not read again, unless the run went back."""

    def __init__(self) -> None:
        self._lines: list[dict[str, Any]] = []
        self._place, self._inode = 0, 0
        self._lock = threading.Lock()

    def read(self, path: Path) -> list[dict[str, Any]]:
        with self._lock:
            if not path.is_file():
                return []
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if (status.st_ino, status.st_size >= self._place) != (self._inode, True):
                    self._lines, self._place, self._inode = [], 0, status.st_ino
                file.seek(self._place)
                whole, end, _ = file.read().rpartition(b"\n")
                self._place += len(whole + end)
            self._lines += [json.loads(line) for line in whole.splitlines()]
            return list(self._lines)


@dataclass(frozen=True)
class TrainingRun:
    """A run's folder, finished or not."""

    folder: Path

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
        lines = [line for line in self.lines("train") if line["step"] <= step]
        return Progress(self.plan.train).rate(step + 1, lines[-1]["seconds"] if lines else 0.0)

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl of this kind."""
        return [line for line in self._metrics.read(self.folder / METRICS) if line["kind"] == kind]

    @cached_property
    def _metrics(self) -> _Metrics:
        return _Metrics()

    def first_text(self) -> str:
        """A sentence to begin with: the first probe."""
        return next((each["source"] for each in probes_of(self.folder, list_snapshots(self.folder)[0])), "")

    def describe(self) -> dict[str, Any]:
        """What the page shows of the run beside a sentence: steps, curves, probes, and what may be wrong."""
        steps, train, valid = list_snapshots(self.folder), self.lines("train"), self.lines("valid")
        stride = max(1, len(train) // MOST_POINTS)
        # The first steps, where most is learnt, are few: they stay.
        kept = [line for i, line in enumerate(train) if i < MOST_POINTS // 4 or i % stride == 0 or i == len(train) - 1]
        warnings = self.lines("warning")
        return {
            "name": self.folder.resolve().name,
            "steps": steps,
            "planned": self.plan.train.steps,
            "finished": self.is_finished,
            "train": [{name: line.get(name) for name in ("step", "loss", "nll", "rate", "gradient")} for line in kept],
            "valid": [{name: line.get(name) for name in ("step", "loss", "bleu")} for line in valid],
            "probes": {str(step): _probes(self.folder, step) for step in steps},
            "warning": warnings[-1]["text"] if warnings else None,
        }


_probes = functools.lru_cache(maxsize=100)(probes_of)

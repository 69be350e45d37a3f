"""What a comparison has to do, piece by piece: each piece leaves one file of results, and is not done again.

results/models/CORPUS/NAME-SEED.json     translations of the test set, looks, time, parameters
results/recall/NAME-SEED.json            accuracy by distance
results/speed/NAME-DEVICE.json           tokens a second by length
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.compare.study import Study

Kind = Literal["model", "recall", "speed"]
RESULTS = "results"


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work; `place` is the corpus of a model, or the device of a speed."""

    kind: Kind
    name: str
    seed: int = 1
    place: str = ""

    def result(self, output: Path) -> Path:
        folder = output / RESULTS
        if self.kind == "model":
            return folder / "models" / self.place / f"{self.name}-{self.seed}.json"
        if self.kind == "recall":
            return folder / "recall" / f"{self.name}-{self.seed}.json"
        return folder / "speed" / f"{self.name}-{self.place}.json"

    def __str__(self) -> str:
        if self.kind == "speed":
            return f"speed of {self.name} on {self.place}"
        what = f"recall of {self.name}" if self.kind == "recall" else f"{self.name} on {self.place}"
        return f"{what}, seed {self.seed}"


def model_tasks(study: Study) -> list[Task]:
    """Every model with every seed; the first seeds of all come first, so that an early end shows all models.

    Those of a seed are mixed, each time otherwise: what shares a machine disturbs one another, and is not to be the same twice.
    """
    found = [
        Task("model", each.name, seed, corpus)
        for each in study.contenders.values()
        for corpus in study.corpora_of(each)
        for seed in each.seeds
    ]
    order = {seed: i for i, seed in enumerate(dict.fromkeys(task.seed for task in found))}
    random.Random(1).shuffle(found)
    return sorted(found, key=lambda task: order[task.seed])


def recall_tasks(study: Study) -> list[Task]:
    if study.recall is None:
        return []
    return [Task("recall", name, seed) for seed in study.seeds for name in study.recall.models]


def speed_tasks(study: Study, devices: list[str]) -> list[Task]:
    """One after another, for they measure time."""
    if study.speed is None:
        return []
    return [
        Task("speed", name, place=device)
        for device in study.speed.devices
        if device in devices
        for name in study.speed.models
    ]

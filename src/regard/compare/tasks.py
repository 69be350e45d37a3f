"""The tasks of a comparison, and the child process that does them. A task writes one file and is done once.

results/models/CORPUS/NAME-SEED.json     translations of the test set, alignments, time, parameters
results/recall/NAME-SEED.json            accuracy by distance
results/speed/NAME-DEVICE.json           tokens a second by length
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import time
from pathlib import Path
from typing import Any, Literal

import torch

from regard.compare.alignments import measure_alignments
from regard.compare.measures import measure_recall, measure_speed
from regard.compare.study import Contender, SpeedConfig, Study, parse_study
from regard.compare.texts import PreparedText
from regard.config import to_dict
from regard.data.workers import Message, serve
from regard.engine.torch import load_model
from regard.errors import RegardError
from regard.files import write_file
from regard.model.transformer import Translating
from regard.train.device import choose_device
from regard.train.finish import RESULT, commit, hardware, versions
from regard.train.plan import RUN_FILE
from regard.train.request import Request
from regard.train.run import train
from regard.train.tokenizers import load_tokenizers
from regard.train.validation import translate_all

RESULTS = "results"


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """One measurement of one model; `place` is the corpus of a model, or the device of a speed."""

    kind: Literal["model", "recall", "speed"]
    name: str
    seed: int = 1
    place: str = ""

    def result(self, output: Path) -> Path:
        folder = output / RESULTS
        if self.kind == "speed":
            return folder / "speed" / f"{self.name}-{self.place}.json"
        folder /= Path("models", self.place) if self.kind == "model" else "recall"
        return folder / f"{self.name}-{self.seed}.json"

    def __str__(self) -> str:
        if self.kind == "model":
            return f"{self.name} on {self.place}, seed {self.seed}"
        where = f" on {self.place}" if self.kind == "speed" else f", seed {self.seed}"
        return f"{self.kind} of {self.name}{where}"


def model_tasks(study: Study) -> list[Task]:
    """Every model with every seed; the first seeds come first, so that an early end has results of all models.

    The tasks of a seed are shuffled: tasks on one machine slow each other down, and not always the same two should.
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
    names = study.recall.models if study.recall else ()
    return [Task("recall", name, seed) for seed in study.seeds for name in names]


def speed_tasks(study: Study, devices: list[str]) -> list[Task]:
    """To be done one after another, because they measure time."""
    speed = study.speed or SpeedConfig(models=())
    measured = [device for device in speed.devices if device in devices]
    return [Task("speed", name, place=device) for device in measured for name in speed.models]


class TaskRunner:
    """Does the tasks of one study."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.study: Study = parse_study(setup["study"], "the comparison")
        self.output = Path(setup["output"])
        if setup["cores"] and hasattr(os, "sched_setaffinity"):
            # What prepares batches counts the cores it may use, and must leave the others theirs.
            os.sched_setaffinity(0, setup["cores"])
        torch.set_num_threads(setup["num_threads"])

    def answer(self, message: Message) -> Message:
        """Write the result of a task; the answer is the text of the error, or None."""
        task = Task(**message[0])
        try:
            start = time.monotonic()
            result = self._do(task)
            seconds = round(time.monotonic() - start, 3)
            result |= {"task_seconds": seconds, "commit": commit(), "versions": versions()}
            path = task.result(self.output)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, json.dumps(result, ensure_ascii=False).encode())
        except RegardError as error:
            return {"error": str(error)}, {}
        return {"error": None}, {}

    def _do(self, task: Task) -> dict[str, Any]:
        contender = self.study.contenders[task.name]
        wanted = task.place if task.kind == "speed" else contender.recipe.train.device
        device = choose_device(wanted)
        if task.kind == "recall" and self.study.recall:
            found = measure_recall(contender, self.study.recall, task.seed, device)
        elif task.kind == "speed" and self.study.speed:
            text = PreparedText(self.output / "text" / self.study.corpus_names[0])
            vocabulary = text.about["vocabulary"]
            found = {"speeds": measure_speed(contender, self.study.speed, vocabulary, device)}
        else:
            found = self._measure_model(contender, task, device)
        return {**found, "hardware": hardware(device)}

    def _measure_model(
        self, contender: Contender, task: Task, device: torch.device
    ) -> dict[str, Any]:
        text = PreparedText(self.output / "text" / task.place)
        if contender.folder:
            folder, found = Path(contender.folder), {}
        else:
            folder = self.output / "models" / task.place / task.name / f"seed-{task.seed}"
            found = _train(contender, text, task.seed, folder)
        sources, references, links = text.test()
        model, manifest = load_model(folder)
        assert isinstance(model, Translating)
        tokenizers = load_tokenizers(folder, manifest.tokenizer)
        start = time.monotonic()
        decode = contender.recipe.decode
        hypotheses = translate_all(model.to(device), sources, tokenizers, decode, "fp32")
        found |= {
            "hypotheses": hypotheses,
            "translating_seconds": round(time.monotonic() - start, 3),
            "num_parameters": sum(p.numel() for p in model.parameters()),
            "config": to_dict(manifest.model),
        }
        config = self.study.alignment
        if config is not None and task.name in config.models:
            found["alignments"] = measure_alignments(folder, sources, references, links, config)
        return found


def _train(contender: Contender, text: PreparedText, seed: int, folder: Path) -> dict[str, Any]:
    """Train the model of this folder, or continue; the facts about a finished run."""
    recipe = contender.recipe
    request = Request(
        data=text.data_config(recipe),
        train=dataclasses.replace(recipe.train, seed=seed),
        size=recipe.size,
        model=recipe.model,
        decode=recipe.decode,
        generate=recipe.generate,
    )
    if not (folder / RESULT).is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        train(request, folder, resume=(folder / RUN_FILE).is_file(), show_progress=False)
    result = json.loads((folder / RESULT).read_text("utf-8"))
    run = json.loads((folder / RUN_FILE).read_text("utf-8"))
    metrics = map(json.loads, (folder / "metrics.jsonl").read_text("utf-8").splitlines())
    return {
        "seconds": result["seconds"],
        "steps": result["steps"],
        "batch_tokens": run["train"]["batch_tokens"] * run["train"]["accumulate"],
        "losses": [(e["step"], e["seconds"], e["loss"]) for e in metrics if e["kind"] == "valid"],
    }


def main() -> None:
    """The child process: it receives the study first, then one task at a time."""
    serve(lambda first: TaskRunner(first[0]).answer)

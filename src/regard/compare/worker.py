"""A child process that does the tasks of a comparison, one at a time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import torch

from regard.compare.looks import look
from regard.compare.recall import measure_recall
from regard.compare.speed import measure_speed
from regard.compare.study import Contender, Study, data_of, parse_study
from regard.compare.tasks import Task
from regard.compare.texts import Text
from regard.config import TrainConfig, from_dict, to_dict
from regard.data.workers import Message, serve
from regard.engine.torch import load_model
from regard.errors import RegardError
from regard.files import write_file
from regard.model.transformer import Translating
from regard.train.device import choose_device
from regard.train.evidence import RESULT, commit, hardware, versions
from regard.train.prepare import load_tokenizers
from regard.train.request import RUN_FILE, Request
from regard.train.run import train
from regard.train.validate import translate_all


def main() -> None:
    """The life of a child: the study first, then a task each time."""
    serve(lambda first: Doing(first[0]).answer)


class Doing:
    """Knows the study, and does its tasks."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.study: Study = parse_study(told["study"], "the comparison")
        self.output = Path(told["output"])
        self.texts = {
            name: Text(Path(each["folder"]), tuple(each["languages"]))
            for name, each in told["texts"].items()
        }
        if told["cores"] and hasattr(os, "sched_setaffinity"):
            # What prepares batches counts the cores it may use, and must leave the others theirs.
            os.sched_setaffinity(0, told["cores"])
        torch.set_num_threads(told["num_threads"])

    def answer(self, message: Message) -> Message:
        """The error's text, where there is one; the result is in its file."""
        task = Task(**message[0])
        try:
            start = time.monotonic()
            result = self.do(task)
            result |= {
                "task_seconds": round(time.monotonic() - start, 3),
                "commit": commit(),
                "versions": versions(),
            }
            path = task.result(self.output)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, json.dumps(result, ensure_ascii=False).encode())
        except RegardError as error:
            return {"error": str(error)}, {}
        return {"error": None}, {}

    def do(self, task: Task) -> dict[str, Any]:
        contender = self.study.contenders[task.name]
        device = choose_device(task.place if task.kind == "speed" else _device(contender))
        found: dict[str, Any]
        if task.kind == "recall":
            assert self.study.recall is not None
            found = measure_recall(contender, self.study.recall, task.seed, device)
        elif task.kind == "speed":
            assert self.study.speed is not None
            pieces = int(next(iter(self.texts.values())).about["pieces"])
            found = {"speeds": measure_speed(contender, self.study.speed, pieces, device)}
        else:
            found = self._model(contender, task, device)
        return {**found, "hardware": hardware(device)}

    def _model(self, contender: Contender, task: Task, device: torch.device) -> dict[str, Any]:
        text = self.texts[task.place]
        if contender.folder:
            folder, found = Path(contender.folder), {}
        else:
            folder = self.output / "models" / task.place / task.name / f"seed-{task.seed}"
            found = self._trained(contender, text, task.seed, folder)
        sources, references, links = text.test()
        model, manifest = load_model(folder)
        assert isinstance(model, Translating)
        tokenizers = load_tokenizers(folder, manifest.tokenizer)
        start = time.monotonic()
        found["hypotheses"] = translate_all(
            model.to(device), sources, tokenizers, contender.recipe.decode, "fp32"
        )
        found |= {
            "translating_seconds": round(time.monotonic() - start, 3),
            "num_parameters": sum(p.numel() for p in model.parameters()),
            "config": to_dict(manifest.model),
        }
        alignment = self.study.alignment
        if alignment is not None and task.name in alignment.models:
            found["looks"] = look(folder, sources, references, links, alignment)
        return found

    def _trained(self, contender: Contender, text: Text, seed: int, folder: Path) -> dict[str, Any]:
        """The run in this folder: finished, gone on with, or begun."""
        recipe = contender.recipe
        settings = {**to_dict(recipe.train), "seed": seed}
        request = Request(
            data=text.data(data_of(recipe)),
            train=from_dict(TrainConfig, settings, "train"),
            size=recipe.size,
            model=recipe.model,
            decode=recipe.decode,
        )
        if not (folder / RESULT).is_file():
            begun = (folder / RUN_FILE).is_file()
            folder.parent.mkdir(parents=True, exist_ok=True)
            train(request, folder, resume=begun, show_progress=False)
        result = json.loads((folder / RESULT).read_text("utf-8"))
        run = json.loads((folder / RUN_FILE).read_text("utf-8"))
        return {
            "seconds": result["seconds"],
            "steps": result["steps"],
            "batch_tokens": run["train"]["batch_tokens"] * run["train"]["accumulate"],
            "losses": _losses(folder / "metrics.jsonl"),
        }


def _losses(metrics: Path) -> list[tuple[int, float, float]]:
    """Step, seconds and validation loss of each validation."""
    lines = [json.loads(line) for line in metrics.read_text("utf-8").splitlines()]
    return [(e["step"], e["seconds"], e["loss"]) for e in lines if e["kind"] == "valid"]


def _device(contender: Contender) -> str:
    return contender.recipe.train.device

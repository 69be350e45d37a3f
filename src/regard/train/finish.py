"""The end of a run: the best weights averaged and scored with the real search, the model folder, result.json."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

import torch

from regard.data.batches import MASK
from regard.data.corpus import Corpus
from regard.data.running_text import RunningText, read_running_text
from regard.engine.torch import to_tensors
from regard.exchange import onnx
from regard.folder import checkpoint
from regard.folder.manifest import Manifest, Task
from regard.model.transformer import EncoderOnly, Model, Translating
from regard.text.tokenizer import Tokenizer
from regard.train.card import model_card
from regard.train.checkpoints import average_best, weights_of
from regard.train.corpora import name_of, read_test_sets
from regard.train.loop import Trainer
from regard.train.parallel import Processes, whole_model
from regard.train.plan import Plan
from regard.train.tokenizers import JOINT, SEPARATE
from regard.train.validation import TextValidator, retrieval_score, translate_all
from regard.translate.evaluate import AnyScore, evaluate

TASKS: dict[str, Task] = {"contrastive": "search", "language": "write", "masked": "fill"}
"""Tasks by objective; a model trained to translate may also chat."""
RESULT = "result.json"
PACKAGES = ("regard", "torch", "numpy", "sentencepiece", "sacrebleu")


def finish(
    plan: Plan,
    trainer: Trainer,
    tokenizers: tuple[Tokenizer, Tokenizer],
    valid: Corpus | RunningText,
    output: Path,
    seconds: float,
) -> Sequence[AnyScore]:
    """Write the finished model into the run's folder; return the scores of validation and test."""
    model = whole_model(trainer.model).eval()
    best = trainer.history.best_steps
    weights = average_best(output, best)
    with torch.no_grad():
        for name, value in weights_of(model).items():
            value.copy_(weights[name])
    scores = _measure(plan, model, tokenizers, valid, trainer.processes)
    if not trainer.processes.is_first:
        return scores
    data, files = plan.data, JOINT if plan.data.joint else SEPARATE
    if plan.train.objective == "masked":
        files = replace(files, mask=MASK)
    otherwise: Task = "chat" if data.dialogue else "translate"
    manifest = Manifest(
        task=TASKS.get(plan.train.objective or "translation", otherwise),
        source_language=data.source_language,
        target_language=data.target_language,
        model=plan.model,
        tokenizer=files,
        decode=plan.decode,
        generate=plan.generate,
        longest=data.max_length,
    )
    texts = _names(*data.source, *data.target, *data.pairs, *data.text)
    card = model_card(
        output.name,
        manifest,
        num_parameters=sum(p.numel() for p in model.parameters()),
        training=[
            ("training text", texts),
            ("steps", f"{trainer.step:,} of {plan.train.batch_tokens:,} tokens"),
            ("weights of steps", ", ".join(f"{step:,}" for step in sorted(best))),
            ("time", f"{_duration(seconds)} on {_device_name(trainer.device)}"),
        ],
        scores=scores,
    )
    checkpoint.save(
        output,
        manifest,
        to_tensors(weights, plan.model),
        {files.source: tokenizers[0].proto, files.target: tokenizers[1].proto},
        card,
        graphs=onnx.export,
    )
    return scores


def _measure(
    plan: Plan,
    model: Model,
    tokenizers: tuple[Tokenizer, Tokenizer],
    valid: Corpus | RunningText,
    processes: Processes,
) -> Sequence[AnyScore]:
    precision = plan.train.precision

    def measure(name: str, sources: Sequence[str], references: Sequence[str]) -> AnyScore:
        if isinstance(model, EncoderOnly):
            return retrieval_score(model, tokenizers[0], sources, references, precision, name=name)
        translating = cast(Translating, model)
        hypotheses = processes.shared(
            lambda some: translate_all(translating, some, tokenizers, plan.decode, precision),
            sources,
        )
        return evaluate(hypotheses, references, name=name)

    if isinstance(valid, RunningText):
        texts = [("validation", valid)]
        for file in plan.data.test_text:
            text = read_running_text([file], each_line=plan.data.each_line, strict=True)
            texts.append((name_of(file), text))
        return [
            TextValidator(plan, text, tokenizers, processes).measure(model, name)
            for name, text in texts
        ]
    test_sets = [("validation", valid.sources, valid.targets), *read_test_sets(plan.data)]
    return [measure(*test_set) for test_set in test_sets]


def _names(*files: str) -> str:
    """Each file name once, with its number of uses."""
    counts = Counter(Path(file).name for file in files)
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())


def _duration(seconds: float) -> str:
    """A rounded duration.

    >>> _duration(42.3), _duration(90.0), _duration(9000.0)
    ('42 seconds', '1.5 minutes', '2.5 hours')
    """
    if seconds < 60:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def write_result(
    output: Path, trainer: Trainer, scores: Sequence[AnyScore], total_seconds: float
) -> None:
    """Write result.json: scores and seconds, and the machine and versions they were measured with."""
    result = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "hardware": hardware(trainer.device),
        "versions": versions(),
        "num_parameters": sum(p.numel() for p in trainer.model.parameters()),
        "steps": trainer.step,
        "seconds": {
            "training": round(trainer.clock.seconds, 3),
            "first_steps": round(trainer.clock.first_seconds, 3),
            "total": round(total_seconds, 3),
        },
        "scores": [score.to_dict() for score in scores],
    }
    (output / RESULT).write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def hardware(device: torch.device) -> str:
    cpu = f"{os.cpu_count()} CPU cores, {platform.machine()}"
    return f"{_device_name(device)}, {cpu}" if device.type == "cuda" else cpu


def versions() -> dict[str, str]:
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def commit() -> str:
    """Commit of the package's repository, with a + where files differ from it; empty elsewhere."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != folder.parents[2]:
            return ""
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""

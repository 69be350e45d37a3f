"""What a finished run leaves as evidence: scores and seconds, and the machine and versions they came from."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from regard.train.loop import Trainer
from regard.translate.evaluate import AnyScore

RESULT = "result.json"
PACKAGES = ("regard", "torch", "numpy", "sentencepiece", "sacrebleu")


def write_evidence(
    output: Path, trainer: Trainer, scores: Sequence[AnyScore], total_seconds: float
) -> None:
    """result.json: with run.json (the settings) and metrics.jsonl (the course) all that a result rests on."""
    found = {
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
    (output / RESULT).write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def hardware(device: torch.device) -> str:
    cpu = f"{os.cpu_count()} CPU cores, {platform.machine()}"
    if device.type != "cuda":
        return cpu
    return f"{torch.cuda.get_device_name(device)}, {cpu}"


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Of the repository the package is used from, with a + where files differ from it; empty elsewhere."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        command: Any = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != folder.parents[2]:
            return ""
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""

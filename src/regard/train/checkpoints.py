"""Checkpoints of a run: everything needed to go on as if nothing had happened.

    checkpoints/step-00000100/   training.safetensors  weights, their average, Adam's moments, generators
                                 state.json            step, position in the data, history, checksum
    best/step-00000100.safetensors                     the validated weights of the best steps

A folder gets its final name only when it is complete and on disk; older ones are removed after that. No
pickle anywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import TrainingError

TENSORS, STATE = "training.safetensors", "state.json"
NUM_KEPT = 2


def save_checkpoint(
    run: Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]
) -> Path:
    """Write a checkpoint under its final name, whole or not at all; then remove the oldest."""
    parent = run / "checkpoints"
    final, unfinished = parent / f"step-{step:08d}", parent / f"step-{step:08d}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    save_file({name: t.contiguous() for name, t in tensors.items()}, unfinished / TENSORS)
    checksum = _sha256(unfinished / TENSORS)
    (unfinished / STATE).write_text(json.dumps({**state, "sha256": checksum}), "utf-8")
    for file in (unfinished / TENSORS, unfinished / STATE, unfinished):
        _sync(file)
    if final.exists():
        shutil.rmtree(final)
    os.rename(unfinished, final)
    _sync(parent)
    for old in (*_finished(run)[:-NUM_KEPT], *parent.glob("*.unfinished")):
        shutil.rmtree(old)
    return final


def load_latest(run: Path, device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The newest checkpoint that is whole, or None where there never was one."""
    problems = []
    for folder in reversed(_finished(run)):
        try:
            state = json.loads((folder / STATE).read_text("utf-8"))
            if _sha256(folder / TENSORS) != state.pop("sha256"):
                raise ValueError("its checksum does not match")
            return load_file(folder / TENSORS, device=str(device)), state
        except (OSError, ValueError, KeyError, SafetensorError) as problem:
            problems.append(f"{folder.name} ({problem})")
    if problems:
        raise TrainingError(
            f"{run} must hold an intact checkpoint to resume from: damaged are {', '.join(problems)}; "
            "start again in another folder"
        )
    return None


def save_best(run: Path, step: int, weights: Mapping[str, Tensor]) -> None:
    folder = run / "best"
    folder.mkdir(exist_ok=True)
    unfinished = folder / "unfinished"
    save_file({name: t.contiguous() for name, t in weights.items()}, unfinished)
    _sync(unfinished)
    os.replace(unfinished, folder / f"step-{step:08d}.safetensors")


def keep_best(run: Path, steps: list[int]) -> None:
    """Remove the weights of every step that is no longer among the best."""
    for file in (run / "best").glob("step-*.safetensors"):
        if int(file.stem.removeprefix("step-")) not in steps:
            file.unlink()


def average_best(run: Path, steps: list[int]) -> dict[str, Tensor]:
    """The mean of the weights of these steps."""
    total: dict[str, Tensor] = {}
    for step in steps:
        for name, tensor in load_file(run / "best" / f"step-{step:08d}.safetensors").items():
            total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(steps) for name, tensor in total.items()}


def _finished(run: Path) -> list[Path]:
    folders = (run / "checkpoints").glob("step-*")
    return sorted(folder for folder in folders if not folder.name.endswith(".unfinished"))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Make sure the bytes are on the disk, not only in the system's cache."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open a folder
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Checkpoints of a run: everything needed to go on as if nothing had happened.

    checkpoints/step-00000100/   training.safetensors  weights, their average, Adam's moments, generators
                                 state.json            step, position in the data, history
                                 SHA256SUMS            of both
    best/step-00000100/          training.safetensors, SHA256SUMS: the validated weights of the best steps

A folder gets its final name only when it is complete, on the disk and read back; older ones are removed after that.
What is damaged later is noticed by its checksum, named, and passed over. No pickle anywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import RegardWarning, TrainingError
from regard.files import sync, write_file

CHECKPOINTS, BEST = "checkpoints", "best"
TENSORS, STATE, SUMS = "training.safetensors", "state.json", "SHA256SUMS"
NUM_KEPT = 2
UNFINISHED = ".unfinished"
_HEAD = 150
"""bytes that tell of a tensor its name, kind and place"""
FORMAT = 2
"""of the state; one of another cannot be gone on from"""


class Damaged(Exception):
    """A file is not what was written; the message names it."""


def save_checkpoint(
    run: Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]
) -> Path:
    """Write a checkpoint under its final name, whole or not at all; then remove what it makes superfluous."""
    content = json.dumps({"format": FORMAT, **state}).encode()
    final = _place(run, CHECKPOINTS, step, tensors, {STATE: content})
    for old in _finished(run, CHECKPOINTS)[:-NUM_KEPT]:
        shutil.rmtree(old)
    needed: set[int] = set()
    for folder in _finished(run, CHECKPOINTS):
        needed |= _best_steps(folder)
    for old in _finished(run, BEST):
        if _step(old) not in needed:
            shutil.rmtree(old)
    tidy(run)
    return final


def load_latest(run: Path, device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The newest checkpoint that is whole, or None where there never was one."""
    problems = []
    for folder in reversed(_finished(run, CHECKPOINTS)):
        try:
            _check(folder)
            state = json.loads((folder / STATE).read_bytes())
            tensors = load_file(folder / TENSORS, device=str(device))
        except (Damaged, OSError, ValueError, SafetensorError) as problem:
            problems.append(str(problem))
            continue
        if state.get("format", 1) != FORMAT:
            raise TrainingError(
                f"{folder} must be a checkpoint of format {FORMAT} to resume from it: got format "
                f"{state.get('format', 1)}; finish the run with the version of regard that began it, or start anew"
            )
        if problems:
            warnings.warn(
                f"damaged: {', '.join(problems)}; going on from {folder.name} instead",
                RegardWarning,
                stacklevel=2,
            )
        return tensors, state
    if problems:
        raise TrainingError(
            f"{run} must hold an intact checkpoint to resume from: damaged are {', '.join(problems)}; "
            "start again in another folder"
        )
    return None


def save_best(run: Path, step: int, weights: Mapping[str, Tensor]) -> None:
    _place(run, BEST, step, weights, {})


def average_best(run: Path, steps: list[int]) -> dict[str, Tensor]:
    """The mean of the weights of these steps; damaged ones are named and left out."""
    found, problems = [], []
    for step in steps:
        folder = run / BEST / _name(step)
        try:
            _check(folder)
            found.append(load_file(folder / TENSORS))
        except (Damaged, OSError, SafetensorError) as problem:
            problems.append(str(problem))
    if not found:
        raise TrainingError(
            f"{run / BEST} must hold the weights of a validation: damaged are {', '.join(problems)}; "
            "start again in another folder"
        )
    if problems:
        warnings.warn(
            f"left out of the average, damaged: {', '.join(problems)}", RegardWarning, stacklevel=2
        )
    return {name: torch.stack([each[name] for each in found]).mean(0) for name in found[0]}


def tidy(run: Path) -> None:
    """Remove what a process that was killed had begun to write."""
    for old in (run / CHECKPOINTS, run / BEST):
        for unfinished in old.glob(f"*{UNFINISHED}"):
            shutil.rmtree(unfinished)
    for unfinished in run.glob(".*.new"):
        unfinished.unlink(missing_ok=True)


def _place(
    run: Path, kind: str, step: int, tensors: Mapping[str, Tensor], files: Mapping[str, bytes]
) -> Path:
    """A folder of tensors and files that is there whole, or as it was before."""
    parent = run / kind
    final = parent / _name(step)
    unfinished = final.with_name(final.name + UNFINISHED)
    on_host = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    _check_numbers(on_host)
    try:
        if not run.is_dir():
            raise FileNotFoundError(f"{run} has vanished")
        parent.mkdir(exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        save_file(on_host, unfinished / TENSORS)
        _sync_file(unfinished / TENSORS)
        for name, content in files.items():
            write_file(unfinished / name, content)
        _check_written(unfinished / TENSORS, on_host)
        sums = [f"{_sha256(unfinished / name)}  {name}\n" for name in (TENSORS, *files)]
        write_file(unfinished / SUMS, "".join(sums).encode())
        sync(unfinished)
        if final.exists():  # damaged, and passed over by the run that now comes by again
            os.rename(final, final.with_name(f"{final.name}.replaced{UNFINISHED}"))
        os.rename(unfinished, final)
        sync(parent)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        needed = sum(tensor.nbytes + _HEAD for tensor in on_host.values())
        needed += sum(map(len, files.values()))
        raise TrainingError(
            f"{final} must be written, some {needed:,} bytes: {error}{room_left(parent)}; "
            "mend that and continue with --resume, earlier checkpoints are intact"
        ) from error
    return final


def _check_numbers(tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise TrainingError(
                f"a checkpoint must hold numbers: {name} does not; continue from the last one with "
                "--resume, or start again with a lower learning_rate"
            )


def _check_written(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Compare what stands in the file with what was meant, byte for byte."""
    # Not through safe_open: every tensor of torch's it gives leaves two small objects behind for good (safetensors
    # 0.8), and a run saves some ten thousand times.
    with path.open("rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        begin = file.tell()
        for name, tensor in tensors.items():
            start, end = head[name]["data_offsets"]
            file.seek(begin + start)
            written = np.fromfile(file, np.uint8, end - start)
            meant = tensor.reshape(-1).view(torch.uint8).numpy()
            if head[name]["shape"] != list(tensor.shape) or not np.array_equal(written, meant):
                raise OSError(f"{name} was not read back as it was written")


def _check(folder: Path) -> None:
    """Raise where a file is missing or differs from its checksum."""
    try:
        lines = (folder / SUMS).read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise Damaged(f"{folder / SUMS} ({_reason(error)})") from error
    known = {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)}
    names = {TENSORS, STATE} if folder.parent.name == CHECKPOINTS else {TENSORS}
    for name in sorted(names):
        try:
            found = _sha256(folder / name)
        except OSError as error:
            raise Damaged(f"{folder / name} ({_reason(error)})") from error
        if found != known.get(name):
            raise Damaged(f"{folder / name} (its checksum does not match)")


def _best_steps(folder: Path) -> set[int]:
    try:
        best = json.loads((folder / STATE).read_bytes())["best"]
        return {int(step) for *_, step in best}
    except (OSError, ValueError, KeyError, TypeError):
        return set()  # damaged: it will never be gone on from


def room_left(folder: Path) -> str:
    """To be put into a message; empty where the folder is gone."""
    try:
        return f", {shutil.disk_usage(folder).free:,} bytes are free"
    except OSError:
        return ""


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _name(step: int) -> str:
    return f"step-{step:08d}"


def _step(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def _finished(run: Path, kind: str) -> list[Path]:
    folders = [path for path in (run / kind).glob("step-*") if re.fullmatch(r"step-\d+", path.name)]
    return sorted(folders, key=_step)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_file(path: Path) -> None:
    """Make sure the bytes are on the disk, not only in the system's cache."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())

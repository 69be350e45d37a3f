"""Checkpoints of a run: everything needed to resume it bit for bit.

    checkpoints/step-00000100/   training.safetensors  weights, their average, Adam's moments, generators
                                 state.json            step, position in the data, history
                                 SHA256SUMS            of both
    best/step-00000100/          training.safetensors, SHA256SUMS: the validated weights of the best steps

A folder gets its final name only when it is complete, on the disk and read back; older ones are removed after that.
A file damaged later is noticed by its checksum, named and skipped. No pickle anywhere.
"""

import json
import os
import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.errors import RegardWarning, TrainingError
from regard.files import digest, sync, write_file
from regard.train.optimizer import Guard, RunningAverage, trained
from regard.train.parallel import fill, whole

CHECKPOINTS, BEST = "checkpoints", "best"
TENSORS, STATE, SUMS = "training.safetensors", "state.json", "SHA256SUMS"
NUM_KEPT = 2
"""Number of checkpoints kept."""
UNFINISHED = ".unfinished"
FORMAT = 2
"""Version of the saved state; a run resumes only from this version."""


@dataclass(frozen=True)
class TrainingState:
    """Everything that changes during a run, as whole tensors: any number of processes can continue with them."""

    model: nn.Module
    optimizer: torch.optim.AdamW
    average: RunningAverage | None
    guard: Guard

    def tensors(self) -> dict[str, Tensor]:
        tensors = {f"weights.{name}": whole(each) for name, each in weights_of(self.model).items()}
        for i, (name, parameter) in enumerate(trained(self.model).items()):
            if self.average:
                tensors[f"average.{name}"] = whole(self.average.values[i])
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"adam.{key}.{name}"] = whole(torch.as_tensor(value))
        tensors["guard"] = self.guard.numbers
        tensors["generator.cpu"] = torch.get_rng_state()
        if self.guard.numbers.is_cuda:
            tensors["generator.cuda"] = torch.cuda.get_rng_state(self.guard.numbers.device)
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Copy into the existing tensors: a recorded step reads and writes only these."""
        for name, value in weights_of(self.model).items():
            fill(value, tensors[f"weights.{name}"])
        for i, (name, parameter) in enumerate(trained(self.model).items()):
            if self.average:
                fill(self.average.values[i], tensors[f"average.{name}"])
            moments = self.optimizer.state[parameter]
            for key in ("step", "exp_avg", "exp_avg_sq"):
                if f"adam.{key}.{name}" not in tensors:  # Muon has a momentum only, and at step 0 there is none
                    if key in moments:
                        moments[key].zero_()
                    continue
                if key not in moments:
                    # A fused Adam counts its steps on the device, the plain one on the host.
                    device = parameter.device if self.optimizer.param_groups[0]["fused"] else "cpu"
                    is_step = key == "step"
                    moments[key] = torch.zeros((), device=device) if is_step else torch.zeros_like(parameter)
                fill(moments[key], tensors[f"adam.{key}.{name}"])
        self.guard.numbers.copy_(tensors["guard"])

    def restore_generators(self, tensors: dict[str, Tensor]) -> None:
        torch.set_rng_state(tensors["generator.cpu"].cpu())
        if "generator.cuda" in tensors and self.guard.numbers.is_cuda:
            torch.cuda.set_rng_state(tensors["generator.cuda"].cpu(), self.guard.numbers.device)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Every weight that learns once (a shared table under its first name), and the statistics of batch norms."""
    named = (*trained(model).items(), *model.named_buffers())
    return {name: value.detach() for name, value in named}


def save_checkpoint(run: Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> Path:
    """Write a checkpoint, whole or not at all; then remove superfluous older ones."""
    content = json.dumps({"format": FORMAT, **state}).encode()
    final = _place(run, CHECKPOINTS, step, tensors, {STATE: content})
    for old in _finished(run, CHECKPOINTS)[:-NUM_KEPT]:
        shutil.rmtree(old)
    needed = {_name(0)}  # a given model, which the trained one is compared with at the end
    for folder in _finished(run, CHECKPOINTS):
        with suppress(OSError, ValueError, KeyError, TypeError):  # damaged: no run resumes from it
            best = json.loads((folder / STATE).read_bytes())["best"]
            needed |= {_name(step) for *_, step in best}
    for old in _finished(run, BEST):
        if old.name not in needed:
            shutil.rmtree(old)
    tidy(run)
    return final


def load_latest(run: Path, device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and state of the newest intact checkpoint; None where there never was one."""
    problems = []
    for folder in reversed(_finished(run, CHECKPOINTS)):
        try:
            tensors = _load(folder, (STATE, TENSORS), str(device))
        except ValueError as problem:
            problems.append(str(problem))
            continue
        state = json.loads((folder / STATE).read_bytes())
        if state.get("format", 1) != FORMAT:
            raise TrainingError(
                f"{folder} must be a checkpoint of format {FORMAT} to resume from it: got format "
                f"{state.get('format', 1)}; finish the run with the version of regard that began it, or start anew"
            )
        if problems:
            text = f"damaged: {', '.join(problems)}; going on from {folder.name} instead"
            warnings.warn(text, RegardWarning, stacklevel=2)
        return tensors, state
    if problems:
        raise TrainingError(f"{run} must hold an intact checkpoint: damaged are {', '.join(problems)}; start anew")
    return None


def bytes_kept(model: nn.Module, settings: TrainConfig) -> int:
    """About the most that checkpoints and best weights take on the disk."""
    each_trained, each_weight = (NUM_KEPT + 1) * (3 + bool(settings.ema)), settings.average + 2
    return 4 * sum(
        weight.numel() * (each_weight + each_trained * weight.requires_grad) for weight in model.parameters()
    )


def free(run: Path) -> None:
    """Remove the checkpoints of a finished run but the last, from which it could be made longer."""
    for old in _finished(run, CHECKPOINTS)[:-1]:
        shutil.rmtree(old)


def save_best(run: Path, step: int, weights: Mapping[str, Tensor]) -> None:
    _place(run, BEST, step, weights, {})


def average_best(run: Path, steps: list[int]) -> dict[str, Tensor]:
    """The mean weights of these steps; damaged ones are named and left out."""
    found, problems = [], []
    for step in steps:
        try:
            found.append(_load(run / BEST / _name(step), (TENSORS,), "cpu"))
        except ValueError as problem:
            problems.append(str(problem))
    if not found:
        raise TrainingError(
            f"{run} must hold the weights of a validation: damaged are {', '.join(problems)}; start anew"
        )
    if problems:
        warnings.warn(f"left out of the average, damaged: {', '.join(problems)}", RegardWarning, stacklevel=2)
    return {name: torch.stack([each[name] for each in found]).mean(0) for name in found[0]}


def tidy(run: Path) -> None:
    """Remove the unfinished files of a killed process."""
    for old in (run / CHECKPOINTS, run / BEST):
        for unfinished in old.glob(f"*{UNFINISHED}"):
            shutil.rmtree(unfinished)
    for unfinished in run.glob(".*.new"):
        unfinished.unlink(missing_ok=True)


def _place(run: Path, kind: str, step: int, tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Path:
    """Write a folder of tensors and files, whole or not at all."""
    parent = run / kind
    final = parent / _name(step)
    unfinished = final.with_name(final.name + UNFINISHED)
    on_host = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        if not run.is_dir():
            raise FileNotFoundError(f"{run} has vanished")
        parent.mkdir(exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        save_file(on_host, unfinished / TENSORS)
        with (unfinished / TENSORS).open("rb+") as file:
            os.fsync(file.fileno())  # from the system's cache to the disk
        for name, content in files.items():
            write_file(unfinished / name, content)
        _check_written(unfinished / TENSORS, on_host)
        sums = [f"{digest(unfinished / name)}  {name}\n" for name in (TENSORS, *files)]
        write_file(unfinished / SUMS, "".join(sums).encode())
        sync(unfinished)
        if final.exists():  # a damaged one that this run skipped when it resumed
            os.rename(final, final.with_name(f"{final.name}.replaced{UNFINISHED}"))
        os.rename(unfinished, final)
        sync(parent)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        needed = sum(tensor.nbytes for tensor in on_host.values()) + sum(map(len, files.values()))
        raise TrainingError(
            f"{final} must be written, some {needed:,} bytes: {error}{room_left(parent)}; "
            "mend that and continue with --resume, earlier checkpoints are intact"
        ) from error
    return final


def _check_written(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Compare the file with the tensors, byte for byte."""
    # Not through safe_open: in safetensors 0.8 every tensor it returns leaks two small objects, and a run may save
    # ten thousand times.
    with path.open("rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        begin = file.tell()
        for name, tensor in tensors.items():
            start, end = head[name]["data_offsets"]
            file.seek(begin + start)
            written = np.fromfile(file, np.uint8, end - start)
            expected = tensor.reshape(-1).view(torch.uint8).numpy()
            if head[name]["shape"] != list(tensor.shape) or not np.array_equal(written, expected):
                raise OSError(f"{name} was not read back as it was written")


def _load(folder: Path, names: tuple[str, ...], device: str) -> dict[str, Tensor]:
    """The tensors of an intact folder; an error names a file that is missing or differs from its checksum."""
    path = folder / SUMS
    try:
        lines = path.read_text("utf-8").splitlines()
        known = {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)}
        for name in names:
            path = folder / name
            if digest(path) != known.get(name):
                raise ValueError("its checksum does not match")
        return load_file(folder / TENSORS, device=device)
    except (OSError, ValueError, SafetensorError) as error:
        raise ValueError(f"{path} ({getattr(error, 'strerror', None) or error})") from error


def room_left(folder: Path) -> str:
    """The free space as part of a message; empty where the folder is gone."""
    try:
        return f", {shutil.disk_usage(folder).free:,} bytes are free"
    except OSError:
        return ""


def _name(step: int) -> str:
    return f"step-{step:08d}"


def _finished(run: Path, kind: str) -> list[Path]:
    return sorted((run / kind).glob("step-" + 8 * "[0-9]"))

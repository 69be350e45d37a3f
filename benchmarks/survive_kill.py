"""Runs that are killed at any instant and resumed until they are done. Used by survive.py."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from train_fixtures import QUICK, checkpoint_of, counting_corpus, run

from regard.config import DataConfig, TrainConfig
from regard.train import checkpoints
from regard.train.loop import Trainer

SETTINGS = replace(QUICK, steps=100, validate_every=2, patience=0, metric="loss", ema=0.9, average=3)
PLACES = ("in_a_save", "while_training", "anywhere")
"""where to kill, each as often"""


@dataclass
class Kills:
    """What came of killing."""

    in_a_save: int = 0
    """that had begun and had not ended"""
    while_training: int = 0
    anywhere: int = 0
    """from the first moment of a process on"""
    lost: int = 0
    """checkpoints that were there before and not after"""
    most_steps_lost: int = 0
    """done and not in a checkpoint"""
    runs_done: int = 0
    runs_differing: int = 0
    """from the one that was not disturbed"""

    @property
    def total(self) -> int:
        return self.in_a_save + self.while_training + self.anywhere


def kill(num_kills: int, folder: Path, rng: random.Random, settings: TrainConfig) -> Kills:
    """Kill and resume as often as asked, and then until the last run is done."""
    corpus = counting_corpus(folder)
    in_child(lambda: run(corpus, folder / "whole", settings))
    assert settings.steps is not None
    expected = checkpoint_of(folder / "whole", settings.steps)
    kills, number = Kills(), 0
    while kills.total < num_kills or number > kills.runs_done:
        number = kills.runs_done + 1
        output = folder / f"run{number}"
        before = newest(output)
        rarest = min(PLACES, key=lambda place: getattr(kills, place))
        place = one_life(corpus, output, settings, rng, "" if kills.total >= num_kills else rarest)
        found = newest(output)
        kills.lost += found < before
        kills.most_steps_lost = max(kills.most_steps_lost, last_step(output) - found)
        if place:
            setattr(kills, place, getattr(kills, place) + 1)
        else:
            assert not leftovers(output), leftovers(output)
            tensors = checkpoint_of(output, settings.steps)
            kills.runs_done += 1
            kills.runs_differing += not all(torch.equal(tensor, tensors[name]) for name, tensor in expected.items())
            shutil.rmtree(output)
    return kills


def in_child(work: Callable[[], object]) -> None:
    """Compute nothing in this process, whose children would wait for threads they do not have."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0, "a run that nobody disturbed failed"


def one_life(corpus: DataConfig, output: Path, settings: TrainConfig, rng: random.Random, place: str) -> str:
    """Let a child train, and kill it there; where it was killed, or nothing if it got to the end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            if place != "anywhere":
                tell(writing, place == "in_a_save")
            run(corpus, output, settings, resume=(output / "run.json").exists())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    if place:
        if place != "anywhere":
            os.read(reading, 1)
        # A save takes a few milliseconds, and what comes before the first step a second.
        time.sleep(rng.random() * {"in_a_save": 0.01, "while_training": 0.3, "anywhere": 1.5}[place])
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    told_more = place == "in_a_save" and os.read(reading, 1)
    os.close(reading)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, f"a run failed with {os.WEXITSTATUS(status)}"
        return ""
    return "while_training" if told_more else place


def tell(writing: int, of_a_save: bool) -> None:
    """In a child: write a byte when one of the first steps or saves begins, and one when it has ended."""
    module, name = (checkpoints, "_place") if of_a_save else (Trainer, "_do_step")
    real: Callable[..., object] = getattr(module, name)
    waits = random.Random(os.getpid()).randrange(1, 6)

    def told(*args: object) -> object:
        nonlocal waits
        waits -= 1
        if waits:
            return real(*args)
        os.write(writing, b".")
        result = real(*args)
        os.write(writing, b".")
        return result

    setattr(module, name, told)


def newest(output: Path) -> int:
    if not (output / "checkpoints").exists():
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = checkpoints.load_latest(output, torch.device("cpu"))
    return 0 if found is None else int(found[1]["step"])


def last_step(output: Path) -> int:
    """That was told of; a line that was cut short does not count."""
    if not (output / "metrics.jsonl").exists():
        return 0
    lines = (output / "metrics.jsonl").read_text().splitlines(keepends=True)
    return max((json.loads(line)["step"] for line in lines if line.endswith("\n")), default=0)


def leftovers(output: Path) -> list[str]:
    return [p.name for p in output.rglob("*") if p.name.endswith((".unfinished", ".new"))]

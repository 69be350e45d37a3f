"""Several processes train one model: the same as one process does, on any number of them, and after one is killed."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from train_fixtures import QUICK, SHAPE, checkpoint_of, make_batch, metrics, position, run

from regard.config import DataConfig, TrainConfig
from regard.errors import UsageError
from regard.text.tokenizer import PAD_ID
from regard.train.batches import share
from regard.train.parallel import Processes
from regard.train.plan import shared_out

SETTINGS = dataclasses.replace(
    QUICK, steps=6, batch_tokens=350, accumulate=4, validate_every=3, dropout=0.0, patience=0, snapshots=2
)


def command(num_processes: int, corpus: DataConfig, output: Path, settings: TrainConfig, *more: str) -> list[str]:
    wishes = {
        field.name: getattr(settings, field.name)
        for field in dataclasses.fields(settings)
        if getattr(settings, field.name) != field.default
    }
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    words += ["--nproc-per-node", str(num_processes)]
    words += [word for word in more if word.startswith("--max")]
    words += ["-m", "regard", "train", "--size", "tiny", "--output", str(output), "--quiet"]
    words += ["--source", corpus.source[0], "--target", corpus.target[0]]
    for key, value in {**SHAPE, **wishes, "wrong_language": True}.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    return words + [word for word in more if not word.startswith("--max")]


def torchrun(*args: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*args), capture_output=True, text=True, timeout=280)


@pytest.fixture(scope="module")
def alone(corpus: DataConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone") / "run"
    run(corpus, folder, SETTINGS)
    return folder


def test_two_sharded_processes_do_what_one_does(corpus: DataConfig, alone: Path, tmp_path: Path) -> None:
    settings = dataclasses.replace(SETTINGS, sharded=True)
    done = torchrun(2, corpus, tmp_path / "run", settings)
    assert done.returncode == 0, done.stderr
    one, two = metrics(alone, "train"), metrics(tmp_path / "run", "train")
    assert [line["step"] for line in two] == list(range(1, 7)), "one process writes"
    for expected, found in zip(one, two, strict=True):
        assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5), found["step"]
    for expected, found in zip(metrics(alone, "valid"), metrics(tmp_path / "run", "valid"), strict=True):
        assert found["loss"] == pytest.approx(expected["loss"], rel=1e-4)
    assert position(alone, 6) == position(tmp_path / "run", 6)
    whole, other = checkpoint_of(alone, 6), checkpoint_of(tmp_path / "run", 6)
    assert {name: t.shape for name, t in whole.items()} == {n: t.shape for n, t in other.items()}
    assert "BLEU" in done.stdout and done.stdout.count("BLEU") == 1, "the result is told once"


def worker(agent: int, rank: int) -> int:
    """The process id of one of torchrun's processes."""
    for child in Path(f"/proc/{agent}/task/{agent}/children").read_text().split():
        environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        if f"RANK={rank}".encode() in environment:
            return int(child)
    raise AssertionError("no such process")


def wait_for(checkpoints: Path, after: int, process: subprocess.Popen[str]) -> int:
    deadline = time.monotonic() + 120
    while True:
        steps = [int(path.name[5:]) for path in checkpoints.glob("step-????????")]
        if steps and max(steps) > after:
            return max(steps)
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_process_costs_no_more_than_the_steps_since_the_checkpoint(corpus: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(SETTINGS, steps=100_000, validate_every=5, sharded=True)
    words = command(2, corpus, tmp_path / "run", settings, "--max-restarts=1")
    errors = (tmp_path / "errors").open("w")
    process = subprocess.Popen(words, stderr=errors, text=True)
    checkpoints = tmp_path / "run" / "checkpoints"
    try:
        first = wait_for(checkpoints, 0, process)
        os.kill(worker(process.pid, 1), signal.SIGKILL)
        # What the others still wrote before they noticed counts as well.
        wait_for(checkpoints, first + 10, process)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    finally:
        process.kill()
        errors.close()
    steps = [line["step"] for line in metrics(tmp_path / "run", "train")]
    assert steps == list(range(1, len(steps) + 1)), "no step twice, none left out"
    newest = max(int(path.name[5:]) for path in checkpoints.iterdir())
    assert newest == steps[-1], "and the signal saved"
    run(corpus, tmp_path / "run", settings, resume=True, stop_at=newest + 2)
    last = metrics(tmp_path / "run", "train")[-1]["step"]
    assert last == newest + 2, "a single process goes on where two have stopped"
    assert (tmp_path / "errors").read_text().count("stopped by SIGTERM with everything saved") == 2


def test_batches_are_dealt_out_in_turn_and_updates_shared_out() -> None:
    batches = [make_batch(False, seed=seed) for seed in range(5)]
    shares = [share(batches, Processes(rank, 3)) for rank in range(3)]
    assert shares == [[batches[0], batches[3]], [batches[1], batches[4]], [batches[2]]]
    [idle] = share(batches, Processes(6, 7))
    assert idle.num_targets == 0 and (idle.tensors.target_output == PAD_ID).all()
    assert torch.equal(idle.tensors.source, batches[0].tensors.source)
    chosen = TrainConfig(batch_tokens=4096, accumulate=3)
    shared = shared_out(chosen, 2)
    assert (shared.batch_tokens, shared.accumulate) == (3072, 4)
    assert shared_out(shared, 2) == shared == shared_out(shared, 1)
    with pytest.raises(UsageError, match="a multiple of the 2 processes.*got 3"):
        Processes(0, 2).check(3)

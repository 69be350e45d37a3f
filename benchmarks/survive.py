"""What a training run survives: being killed at any instant, damaged checkpoints, damaged model files, and time.

    python benchmarks/survive.py [--kills 200] [--steps 100] [--damages 500] [--files 1000] [--minutes 3] [--save]

A tiny model on a CPU. Killed runs are resumed until they are done, and must end with the weights, to the bit, of one
that nobody disturbed. There is no peer: the ratios are to what must hold.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

# Children are made by forking, which threads do not survive.
os.environ["OMP_NUM_THREADS"] = "1"

import torch

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from record import Row, save  # noqa: E402
from train_fixtures import QUICK, checkpoint_of, counting_corpus, run  # noqa: E402

from regard import checkpoint  # noqa: E402
from regard.config import DataConfig, TrainConfig  # noqa: E402
from regard.errors import ModelError, RegardWarning  # noqa: E402
from regard.manifest import read_manifest  # noqa: E402
from regard.train import checkpoints  # noqa: E402

SETTINGS = replace(
    QUICK, steps=100, validate_every=2, patience=0, metric="loss", ema=0.9, average=3
)
PLACES = ("in_a_save", "while_training", "anywhere")
"""where to kill, each as often"""


@dataclass
class Kills:
    """What came of killing."""

    in_a_save: int = 0
    while_training: int = 0
    anywhere: int = 0
    """from the first moment of a process on"""
    lost: int = 0
    """checkpoints that were there before and not after"""
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
        place = "" if kills.total >= num_kills else rng.choice(PLACES)
        ended = one_life(corpus, output, settings, rng, place)
        kills.lost += newest(output) < before
        if not ended:
            setattr(kills, place, getattr(kills, place) + 1)
        else:
            assert not leftovers(output), leftovers(output)
            found = checkpoint_of(output, settings.steps)
            kills.runs_done += 1
            kills.runs_differing += not all(
                torch.equal(tensor, found[name]) for name, tensor in expected.items()
            )
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


def one_life(
    corpus: DataConfig, output: Path, settings: TrainConfig, rng: random.Random, place: str
) -> bool:
    """Let a child train, and kill it there; whether it got to the end."""
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
        time.sleep(
            rng.random() * {"in_a_save": 0.01, "while_training": 0.3, "anywhere": 1.5}[place]
        )
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, f"a run failed with {os.WEXITSTATUS(status)}"
    return os.WIFEXITED(status)


def tell(writing: int, of_a_save: bool) -> None:
    """In a child: write a byte when the loop begins, or when a checkpoint is about to be written."""
    from regard.train.loop import Trainer

    module, name = (checkpoints, "_place") if of_a_save else (Trainer, "_do_step")
    real: Callable[..., object] = getattr(module, name)
    waits = random.Random(os.getpid()).randrange(1, 6)

    def told(*args: object) -> object:
        nonlocal waits
        waits -= 1
        if waits == 0:
            os.write(writing, b".")
        return real(*args)

    setattr(module, name, told)
    import regard.train.loop as loop

    if of_a_save:
        loop.save_best, loop.save_checkpoint = checkpoints.save_best, checkpoints.save_checkpoint


def newest(output: Path) -> int:
    if not (output / "checkpoints").exists():
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = checkpoints.load_latest(output, torch.device("cpu"))
    return 0 if found is None else int(found[1]["step"])


def leftovers(output: Path) -> list[str]:
    return [p.name for p in output.rglob("*") if p.name.endswith((".unfinished", ".new"))]


def damage(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A kind of damage, and the bytes after it."""
    changed = bytearray(content)
    kind = rng.choice(["a bit", "bytes", "cut off", "inserted", "zeros", "empty"])
    place = rng.randrange(len(changed))
    if kind == "a bit":
        changed[place] ^= 1 << rng.randrange(8)
    elif kind == "bytes":
        for _ in range(rng.choice([1, 4, 64])):
            place = rng.randrange(len(changed))
            changed[place] ^= rng.randrange(1, 256)
    elif kind == "cut off":
        del changed[place:]
    elif kind == "inserted":
        changed[place:place] = rng.randbytes(rng.choice([1, 7, 300]))
    else:
        changed = bytearray(len(changed) if kind == "zeros" else 0)
    return kind, bytes(changed)


def damage_checkpoints(num_damages: int, folder: Path, rng: random.Random) -> Counter[str]:
    """How often a damaged checkpoint was named and passed over, by the kind of damage; else `missed`."""
    corpus = counting_corpus(folder)
    in_child(lambda: run(corpus, folder / "run", SETTINGS, stop_at=4))
    files = sorted((folder / "run" / "checkpoints" / "step-00000004").iterdir())
    found: Counter[str] = Counter()
    for _ in range(num_damages):
        file = rng.choice(files)
        content = file.read_bytes()
        kind, changed = damage(content, rng)
        file.write_bytes(changed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            latest = checkpoints.load_latest(folder / "run", torch.device("cpu"))
        named = any(
            issubclass(w.category, RegardWarning) and "step-00000004" in str(w.message)
            for w in caught
        )
        passed_over = latest is not None and latest[1]["step"] == 2
        found[kind if named and passed_over or changed == content else "missed"] += 1
        file.write_bytes(content)
    return found


def damage_files(num_files: int, folder: Path, rng: random.Random) -> Counter[str]:
    """How damaged tokenizers and weights were taken: refused, or used without harm. A crash ends this program."""
    corpus, model = counting_corpus(folder), folder / "model"
    in_child(lambda: run(corpus, model, replace(SETTINGS, steps=2)))
    manifest = read_manifest(model)
    found: Counter[str] = Counter()
    for name in (manifest.tokenizer.source, "model.safetensors"):
        content = (model / name).read_bytes()
        for _ in range(num_files):
            (model / name).write_bytes(damage(content, rng)[1])
            try:
                if name == "model.safetensors":
                    checkpoint.read_tensors(model, manifest)
                else:
                    tokenizer, _ = checkpoint.open_tokenizers(model, manifest.tokenizer)
                    tokenizer.decode(tokenizer.encode("un deux trois ✓"))
                found[f"{name} used"] += 1
            except ModelError:
                found[f"{name} refused"] += 1
        (model / name).write_bytes(content)
    return found


def soak(minutes: float, folder: Path) -> Row:
    """Memory and open files of a run that goes on, after its first third and at the end."""
    corpus = counting_corpus(folder)
    child = os.fork()
    if not child:
        run(corpus, folder / "soak", replace(SETTINGS, steps=10**9, validate_every=50))
        os._exit(0)
    samples = []
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        time.sleep(1)
        status = Path(f"/proc/{child}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        num_open = len(list(Path(f"/proc/{child}/fd").iterdir()))
        samples.append((int(resident.split()[1]) / 1024, num_open))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    settled = samples[len(samples) // 3 :]
    half = len(settled) // 2
    first, last = (sum(m for m, _ in part) / len(part) for part in (settled[:half], settled[half:]))
    return {
        "what": "soak",
        "minutes": minutes,
        "steps": newest(folder / "soak"),
        "megabytes": [round(first, 1), round(last, 1)],
        "open_files": sorted({num_open for _, num_open in settled}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    amounts = {"kills": 200, "steps": 100, "damages": 500, "files": 1000, "minutes": 3}
    for name, default in amounts.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/survive.json")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(asked.seed)
    rows: list[Row] = []
    ratios: dict[str, float] = {}

    def work(what: str, do: Callable[[Path], Row]) -> Row:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            row = {"what": what, **do(Path(folder))}
        row["seconds"] = round(time.monotonic() - began, 1)
        print(row, flush=True)
        rows.append(row)
        return row

    settings = replace(SETTINGS, steps=asked.steps)
    kills = work("killed", lambda folder: vars(kill(asked.kills, folder, rng, settings)))
    ratios["checkpoints lost / kills"] = kills["lost"] / asked.kills
    ratios["runs that differ / runs"] = kills["runs_differing"] / kills["runs_done"]
    damaged = work(
        "checkpoints damaged", lambda folder: dict(damage_checkpoints(asked.damages, folder, rng))
    )
    ratios["damage named and passed over / damage"] = 1 - damaged.get("missed", 0) / asked.damages
    work("model files damaged", lambda folder: dict(damage_files(asked.files, folder, rng)))
    if asked.minutes:
        megabytes = work("soak", lambda folder: soak(asked.minutes, folder))["megabytes"]
        ratios["memory later / before"] = round(megabytes[1] / megabytes[0], 4)
    for what, ratio in ratios.items():
        print(f"{what:40} {ratio}")
    if asked.save:
        print(save("survive", rows, ratios))


if __name__ == "__main__":
    main()

"""What a training run survives: being killed at any instant, damaged checkpoints and models, lost processes, and time.

    python benchmarks/survive.py [--kills 200] [--steps 100] [--damages 500] [--files 1000] [--ranks 4] [--minutes 3]
                                 [--save]

A tiny model on a CPU. Killed runs are resumed until they are done, and must end with the weights of an undisturbed
run, to the bit. There is no peer: the ratios are to what must hold.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

# Children are made by forking, which threads do not survive.
os.environ["OMP_NUM_THREADS"] = "1"

import torch

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from record import Row, save  # noqa: E402
from survive_damage import damage_checkpoints, damage_files  # noqa: E402
from survive_kill import SETTINGS, kill, newest  # noqa: E402
from survive_ranks import lose_ranks  # noqa: E402
from train_fixtures import counting_corpus, run  # noqa: E402


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
    amounts = {"kills": 200, "steps": 100, "damages": 500, "files": 1000, "ranks": 4, "minutes": 3}
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
    assert settings.validate_every is not None
    ratios["steps lost at most / steps between saves"] = kills["most_steps_lost"] / settings.validate_every
    damaged = work("checkpoints damaged", lambda folder: dict(damage_checkpoints(asked.damages, folder, rng)))
    ratios["damage named and passed over / damage"] = 1 - damaged.get("missed", 0) / asked.damages
    models = work("model files damaged", lambda folder: damage_files(asked.files, folder, rng))
    ratios["memory for a damaged model / its size"] = models["memory in sizes"]
    if asked.ranks:
        killed = work("a process killed", lambda folder: lose_ranks(asked.ranks, folder, rng))
        stopped = work("a process stopped", lambda folder: lose_ranks(2, folder, rng, stands_still=True))
        ratios["seconds after a process was killed / 60"] = round(killed["most_seconds"] / 60, 3)
        ratios["seconds after a process stood still / 120"] = round(stopped["most_seconds"] / 120, 3)
    if asked.minutes:
        megabytes = work("soak", lambda folder: soak(asked.minutes, folder))["megabytes"]
        ratios["memory later / before"] = round(megabytes[1] / megabytes[0], 4)
    for what, ratio in ratios.items():
        print(f"{what:40} {ratio}")
    if asked.save:
        print(save("survive", rows, ratios))


if __name__ == "__main__":
    main()

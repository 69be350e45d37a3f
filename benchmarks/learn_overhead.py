"""What it costs a training to be looked at: without snapshots, with them, with a page that nobody opens, and with one that is open.

    python benchmarks/learn_overhead.py [--rounds N] [--save]

The lesson `learn-reverse` as it is, on one thread, from the first step to the last, snapshots included. In each round every way
comes once, each round in another order, and is compared with the run without snapshots of that round; what counts is the median of these
ratios. A second run without snapshots says how far two equal runs are apart. The open page is a process of its own that asks as
often as a browser's page does (learning.js), and for the model at each new snapshot.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from record import Row, save

from regard.look.live import served_live
from regard.train.loop import Trainer
from regard.train.recipe import read_recipe
from regard.train.run import train

POLL_SECONDS, REST = 2, 20
BASE, OPEN = "no snapshots", "--look, a page open"
KINDS = (BASE, "no snapshots, again", "snapshots", "--look, nobody there", OPEN)
READER = f"""
import json, sys, time, urllib.request
def ask(place, body=None):
    request = urllib.request.Request(sys.argv[1] + place, body, {{"Content-Type": "application/json"}})
    return json.load(urllib.request.urlopen(request))
ask("api/document")
seen = 0
while True:
    began = time.perf_counter()
    newest = ask("api/training")["steps"][-1]
    if newest > seen:
        seen = newest
        ask("api/training", json.dumps({{"run": 0, "step": newest}}).encode())
        print(newest, flush=True)
    time.sleep({POLL_SECONDS} + {REST} * (time.perf_counter() - began))
"""


def measured(kind: str) -> tuple[float, float]:
    """Seconds of the clock, and of all threads of the trainer's process."""
    readers: list[subprocess.Popen[str]] = []
    taken: list[tuple[float, float]] = []
    loop = Trainer.run

    def timed_loop(*args: Any) -> None:
        began, cpu_began = time.perf_counter(), time.process_time()
        loop(*args)
        taken.append((time.perf_counter() - began, time.process_time() - cpu_began))

    def open_page(url: str) -> None:
        if kind == OPEN:
            reader = subprocess.Popen([sys.executable, "-c", READER, url], stdout=subprocess.PIPE, text=True)
            readers.append(reader)

    changed: dict[str, Any] = {"threads": 1}
    if kind.startswith(BASE):
        changed["snapshots"] = 0
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(Trainer, "run", timed_loop):
        run = Path(folder) / "run"
        with served_live(run, open_page) if "--look" in kind else contextlib.nullcontext():
            train(read_recipe("learn-reverse").changed({"train": changed}, "the benchmark"), run, show_progress=False)
            for reader in readers:
                reader.kill()
    if kind == OPEN:
        (reader,) = readers
        steps = reader.communicate()[0].split()
        assert steps, "the page must have shown a snapshot"
        print("  the page showed the model after steps", *steps)
    return taken[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    measured(BASE)  # what the first run of a process sets up is not measured
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for number in range(given.rounds):
        turn = number % len(KINDS)
        for kind in KINDS[turn:] + KINDS[:turn]:
            found[kind].append(measured(kind))
            seconds, cpu_seconds = found[kind][-1]
            print(f"{kind:<24}{seconds:8.2f} s, {cpu_seconds:8.2f} s of the processor", flush=True)
    rows: list[Row] = []
    for kind, times in found.items():
        shares = sorted(base / mine for (base, _), (mine, _) in zip(found[BASE], times, strict=True))
        cpu_shares = [base / mine for (_, base), (_, mine) in zip(found[BASE], times, strict=True)]
        row: Row = {"what": kind, "rounds": given.rounds}
        row |= {"seconds": round(statistics.median(mine for mine, _ in times), 3)}
        row |= {
            "speed": round(statistics.median(shares), 4),
            "lowest": round(shares[0], 4),
            "highest": round(shares[-1], 4),
        }
        row |= {"speed_by_processor_time": round(statistics.median(cpu_shares), 4)}
        rows.append(row)
        print(row)
    if given.save:
        print(save("learn_overhead", rows, {row["what"]: row["speed"] for row in rows}))


if __name__ == "__main__":
    main()

"""What it costs a training to be looked at: with snapshots, with a page that nobody opens, and with one that is open.

    python benchmarks/learn_overhead.py [--rounds N] [--save]

The lesson `learn-reverse` as it is, on one thread, from the first step to the last. Two equal runs differ by more than the
cost, so that it is taken within each run: processor time of the snapshots, and of all threads but the trainer's, which answer the page and
which the trainer may have to wait for, as a share of all processor time of the loop. The open page is a process of its own that
asks as often as a browser's page does (learning.js), and for the model at each new snapshot. The medians of the rounds count.
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
OPEN = "--look, a page open"
KINDS = ("snapshots", "--look, nobody there", OPEN)
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


def measured(kind: str) -> tuple[float, float, float]:
    """Seconds of the processor: of the loop, of its snapshots, and of other threads meanwhile."""
    readers: list[subprocess.Popen[str]] = []
    loop, take = Trainer.run, Trainer._take_snapshot
    spent = {"loop": 0.0, "snapshots": 0.0, "others": 0.0}

    def timed_loop(*args: Any) -> None:
        began, own_began = time.process_time(), time.thread_time()
        loop(*args)
        spent["loop"] = time.process_time() - began
        spent["others"] = spent["loop"] - (time.thread_time() - own_began)

    def timed_take(*args: Any) -> None:
        began = time.thread_time()
        take(*args)
        spent["snapshots"] += time.thread_time() - began

    def open_page(url: str) -> None:
        if kind == OPEN:
            reader = subprocess.Popen([sys.executable, "-c", READER, url], stdout=subprocess.PIPE, text=True)
            readers.append(reader)

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(Trainer, "run", timed_loop),
        mock.patch.object(Trainer, "_take_snapshot", timed_take),
    ):
        run = Path(folder) / "run"
        with served_live(run, open_page) if "--look" in kind else contextlib.nullcontext():
            train(
                read_recipe("learn-reverse").changed({"train": {"threads": 1}}, "the benchmark"),
                run,
                show_progress=False,
            )
            for reader in readers:
                reader.kill()
    if kind == OPEN:
        (reader,) = readers
        steps = reader.communicate()[0].split()
        assert steps, "the page must have shown a snapshot"
        print("  the page showed the model after steps", *steps)
    assert spent["snapshots"] > 0
    return spent["loop"], spent["snapshots"], spent["others"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    for kind in KINDS:
        found = [measured(kind) for _ in range(given.rounds)]
        row: Row = {
            "what": kind,
            "rounds": given.rounds,
            "loop_cpu_s": round(statistics.median(one[0] for one in found), 2),
        }
        row["snapshots"] = round(statistics.median(taken / loop for loop, taken, _ in found), 4)
        row["other_threads"] = round(statistics.median(others / loop for loop, _, others in found), 4)
        row["speed_kept"] = round(1 - statistics.median((taken + others) / loop for loop, taken, others in found), 4)
        rows.append(row)
        print(row, flush=True)
    if given.save:
        print(save("learn_overhead", rows, {row["what"]: row["speed_kept"] for row in rows}))


if __name__ == "__main__":
    main()

"""What it costs a training to be looked at: without snapshots, with them, with a page that nobody opens, and with one that is open.

    python benchmarks/learn_overhead.py [--rounds N] [--save]

The lesson `learn-reverse` for 600 steps, each way in turn, one thread. Seconds are those of the training loop, the best of the
rounds; the open page is a process of its own that asks as often as a browser's page does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from record import Row, save

from regard.look.live import served_live
from regard.train.recipe import read_recipe
from regard.train.run import train

STEPS, POLL_SECONDS = 600, 2
KINDS = ("no snapshots", "snapshots", "--look, nobody there", "--look, a page open")
READER = f"""
import contextlib, sys, time, urllib.request
while True:
    with contextlib.suppress(OSError):
        urllib.request.urlopen(sys.argv[1].rstrip("/") + "/api/training").read()
    time.sleep({POLL_SECONDS})
"""


def seconds(kind: str) -> float:
    readers: list[subprocess.Popen[bytes]] = []

    def open_page(url: str) -> None:
        if kind == KINDS[-1]:
            readers.append(subprocess.Popen([sys.executable, "-c", READER, url]))

    changed: dict[str, Any] = {"steps": STEPS, "warmup": 80, "validate_every": STEPS}
    if kind == KINDS[0]:
        changed["snapshots"] = 0
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with served_live(run, open_page) if "--look" in kind else contextlib.nullcontext():
            train(read_recipe("learn-reverse").changed({"train": changed}, "the benchmark"), run, show_progress=False)
        for reader in readers:
            reader.kill()
        assert (kind == KINDS[-1]) == bool(readers), "the page was opened where it should be"
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return max(float(line["seconds"]) for line in lines if line["kind"] == "train")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    best: dict[str, float] = {}
    for _ in range(given.rounds):
        for kind in KINDS:
            best[kind] = min(best.get(kind, float("inf")), seconds(kind))
            print(f"{kind:<24}{best[kind]:8.2f} s of {STEPS} steps", flush=True)
    rows: list[Row] = [{"what": kind, "seconds": round(time, 3)} for kind, time in best.items()]
    ratios = {kind: round(best[KINDS[0]] / time, 4) for kind, time in best.items()}
    print(ratios)
    if given.save:
        print(save("learn_overhead", rows, ratios))


if __name__ == "__main__":
    main()

"""What a run of two processes survives: one of them killed, or standing still; with all weights in each, or a part.

Used by survive.py. A run counts as resumed when all its processes have been restarted and the first of them has reported a step.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from record import Row
from train_fixtures import SHAPE, counting_corpus

MAX_SECONDS = 300
"""after which a run counts as hanging"""
SETTINGS = {
    **SHAPE,
    "steps": 10**9,
    "batch_tokens": 350,
    "accumulate": 2,
    "patience": 0,
    "metric": "loss",
    "wrong_language": True,
}


def lose_ranks(times: int, folder: Path, rng: random.Random, *, stands_still: bool = False) -> Row:
    """Lose a process so often in runs of either kind: the most seconds until the next step, and the most steps lost."""
    lost = []
    for sharded in (False, True):
        output = folder / ("sharded" if sharded else "whole")
        # One that stands still within a step is given up by torch; here it is to be in a validation or a save.
        settings = {"sharded": sharded, "validate_every": 1 if stands_still else 5}
        run = subprocess.Popen(_command(folder, output, settings, times), stderr=subprocess.DEVNULL)
        try:
            lost += [_lose(run, output, rng, turn % 2, stands_still) for turn in range(times)]
        finally:
            run.send_signal(signal.SIGTERM)
            run.wait(MAX_SECONDS)
    return {
        "times": len(lost),
        "most_seconds": round(max(seconds for seconds, _ in lost), 1),
        "most_steps_lost": max(steps for _, steps in lost),
    }


def _lose(
    run: subprocess.Popen[bytes], output: Path, rng: random.Random, rank: int, stands_still: bool
) -> tuple[float, int]:
    _until(lambda: len(_steps(output)) > 5, run)
    time.sleep(rng.random())
    before, step = _workers(run.pid), _steps(output)[-1]
    began = time.time()
    os.kill(before[rank], signal.SIGSTOP if stands_still else signal.SIGKILL)
    _until(lambda: bool(new := _workers(run.pid)) and not set(new) & set(before), run)
    restarted = time.time()
    _until(lambda: bool(_steps(output, restarted)), run)
    return time.time() - began, step + 1 - _steps(output, restarted)[0]


def _command(folder: Path, output: Path, settings: dict[str, Any], max_restarts: int) -> list[str]:
    corpus = counting_corpus(folder)
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words += ["--max-restarts", str(max_restarts), "-m", "regard", "train", "--size", "tiny"]
    words += ["--source", corpus.source[0], "--target", corpus.target[0], "--quiet"]
    for key, value in {**SETTINGS, **settings}.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    return [*words, "--output", str(output)]


def _workers(agent: int) -> list[int]:
    """Both processes that torchrun has started, in their order; none while it starts them."""
    found = {}
    for child in Path(f"/proc/{agent}/task/{agent}/children").read_text().split():
        try:
            rank = re.search(rb"(?:^|\0)LOCAL_RANK=(\d)", Path(f"/proc/{child}/environ").read_bytes())
        except OSError:
            continue
        if rank:
            found[int(rank[1])] = int(child)
    return [found[rank] for rank in sorted(found)] if len(found) == 2 else []


def _steps(output: Path, since: float = 0.0) -> list[int]:
    """Those that were told of after a moment."""
    try:
        lines = (output / "metrics.jsonl").read_text().splitlines()
        told = [json.loads(line) for line in lines]
    except (OSError, ValueError):  # not there yet, or in the middle of a line
        return []
    return [line["step"] for line in told if line["kind"] == "train" and line["time"] > since]


def _until(happens: Callable[[], bool], run: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + MAX_SECONDS
    while not happens():
        assert run.poll() is None, f"the run ended with {run.returncode}"
        assert time.monotonic() < deadline, "the run hangs"
        time.sleep(0.1)

"""What it costs a training to be looked at: with snapshots, with a page that nobody opens, and with one that is open.

    python benchmarks/learn_overhead.py [--rounds N] [--only NAME …] [--save]

Two lessons as they are, and a `small` model for a few steps, each on one thread. Two equal runs on a machine that does other work
differ by more than the cost, so everything is taken within a run and is processor time: of the trainer's thread in its loop, of the
snapshots in it, and of the threads that answer the page meanwhile. These share the interpreter's lock with the trainer: "blocked" is
the time in which its steps were neither on a processor nor in the queue for one, as Linux counts it, which is that lock and little
else; what other programs take is not in it. The page is the real one, in Chromium, on the tab "Training"; Chromium's own work is
another process's and is not counted. `written_s` are the seconds after the loop in which the probes are written.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from record import Row, save

from regard.look.live import served_live
from regard.look.server import Handler
from regard.train import finish
from regard.train.loop import Trainer
from regard.train.recipe import Request, read_recipe
from regard.train.run import train

ROOT = Path(__file__).parents[1]
OPEN = "--look, a page open"
KINDS = ("snapshots", "--look, nobody there", OPEN)
SMALL = {
    "model": {"size": "small"},
    "train": {"steps": 40, "batch_tokens": 1024, "validate_every": 40, "snapshots": 13},
}
RUNS: dict[str, Callable[[], Request]] = {
    "learn-reverse": lambda: read_recipe("learn-reverse"),
    "learn-translate": lambda: read_recipe("learn-translate"),
    "small": lambda: Request().changed(
        {"data": {"pairs": [str(ROOT / "recipes/text/drills.tsv")]}, **SMALL}, "the benchmark"
    ),
}
BROWSER = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from playwright.sync_api import sync_playwright
from browser.conftest import OPTIONS
from browser.find_tools import find_browser
with sync_playwright() as playwright:
    page = playwright.chromium.launch(executable_path=find_browser(), args=OPTIONS).new_page()
    page.goto(sys.argv[1] + "#view=learning")
    seen = ""
    while True:
        page.wait_for_function("seen => (document.getElementById('snapshot-told')?.textContent ?? seen) !== seen", arg=seen, timeout=0)
        seen = page.locator("#snapshot-told").text_content()
        print(seen, flush=True)
"""


@dataclass
class Spent:
    """Seconds of one run."""

    loop: float = 0.0
    snapshots: float = 0.0
    answers: float = 0.0
    blocked: float = 0.0
    written: float = 0.0
    by_address: dict[str, list[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Count the loop, its snapshots, its steps, and the answers to a page."""
        run, take, step, answer = Trainer.run, Trainer._take_snapshot, Trainer._do_step, Handler.do_GET
        write = finish.write_probes

        def timed_run(*args: Any) -> None:
            began = time.thread_time()
            run(*args)
            self.loop = time.thread_time() - began

        def timed_take(*args: Any) -> None:
            began = time.thread_time()
            take(*args)
            self.snapshots += time.thread_time() - began

        def timed_step(*args: Any) -> None:
            began, ready = time.perf_counter(), on_a_queue()
            step(*args)
            self.blocked += time.perf_counter() - began - (on_a_queue() - ready)

        def timed_write(*args: Any) -> None:
            began = time.thread_time()
            write(*args)
            self.written = time.thread_time() - began

        def timed_answer(handler: Handler) -> None:
            began = time.thread_time()
            answer(handler)
            took = time.thread_time() - began
            with self._lock:
                if not self.loop:  # later ones hold nobody up
                    self.answers += took
                    address = f"{handler.command} {handler.path.partition('?')[0]}"
                    self.by_address.setdefault(address, []).append(took)

        names = {"run": timed_run, "_take_snapshot": timed_take, "_do_step": timed_step}
        with contextlib.ExitStack() as stack:
            for name, timed in names.items():
                stack.enter_context(mock.patch.object(Trainer, name, timed))
            stack.enter_context(mock.patch.object(finish, "write_probes", timed_write))
            for name in ("do_GET", "do_POST"):
                stack.enter_context(mock.patch.object(Handler, name, timed_answer))
            yield


def on_a_queue() -> float:
    """Seconds in which this thread has run, or could have run, had there been a free processor."""
    ran, waited, _ = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()
    return (int(ran) + int(waited)) / 1e9


def measured(request: Request, kind: str) -> Spent:
    readers: list[subprocess.Popen[str]] = []
    spent = Spent()

    def open_page(url: str) -> None:
        if kind == OPEN:
            readers.append(subprocess.Popen([sys.executable, "-c", BROWSER, url], stdout=subprocess.PIPE, text=True))

    with tempfile.TemporaryDirectory() as folder, spent.measured():
        run = Path(folder) / "run"
        with served_live(run, open_page) if "--look" in kind else contextlib.nullcontext():
            train(request.changed({"train": {"threads": 1}}, "the benchmark"), run, show_progress=False)
            for reader in readers:
                reader.terminate()
    if kind == OPEN:
        seen = readers[0].communicate()[0].splitlines()
        assert any("step" in each and "step 0" not in each for each in seen), "the page must have followed the run"
        print("  the page showed:", *seen, sep="\n    ")
        for address, each in sorted(spent.by_address.items(), key=lambda pair: -sum(pair[1])):
            print(f"    {sum(each) * 1e3:8.1f} ms {len(each):4} x {address}")
    assert spent.snapshots > 0
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[*RUNS], default=[*RUNS])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    for name in given.only:
        for kind in given.kinds:
            found = [measured(RUNS[name](), kind) for _ in range(given.rounds)]

            def median(of: Callable[[Spent], float], digits: int = 4, found: list[Spent] = found) -> float:
                return round(statistics.median(map(of, found)), digits)

            row: Row = {
                "run": name,
                "what": kind,
                "rounds": given.rounds,
                "loop_cpu_s": median(lambda one: one.loop, 2),
            }
            row["snapshots"] = median(lambda one: one.snapshots / one.loop)
            row["answers"] = median(lambda one: one.answers / one.loop)
            row["blocked"] = median(lambda one: one.blocked / one.loop)
            row["written_s"] = median(lambda one: one.written, 2)
            row["speed_kept"] = median(lambda one: 1 - (one.snapshots + one.answers) / (one.loop + one.answers))
            rows.append(row)
            print(row, flush=True)
    if given.save:
        print(save("learn_overhead", rows, {f"{row['run']}, {row['what']}": row["speed_kept"] for row in rows}))


if __name__ == "__main__":
    main()

"""Both bundled translators on one GPU: each teacher translates, each student learns, side by side.

    python recipes/text/distil_text.py CORPORA data/distil
    python recipes/translators.py --data data --teachers . --output runs

--teachers holds opus-fr-en and opus-en-fr, imported; --data what the recipes fr-en and en-fr name. It does what `regard
distil` does with these recipes (docs/how-to/distil.md), and saves time at three places: several processes translate on one
GPU, what the teacher of one direction translated needs no translation back, and both students train at the same time.
The same command continues after any end.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard import load
from regard.cli.train import keep_memory
from regard.data.lines import decode, raw_lines
from regard.train.distil import COUNTS, Distillation, JudgedTeacher, distil
from regard.train.recipe import SECTIONS, parse_settings, read_recipe
from regard.translate.corpus import Block, Execute, Job

RECIPES = Path(__file__).parent
TEXTS = {"en-fr": ("en.wiki.txt.xz", "en.other.txt.xz"), "fr-en": ("fr.txt.xz",)}
BACK = "en.back.txt.xz"  # for fr-en; the other teacher makes French of it
SHARES = {"en-fr": 0.92, "fr-en": 1.0}
"""of the minutes, when a training ends: the first leaves the GPU to the second's tests"""
FROM_PAIRS_TO_STEP = 150
"""seconds on 16 cores for vocabulary, tokens and compilation, which the plan of a training doesn't count"""
FROM_STEP_TO_END = 40  # seconds for the tests of student and teacher, and the card

_translate: Callable[[list[str], int], list[str]]  # of a worker process


def _open(job: Job, opener: Callable[..., Any]) -> None:
    global _translate
    _translate = job.translate(opener)


def _block(block: Block) -> int:
    return block.translate(_translate)


class InProcesses:
    """Translates blocks in processes that each hold the model: one alone leaves a GPU waiting for its Python."""

    def __init__(self, opener: Callable[..., Any], count: int) -> None:
        self._opener, self._count = opener, count
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, job: Job, blocks: list[Block]) -> Iterator[int]:
        if blocks:
            context = multiprocessing.get_context("spawn")
            self._pool = self._pool or ProcessPoolExecutor(self._count, context, _open, (job, self._opener))
            yield from self._pool.map(_block, blocks)

    def close(self) -> None:
        """Give the memory back."""
        if self._pool:
            self._pool.shutdown()


def looked_up(texts: Sequence[Path], folder: Path, otherwise: Execute) -> Execute:
    """Translations that a teacher has already written; what it has not is translated."""

    def execute(job: Job, blocks: list[Block]) -> Iterator[int]:
        outputs = [folder / path.name.removesuffix(".xz") for path in texts]
        if not blocks or not all(map(Path.exists, outputs)):
            yield from otherwise(job, blocks)
            return
        known = {
            decode(source)[0]: decode(line)[0].partition("\t")[0]
            for path, output in zip(texts, outputs, strict=True)
            for source, line in zip(raw_lines(path), raw_lines(output), strict=True)
        }

        def translate(lines: list[str], number: int) -> list[str]:
            return [known.get(line, "") for line in lines]

        for block in blocks:
            yield block.translate(translate)

    return execute


def one_direction(name: str, options: argparse.Namespace, begin: float, is_other_ready: Any) -> None:
    keep_memory()
    data, output = options.data / "distil", options.output / name
    request = read_recipe(str(RECIPES / f"{name}.toml")).with_files(options.data)
    request = request.changed(parse_settings(options.set, SECTIONS), "--set")
    teachers = {each: (options.teachers / f"opus-{each}").resolve() for each in TEXTS}
    texts = {each: tuple((data / file).resolve() for file in files) for each, files in TEXTS.items()}
    back = (data / BACK).resolve()
    asked = Distillation(
        teachers[name], texts[name], request, opening={"device": options.device}, command="python " + " ".join(sys.argv)
    )
    judged = InProcesses(functools.partial(JudgedTeacher, load), options.processes)
    reverse = InProcesses(load, options.processes)
    plain: Execute = reverse
    if name == "fr-en":
        is_other_ready.wait()
        asked = replace(asked, reverse=teachers["en-fr"], back_translate=(back,))
        plain = looked_up(texts["en-fr"], options.output / "en-fr" / "teacher", reverse)

    def say(message: str) -> None:
        print(f"{time.time() - begin:5.0f} s  {name}: {message}", flush=True)

    try:
        distil(asked, output, load, (plain, judged), say)
    finally:
        judged.close()
        reverse.close()
        is_other_ready.set()
    if not (output / COUNTS).exists():
        raise SystemExit(1)
    left = options.minutes * SHARES[name] - (time.time() - begin + FROM_PAIRS_TO_STEP + FROM_STEP_TO_END) / 60
    if options.minutes:
        say(f"{left:.1f} minutes of training")
        request = request.changed(parse_settings([f"minutes={left:.2f}"], SECTIONS), "the time left")
    train = distil(replace(asked, request=request), output, load, (plain, judged), say)
    say(f"the student is {train()}")


def parser_of(description: str, processes: int) -> argparse.ArgumentParser:
    """The options of several trainings on one GPU; processes: of each teacher, unless said otherwise."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--teachers", type=Path, default=Path())
    parser.add_argument("--output", type=Path, default=Path("runs"))
    parser.add_argument("--minutes", type=float, default=26, help="for everything; 0: as long as the recipes say")
    parser.add_argument("--processes", type=int, default=processes, help="of each teacher")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for all trainings")
    return parser


def main() -> None:
    options = parser_of(__doc__, processes=3).parse_args()
    begin = time.time()
    context = multiprocessing.get_context("spawn")
    is_ready = context.Event()
    jobs = [context.Process(target=one_direction, args=(name, options, begin, is_ready)) for name in TEXTS]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    sys.exit(any(job.exitcode for job in jobs))


if __name__ == "__main__":
    main()

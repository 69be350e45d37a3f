"""The story writer, the chatbot and the search model on one GPU.

    python recipes/generators.py --data data --teachers . --output runs

--teachers holds stories15M, stories15M-trimmed, qwen and all-MiniLM-L6-v2, imported; --data what text/README.md says that the recipes story,
chat and search are made of, but for what the teachers write: stories/small.txt, stories/written.txt.xz, chat/asked.txt,
prepared/chat and prepared/search. Teachers write in several processes, until their share of the minutes is over; filters keep
what is fit; a model trains as soon as its text is there, one after another, and is exported as int8 beside its run. The same
command continues after any end. A teacher, or what it is given, may come while the others work: whole, by a rename.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Event, Lock
from pathlib import Path

RECIPES = Path(__file__).parent
sys.path.insert(0, str(RECIPES / "text"))

import chat_text  # noqa: E402
import dialogues  # noqa: E402
import stories  # noqa: E402
from translators import parser_of  # noqa: E402

from regard import load  # noqa: E402
from regard.cli.train import keep_memory  # noqa: E402
from regard.data.lines import read_lines  # noqa: E402
from regard.files import write_file  # noqa: E402
from regard.generate.continuation import LineWriter  # noqa: E402

SHARE = 0.42  # of the minutes, after which no teacher begins another part


@dataclass(frozen=True)
class Given:
    """Beginnings that a teacher goes on with."""

    teacher: str
    path: str
    words: int  # most that are written
    tokens: int
    temperature: float
    part: int  # lines that are written together, and lost by a stop


GIVEN = {
    "story": Given("stories15M", "stories/small.txt", words=190, tokens=240, temperature=0.8, part=4000),
    "chat": Given("qwen", "chat/asked.txt", words=32, tokens=44, temperature=0.4, part=2000),
}
NAMES = ("search", "story", "chat")


def is_over(options: argparse.Namespace, begin: float) -> bool:
    """Whether no teacher may begin another part."""
    return bool(options.minutes) and time.time() - begin > SHARE * options.minutes * 60


def told(options: argparse.Namespace, path: str) -> Path:
    """Where the parts lie that were written."""
    found: Path = options.data / path
    return found.parent / "told" / found.stem


def write(given: Given, worker: int, options: argparse.Namespace, begin: float) -> None:
    """Every so-manieth part, until the teachers' share of the time is over."""
    keep_memory()
    path, teacher = options.data / given.path, options.teachers / given.teacher
    while not (path.exists() and teacher.exists()):  # a large teacher may still be on its way
        if is_over(options, begin):
            return
        time.sleep(1)
    lines = list(read_lines(path))
    writer = LineWriter(load, str(teacher), device=options.device)
    for place in list(range(0, len(lines), given.part))[worker :: options.processes]:
        told_path = told(options, given.path) / f"{place:07}"
        if told_path.exists():
            continue
        if is_over(options, begin):
            return
        some = lines[place : place + given.part]
        sampled = {"temperature": given.temperature, "top_k": 64, "max_length": given.tokens}
        written = writer.translate(some, number=place, length=given.words, **sampled)
        told_path.parent.mkdir(parents=True, exist_ok=True)
        write_file(told_path, "".join(f"{line}\n" for line in written).encode())
        say(begin, f"{given.teacher} {worker}: {given.path} from line {place:,}")


def pairs_of(options: argparse.Namespace, path: str, all_written: Event) -> Iterator[tuple[str, str]]:
    """What was given, and with what it goes on, part by part as they are written."""
    seen: set[Path] = set()
    given: list[str] = []
    while True:
        is_last = all_written.is_set()
        parts = sorted(set(told(options, path).glob("[0-9]*")) - seen)
        for part in parts:
            given = given or list(read_lines(options.data / path))
            texts = list(read_lines(part))
            yield from zip(given[int(part.name) :][: len(texts)], texts, strict=True)
        seen.update(parts)
        if is_last:
            return
        all_written.wait(1)


def keep(path: str, options: argparse.Namespace, begin: float, all_written: Event) -> None:
    """What is kept of a teacher's texts, as the recipes name it; filters take longer than a GPU, so they run beside it."""
    kept = options.data / ("prepared/chat/talks.tsv.gz" if path.startswith("chat") else f"{path}.xz")
    if kept.exists():
        return
    pairs, new = pairs_of(options, path, all_written), kept.with_name(f"new-{kept.name}")
    if path.startswith("chat"):
        judge = chat_text.TalkFilter()
        talks = ("\t".join(turns) for _, text in pairs if (turns := judge(text)))
        dialogues._write(new, dialogues.of_talks(talks, options.turns))
        say(begin, f"talks end by {dict(judge.dropped.most_common())}")
    else:
        for_given, for_texts = itertools.tee(pairs)
        stories._write(new, stories.keep((text for _, text in for_texts), (each for each, _ in for_given)))
    new.rename(kept)
    say(begin, f"{kept} is there")


def train(name: str, options: argparse.Namespace, begin: float, turn: Lock) -> None:
    """Train by the recipe, when no other model does."""
    settings = [f"device={options.device}", *options.set]
    if name == "search":
        settings.append(f"teacher={(options.teachers / 'all-MiniLM-L6-v2').resolve()}")
    if name == "chat" and not read_lines(options.data / "prepared" / "chat" / "talks.tsv.gz"):  # no teacher came
        recipe = tomllib.loads((RECIPES / "chat.toml").read_text("utf-8"))
        pairs = [each for each in recipe["data"]["pairs"] if "/talks." not in each]
        settings.append(f"pairs={json.dumps([each.replace('data', str(options.data), 1) for each in pairs])}")
    run, regard = options.output / name, [sys.executable, "-m", "regard"]
    command = [*regard, "train", "--output", str(run)]
    if (run / "run.json").exists():
        command.append("--resume")
    else:
        command += ["--recipe", str(RECIPES / f"{name}.toml"), "--data", str(options.data)]
        command += [word for each in settings for word in ("--set", each)]
        if name == "story":
            command += ["--init", str(options.teachers / "stories15M-trimmed")]
    with turn:
        if not (run / "model.safetensors").exists():
            say(begin, f"{name}: {' '.join(command[3:])}")
            subprocess.run(command, check=True)
    if not (small := run.with_name(f"{name}-int8")).exists():
        subprocess.run([*regard, "export", str(run), str(small), "--weights", "int8"], check=True)
    say(begin, f"{small} is there")


def say(begin: float, message: str) -> None:
    print(f"{time.time() - begin:5.0f} s  {message}", flush=True)


def make(name: str, options: argparse.Namespace, begin: float, turn: Lock) -> None:
    """The text of a model, as far as a teacher writes it, and the model."""
    if given := GIVEN.get(name):
        context = multiprocessing.get_context("spawn")
        all_written = context.Event()
        writers = [
            context.Process(target=write, args=(given, worker, options, begin)) for worker in range(options.processes)
        ]
        keeper = context.Process(target=keep, args=(given.path, options, begin, all_written))
        for each in (*writers, keeper):
            each.start()
        for each in writers:
            each.join()  # what a writer that failed has left out is left out
        all_written.set()
        keeper.join()
        if any(each.exitcode for each in (*writers, keeper)):
            say(begin, f"{name}: not all of its text was written")
    train(name, options, begin, turn)


def main() -> None:
    parser = parser_of(__doc__, processes=2)
    parser.add_argument("--turns", type=int, default=13, help="that the chatbot reads: num_turns of its recipe")
    options = parser.parse_args()
    begin, context = time.time(), multiprocessing.get_context("spawn")
    turn = context.Lock()
    makers = [context.Process(target=make, args=(name, options, begin, turn)) for name in NAMES]
    for each in makers:
        each.start()
    for each in makers:
        each.join()
    sys.exit(any(each.exitcode for each in makers))


if __name__ == "__main__":
    main()

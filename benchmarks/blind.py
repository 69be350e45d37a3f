"""Texts of several models in one order that does not tell which is whose, for readers to judge.

    python benchmarks/blind.py stories --model story stories15M --folder blind/stories     (40 beginnings)
    python benchmarks/blind.py openings --model chat runs/chat --folder blind/openings     (100 of chat_fresh_second.txt)
    python benchmarks/blind.py talks --model chat runs/chat --folder blind/talks           (80 turns of ten conversations)
    python benchmarks/blind.py facts --model chat runs/chat --folder blind/facts           (25 facts, counted by words)
    python benchmarks/blind.py count --folder blind/stories READER.tsv ... --save
    python benchmarks/blind.py overlap --folder blind/stories --text stories.txt.xz books.txt.xz

A folder gets table.tsv (number TAB given TAB written; line ends as spaces) and key.json, which readers do not see. A reader
writes number TAB verdicts, as many columns as there are questions: of a story whether it is grammatical, keeps its
characters, has to do with its beginning and ends at a sentence (1 or 0), of a reply fits, unsure or wrong. `overlap` is the longest
run of words that a text shares with the training text, its beginning left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import record

import regard
from regard.api import Model
from regard.data.lines import read_lines

HERE = Path(__file__).parent
LENGTH = 150
"""words of a continuation"""
_RUN = 5
"""words of the shortest run that is looked for"""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

Row = dict[str, str]


def stories(model: Model) -> Iterator[Row]:
    for line in read_lines(HERE / "story_beginnings.txt"):
        if not line.startswith("#"):
            beginning = line.split("\t")[0]
            yield {"given": beginning, "written": model.write(beginning, length=LENGTH, seed=1)}


def openings(model: Model) -> Iterator[Row]:
    for line in read_lines(HERE / "chat_fresh_second.txt"):
        yield {"given": line, "written": model.reply(line, temperature=0)}


def talks(model: Model) -> Iterator[Row]:
    """Each turn with what was said before it, by this model."""
    for talk in "\n".join(read_lines(HERE / "chat_talks.txt")).split("\n\n"):
        chat = model.chat(temperature=0)
        for turn in talk.split("\n"):
            if not turn.startswith("#"):
                before = " / ".join([*chat.turns[-4:], turn])
                yield {"given": before, "written": chat.say(turn)}


def facts(model: Model) -> Iterator[Row]:
    """Told, five other turns, asked: `known` where the answer holds a word of it."""
    for line in read_lines(HERE / "chat_facts.tsv"):
        if not line.startswith("#"):
            words, *turns = line.split("\t")
            chat = model.chat(temperature=0)
            *_, answer = map(chat.say, turns)
            known = re.search(rf"\b(?:{words})\b", answer, re.IGNORECASE) is not None
            yield {"given": f"{turns[-7]} … {turns[-1]}", "written": answer, "known": "1" if known else "0"}


KINDS = {"stories": stories, "openings": openings, "talks": talks, "facts": facts}


def write_table(kind: str, models: list[str], folder: Path) -> None:
    rows = []
    for name in models:
        model = regard.load(name)
        rows += [{"model": name, **row} for row in KINDS[kind](model)]
        print(
            f"{name}: {sum(row.get('known') == '1' for row in rows if row['model'] == name)} known" * (kind == "facts")
        )
    random.Random(7).shuffle(rows)
    folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{number}\t{_line(row['given'])}\t{_line(row['written'])}\n" for number, row in enumerate(rows))
    (folder / "table.tsv").write_text("".join(lines), "utf-8")
    (folder / "key.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _line(text: str) -> str:
    return " ".join(text.split())


def count(rows: list[Row], readers: list[Path]) -> None:
    """The verdicts of each model, a line for each reader and question."""
    for reader, path in enumerate(readers, start=1):
        found: dict[str, list[Counter[str]]] = defaultdict(list)
        for line in read_lines(path):
            number, *verdicts = line.split("\t")
            rows[int(number)][f"reader_{reader}"] = " ".join(verdicts)
            counters = found[rows[int(number)]["model"]]
            counters.extend(Counter() for _ in range(len(verdicts) - len(counters)))
            for counter, verdict in zip(counters, verdicts, strict=False):
                counter[verdict] += 1
        for model, counters in sorted(found.items()):
            print(f"reader {reader}  {model:24}", "  |  ".join(str(dict(counter)) for counter in counters))


def longest_runs(texts: list[str], lines: Iterable[str]) -> list[int]:
    """Of each text the longest run of words that one of these lines, or neighbours joined, has as well.

    >>> longest_runs(["a b c d e f g", "x y"], ["z a b c d", "e f. h", "x y"])
    [6, 0]
    """
    words = [_WORD.findall(text.lower()) for text in texts]
    number_of = {word: place for place, word in enumerate(dict.fromkeys(itertools.chain(*words)), start=1)}
    own = [np.array([number_of[word] for word in each], np.int64) for each in words]
    places = defaultdict(list)
    for text, each in enumerate(own):
        for place, key in enumerate(_keys(each).tolist()):
            places[key].append((text, place))
    wanted = np.array(sorted(places), np.int64)
    longest = [0] * len(texts)
    # Parts overlap, so that a run across their border is found, up to 100 words of it.
    kept: list[int] = []
    for part in _parts(lines):
        kept = kept[-100:] + [number_of.get(word, 0) for line in part for word in _WORD.findall(line.lower())]
        given = np.array(kept, np.int64)
        keys = _keys(given)
        for start in np.flatnonzero(np.isin(keys, wanted)).tolist():
            for text, place in places[int(keys[start])]:
                most = min(len(own[text]) - place, len(given) - start)
                differs = np.flatnonzero(own[text][place : place + most] != given[start : start + most])
                run = int(differs[0]) if len(differs) else most
                longest[text] = max(longest[text], run if run >= _RUN else 0)
    return longest


def _parts(lines: Iterable[str]) -> Iterator[list[str]]:
    waiting = iter(lines)
    return iter(lambda: list(itertools.islice(waiting, 20_000)), [])


def _keys(numbers: np.ndarray) -> np.ndarray:
    """A key for every run of words; different runs may share one."""
    keys = np.zeros(max(0, len(numbers) - _RUN + 1), np.int64)
    for step in range(_RUN):
        keys = keys * 1_000_003 + numbers[step : step + len(keys)]
    return keys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", choices=[*KINDS, "count", "overlap"])
    parser.add_argument("readers", type=Path, nargs="*")
    parser.add_argument("--model", nargs="+", default=[], help="names or folders")
    parser.add_argument("--text", type=Path, nargs="+", default=[], help="training text")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--save", action="store_true", help="count: write all texts and verdicts to benchmarks/results")
    options = parser.parse_args()
    if options.task in KINDS:
        write_table(options.task, options.model, options.folder)
        return
    rows = json.loads((options.folder / "key.json").read_text("utf-8"))
    if options.task == "count":
        count(rows, options.readers)
        if options.save:
            print(record.save(f"judged_{options.folder.name}", rows, {}))
        return
    lines = itertools.chain.from_iterable(map(read_lines, options.text))
    runs = longest_runs([row["written"] for row in rows], lines)
    for name in dict.fromkeys(row["model"] for row in rows):
        own = [run for run, row in zip(runs, rows, strict=True) if row["model"] == name]
        print(f"{name:24} longest run of words in the training text: median {statistics.median(own)}, most {max(own)}")


if __name__ == "__main__":
    main()

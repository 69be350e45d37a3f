"""A corpus that needs no download: sentences of numbers, dates and counting, French and English.

The training text ends at a length that the test goes beyond, so that one sees what a model makes of sentences longer
than any it was trained on. No sentence is in two of the parts, and the same seed gives the same text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.compare.phrases import Pair, sentence
from regard.files import write_file

SHORTEST, LONGEST = 3, 60
"""words of a French sentence"""
SHORT_POWER = 2.5
"""lengths of the training text are drawn so that short sentences are more frequent; 1 makes all alike"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """How much of it there is. The test has as many sentences of each length as of any other."""

    num_train: int = 8000
    """pairs to train on"""
    num_valid: int = 100
    """pairs to validate with"""
    num_test: int = 300
    """pairs to score"""
    longest_train: int = 40
    """words of the longest French sentence of training and validation"""
    seed: int = 1
    """of the text"""


@dataclass(frozen=True, slots=True)
class Parts:
    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def generate(wanted: Generated) -> Parts:
    """The three parts."""
    draw, seen = random.Random(wanted.seed), set[str]()
    every = range(SHORTEST, LONGEST + 1)
    test = [
        _unseen(draw, every[i * len(every) // wanted.num_test], seen)
        for i in range(wanted.num_test)
    ]
    valid = [_unseen(draw, _length(draw, wanted), seen) for _ in range(wanted.num_valid)]
    train = [_unseen(draw, _length(draw, wanted), seen) for _ in range(wanted.num_train)]
    return Parts(train, valid, test)


def _length(draw: random.Random, wanted: Generated) -> int:
    share: float = draw.random() ** SHORT_POWER
    return SHORTEST + int(share * (wanted.longest_train - SHORTEST + 1))


def _unseen(draw: random.Random, num_words: int, seen: set[str]) -> Pair:
    while True:
        pair = sentence(draw, num_words)
        if pair is not None and pair.source not in seen:
            seen.add(pair.source)
            return pair


def write(parts: Parts, folder: Path) -> None:
    """NAME.fr and NAME.en for each part, and NAME.links.json: the links of the test's words."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train", "valid", "test"):
        pairs: Sequence[Pair] = getattr(parts, name)
        write_file(folder / f"{name}.fr", "".join(f"{each.source}\n" for each in pairs).encode())
        write_file(folder / f"{name}.en", "".join(f"{each.target}\n" for each in pairs).encode())
    links = [each.links for each in parts.test]
    write_file(folder / LINKS, json.dumps(links).encode())


LINKS = "test.links.json"

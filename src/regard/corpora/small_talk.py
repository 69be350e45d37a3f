"""Small talk written for regard, multiplied by how people type and by what was said before.

small_talk.tsv has a dialogue a line, its turns separated by tabs: a person's first, then regard's, and so on. What
stands between bars in a person's turn are ways of saying the same: `Hi|Hello|Hey there`. Names and facts that regard
is to keep in mind stand in braces, `I'm {person}`: small_talk_slots.tsv has what fills them, so much of it that giving
a word back is learnt and not the words.

A line that begins with # is a heading. The more marks, the more alone its dialogues stand: those under one come before
and after others; those under ## come after others, but never before, for what is told in them must not be forgotten
later on; those under ### stand alone, for in them nothing has been told.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.corpora.dialogues import Exchange, exchanges
from regard.data.corpus import read_lines

FILE = Path(__file__).with_name("small_talk.tsv")
SLOTS = Path(__file__).with_name("small_talk_slots.tsv")

_NUM_FILLED = 6
"""dialogues that are made of one with slots"""
_PUNCTUATION = re.compile(r"(?<![.,!?;])[.,!?;]++(?=\s|$)")


@dataclass(frozen=True)
class Talk:
    """A dialogue: turn by turn the ways of saying it, and how many marks its heading has."""

    turns: list[list[str]]
    num_marks: int

    @property
    def has_slots(self) -> bool:
        return any("{" in way for turn in self.turns for way in turn)


def talks(path: Path = FILE) -> Iterator[Talk]:
    """Every dialogue of the file."""
    num_marks = 1
    for line in read_lines(path):
        if line.startswith("#"):
            num_marks = len(line) - len(line.lstrip("#"))
        elif line:
            yield Talk([turn.split("|") for turn in line.split("\t")], num_marks)


def dialogues(path: Path = FILE) -> list[list[list[str]]]:
    """Turn by turn the ways of saying it."""
    return [talk.turns for talk in talks(path)]


def small_talk(seed: int = 1, path: Path = FILE) -> Iterator[Exchange]:
    """Every exchange of the file: as it is written, carelessly typed, and after another conversation."""
    draw = random.Random(seed)
    slots = _Slots(draw)
    known = list(talks(path))
    first = [talk.turns for talk in known if talk.num_marks == 1]
    for talk in known:
        for said in _said(talk, draw, slots):
            for typed in dict.fromkeys((0, draw.choice((1, 2)), 3)):
                person = [
                    _typed(turn, typed) if place % 2 == 0 else turn
                    for place, turn in enumerate(said)
                ]
                yield from exchanges(person, range(1, len(person), 2))
            if first and talk.num_marks < 3:
                earlier = [draw.choice(turn) for turn in draw.choice(first)]
                both = [*earlier, *said]
                yield from exchanges(both, range(len(earlier) + 1, len(both), 2))


def _said(talk: Talk, draw: random.Random, slots: _Slots) -> Iterator[list[str]]:
    """Each way at least once; a dialogue with slots many times, any way with any other."""
    if talk.has_slots:
        for _ in range(_NUM_FILLED):
            yield slots.fill([draw.choice(turn) for turn in talk.turns])
    else:
        for way in range(max(len(turn) for turn in talk.turns)):
            yield [turn[way % len(turn)] for turn in talk.turns]


class _Slots:
    """What fills the braces; each word comes once before one comes again."""

    def __init__(self, draw: random.Random) -> None:
        self._words: dict[str, Iterator[str]] = {}
        for line in read_lines(SLOTS):
            name, _, words = line.partition("\t")
            listed = words.split("|")
            self._words[name] = itertools.cycle(draw.sample(listed, len(listed)))

    def fill(self, turns: list[str]) -> list[str]:
        """A slot holds the same word in all of a dialogue."""
        names = sorted(set(re.findall(r"\{(\w+)\}", " ".join(turns))))
        words = {name: next(self._words[name]) for name in names}
        return [turn.format(**words) for turn in turns]


def _typed(turn: str, way: int) -> str:
    """0 as it is, 1 in lower case, 2 without punctuation, 3 without any of it.

    >>> [_typed("Hi, what's up?", way) for way in range(4)]
    ["Hi, what's up?", "hi, what's up?", "Hi what's up", 'hi whats up']
    """
    typed = turn.lower() if way in (1, 3) else turn
    if way in (2, 3):
        typed = _PUNCTUATION.sub("", typed)
    if way == 3:
        typed = typed.replace("'", "")
    return typed.strip() or turn

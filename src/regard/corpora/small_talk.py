"""Small talk written for regard, multiplied by how people type and by what was said before.

small_talk.tsv has a dialogue a line, its turns separated by tabs: a person's first, then regard's, and so on. What
stands between bars in a person's turn are ways of saying the same: `Hi|Hello|Hey there`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from regard.corpora.dialogues import Exchange, exchanges
from regard.text.corpus import read_lines

FILE = Path(__file__).with_name("small_talk.tsv")

_PUNCTUATION = re.compile(r"(?<![.,!?;])[.,!?;]++(?=\s|$)")


def dialogues(path: Path = FILE) -> list[list[list[str]]]:
    """Turn by turn the ways of saying it; a line that begins with # is a heading."""
    return [
        [turn.split("|") for turn in line.split("\t")]
        for line in read_lines(path)
        if line and not line.startswith("#")
    ]


def small_talk(seed: int = 1, path: Path = FILE) -> Iterator[Exchange]:
    """Every exchange of the file: as it is written, carelessly typed, and after another conversation."""
    draw = random.Random(seed)
    known = dialogues(path)
    for turns in known:
        for way in range(max(len(turn) for turn in turns)):
            said = [turn[way % len(turn)] for turn in turns]
            for typed in dict.fromkeys((0, draw.choice((1, 2)), 3)):
                person = [
                    _typed(turn, typed) if place % 2 == 0 else turn
                    for place, turn in enumerate(said)
                ]
                yield from exchanges(person, range(1, len(person), 2))
            earlier = [draw.choice(turn) for turn in draw.choice(known)]
            earlier = earlier[: len(earlier) // 2 * 2]
            both = [*earlier, *said]
            yield from exchanges(both, range(len(earlier) + 1, len(both), 2))


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

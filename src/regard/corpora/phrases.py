"""Everyday French and English written for regard: phrases several times, words, and patterns filled in every way.

phrases.tsv and patterns.tsv hold French TAB English. What stands between bars on a side are ways of saying the same;
what stands in braces in a pattern is filled from `slots`, alike on both sides.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from regard.corpora.slots import slots
from regard.corpora.tables import Value
from regard.corpora.translations import key_of
from regard.corpora.variations import varied
from regard.corpora.words import dictionary
from regard.data.corpus import read_lines

PHRASES = Path(__file__).with_name("phrases.tsv")
PATTERNS = Path(__file__).with_name("patterns.tsv")

CAPITALS_SHARE = 0.05
_LOWER_SHARE = 0.03
_MOST_FILLINGS = 125
"""of a pattern, unless a single slot has more"""

_SLOT = re.compile(r"{([^{}]+)}")
_CONTRACTED_SHARE = 0.5
_CONTRACTIONS = (
    ("I am ", "I'm "),
    ("You are ", "You're "),
    ("We are ", "We're "),
    ("It is ", "It's "),
    ("He is ", "He's "),
    ("She is ", "She's "),
    (" is not ", " isn't "),
    ("I will ", "I'll "),
    ("We will ", "We'll "),
    ("He will ", "He'll "),
    ("She will ", "She'll "),
    ("They are ", "They're "),
    ("You will ", "You'll "),
    ("They will ", "They'll "),
    ("I would ", "I'd "),
    ("He would ", "He'd "),
    ("She would ", "She'd "),
    ("We would ", "We'd "),
    ("I have been ", "I've been "),
    ("I have just ", "I've just "),
    ("We have just ", "We've just "),
    ("They have just ", "They've just "),
    ("I have already ", "I've already "),
    ("I have never ", "I've never "),
    ("We have never ", "We've never "),
)
_JUDGED_BY = (
    "Aujourd'hui, nous sommes le lundi 5 octobre.",
    "Deux plus cinq font sept.",
    "Elle a peur du noir.",
    "Es-tu déjà allée au Portugal ?",
    "Es-tu déjà allée en Écosse ?",
    "I was born in 1985.",
    "Il est 12 h 30.",
    "Il est 8 h 30.",
    "Il est huit heures et demie.",
    "Il est huit heures trente.",
    "Il est midi et demi.",
    "Il est presque quatre heures du matin.",
    "Il est trois heures et quart.",
    "Ils se sont mariés en juin 2010.",
    "It is too cold out.",
    "Je suis né en 1985.",
    "Mon père est en train de réparer la voiture.",
    "Mon père répare la voiture.",
    "Nous sommes le 14 juillet.",
    "Nous sommes le lundi 5 octobre.",
    "On est le 14 juillet.",
    "Sorry. I didn't see you.",
    "Thank you. That is very kind of you.",
    "Trois fois sept font vingt et un.",
    "Êtes-vous libre samedi soir ?",
)
"""sentences that models are judged by (benchmarks/everyday) and that patterns and variations would make"""


def pairs(path: Path) -> list[tuple[list[str], list[str]]]:
    """Line by line the ways of saying it in French and in English; a line that begins with # is a heading."""
    lines = [line.split("\t") for line in read_lines(path) if line and not line.startswith("#")]
    return [(french.split("|"), english.split("|")) for french, english in lines]


def written(seed: int = 1, held_out: Collection[int] = ()) -> Iterator[Value]:
    """Every phrase in several ways, word and filled pattern, then some of them in capitals and some in lower case.

    held_out: keys (`translations.key_of`) of sentences that must not be trained on; a pair goes if a side is one.
    """
    draw = random.Random(seed)
    left_out = {key_of(text) for text in _JUDGED_BY} | set(held_out)
    filled = list(_filled(draw))
    kept = [
        pair
        for pair in dict.fromkeys((*_phrases(draw), *dictionary(), *filled))
        if not any(key_of(way) in left_out for side in pair for way in {side, _written_out(side)})
    ]
    # Each once: cleaning would leave out a second one.
    yield from dict.fromkeys((*kept, *_in_other_letters(kept, draw)))


def _in_other_letters(pairs: list[Value], draw: random.Random) -> Iterator[Value]:
    for pair in pairs:
        chance = draw.random() * (1 - CAPITALS_SHARE - _LOWER_SHARE)
        if chance < CAPITALS_SHARE:
            yield in_capitals(pair)
        elif chance < CAPITALS_SHARE + _LOWER_SHARE:
            yield pair[0].lower(), pair[1].lower()


def in_capitals(pair: Value) -> Value:
    """With their accents, as French has them.

    >>> in_capitals(("Où est l'œuf ?", "Where is the egg?"))
    ("OÙ EST L'ŒUF ?", 'WHERE IS THE EGG?')
    """
    return pair[0].upper(), pair[1].upper()


def _phrases(draw: random.Random) -> Iterator[Value]:
    """As they stand, then in other ways: a corpus of millions drowns what it holds once."""
    found = [pair for ways in pairs(PHRASES) for pair in itertools.product(*ways)]
    yield from found
    yield from varied(found, draw)


def _filled(draw: random.Random) -> Iterator[Value]:
    for french, english in pairs(PATTERNS):
        for values in _fillings(list(dict.fromkeys(_SLOT.findall(french[0]))), draw):
            said = _fill(draw.choice(french), 0, values), _fill(draw.choice(english), 1, values)
            yield said[0], _contracted(said[1], draw)


def _fillings(names: list[str], draw: random.Random) -> Iterator[dict[str, Value]]:
    """For one slot each of its values, for several as many draws as the largest of them has values, or more."""
    choices = [slots()[name] for name in names]
    if len(names) == 1:
        drawn = choices[0]
        if len(drawn) > _MOST_FILLINGS:
            drawn = draw.sample(drawn, _MOST_FILLINGS)
        yield from ({names[0]: value} for value in drawn)
        return
    for _ in range(_MOST_FILLINGS):
        yield {name: draw.choice(values) for name, values in zip(names, choices, strict=True)}


def _fill(pattern: str, side: int, values: dict[str, Value]) -> str:
    text = _SLOT.sub(lambda match: values[match[1]][side], pattern)
    # The point of p.m. ends the sentence too.
    text = text.replace("m..", "m.")
    return text[0].upper() + text[1:] if text[-1] in ".?!" else text


def _contracted(english: str, draw: random.Random) -> str:
    if draw.random() < _CONTRACTED_SHARE:
        for words, short in _CONTRACTIONS:
            english = english.replace(words, short)
    return english


def _written_out(text: str) -> str:
    if "'" in text:
        for words, short in _CONTRACTIONS:
            text = text.replace(short, words)
    return text

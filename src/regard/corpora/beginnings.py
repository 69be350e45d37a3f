"""Stories that begin with a sentence from elsewhere, so that a model goes on from any beginning, and then keeps to its story.

A story is one its writer could follow because its first paragraph says which it is. People begin theirs otherwise. So the
first sentence or two of another story, one with words of this one in it, come before it, about the same person: what
is learnt is to take up a beginning with the nearest story there is, and to give it that beginning's hero.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from regard.corpora.tales import drawn, slots_of, surnames, ways_of

_TITLED_SHARE, _ROLE_SHARE = 0.15, 0.1
"""of the heroes, those who are called by a title and a surname, and by what they are"""
_TITLES = {
    "f": "Mrs. Mrs. Mrs. Miss Miss Doctor Captain Professor Aunt Lady Inspector".split(),
    "m": "Mr. Mr. Mr. Mr. Captain Captain Doctor Professor Uncle Sir Inspector Sergeant".split(),
}
_ROLES = {
    "f": ("old woman", "girl", "young woman", "princess", "queen", "nurse", "widow"),
    "m": ("old man", "boy", "young man", "prince", "king", "soldier", "sailor"),
}
_ANYBODY = (
    "detective",
    "captain",
    "doctor",
    "teacher",
    "farmer",
    "stranger",
    "pilot",
    "driver",
    "inspector",
    "professor",
    "baker",
    "painter",
    "guard",
    "robot",
)
_INTRODUCED = re.compile(r"(?:called|named|name (?:is|was)|I am|I'm|,) $")
# Old Tom is not old Captain Harding.
_IS_CALLED = re.compile(
    r"\b(?:Mr\.|Mrs\.|Dr\.|(?i:miss|mister|aunt|uncle|king|queen|prince|princess|captain|doctor|professor|sir|lady|lord|saint"
    r"|brother|sister|father|mother|cousin|old|young|little|poor|dear|big|good|brave|clever|small|tall|kind|wise|shy|proud)) $"
)
_OTHERS = {
    "f": re.compile(r"\b(?:[Hh]e|[Hh]im|[Hh]is|boy|man)\b"),
    "m": re.compile(r"\b(?:[Ss]he|[Hh]er|hers|girl|woman)\b"),
}
"""by the kind of a hero, words that are not about them"""

_NUM_NEAR = 20
"""beginnings among which one is drawn for a story"""
_NUM_TRIES = 12
_LEAST_WORDS = 5
"""of a beginning"""
_LEAST_RARITY = 1.6
"""of a word: those of every fifth story say nothing"""
_SMALL = 6.0
"""what a beginning is counted for besides its words, so that one word alone is not the nearest"""
_TWO_SHARE = 0.4
"""of the beginnings that have two sentences"""
_LEAST_LETTERS = 4
"""of a word that says what a story is about"""

_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!Mr.)(?<!Mrs.)(?<!Dr.)(?<!St.) (?=[\"A-ZÀ-Þ\[{])|(?<=[.!?]\") (?=[\"A-ZÀ-Þ\[{])"
)
_SLOT = re.compile(r"\[\w+\]|\{\w+\}")
_WORD = re.compile(r"[a-z]+")
_QUOTED = re.compile(r'"[^"]*"')
_FIRST_PERSON = re.compile(r"\b(?:I|my|me|we|our|us)\b")


@dataclass(frozen=True)
class _Beginning:
    """The lines that are needed to tell it, and whose story it is."""

    place: int
    lines: list[str]


def another_name(text: str, slot: str, draw: random.Random) -> str | None:
    """Now and then Captain Harding or the detective in place of Tom, where the text with his slot lets him be called so."""
    kind, chance = slot[1], draw.random()
    if kind not in _TITLES or chance > _TITLED_SHARE + _ROLE_SHARE:
        return None
    places = [
        (text[: found.start()], text[found.end() :]) for found in re.finditer(re.escape(slot), text)
    ]
    if any(_IS_CALLED.search(before) or after.startswith(" {s") for before, after in places):
        return None
    if chance < _TITLED_SHARE:
        return f"{draw.choice(_TITLES[kind])} {draw.choice(surnames())}"
    if any(_INTRODUCED.search(before) or _is_spoken_to(before, after) for before, after in places):
        return None
    return f"the {draw.choice((*_ROLES[kind], *_ANYBODY))}"


def _is_spoken_to(before: str, after: str) -> bool:
    """
    >>> _is_spoken_to('"', '," said Ann.'), _is_spoken_to('Ann met ', ', who sang.')
    (True, False)
    """
    return before.endswith('"') and after.startswith((",", "!", "?", "."))


class Beginnings:
    """Those of all these stories, and for each story the nearest of the others."""

    def __init__(self, stories: Sequence[list[str]], others: Sequence[list[str]] = ()) -> None:
        """others: stories that only lend their beginnings."""
        self._known: list[_Beginning] = []
        for place, story in enumerate([*stories, *others]):
            untold, (first, *_) = ways_of(story)
            self._known += [_Beginning(place, [*untold, way]) for way in first]
        heads = [_words(_first_sentences(each.lines[-1], 2)) for each in self._known]
        bodies = [_words("\n".join(story)) for story in stories]
        weights = _rarities(bodies)
        holders: dict[str, list[int]] = {}
        sizes = []
        for number, head in enumerate(heads):
            known = [word for word in head if weights.get(word, 0.0) > _LEAST_RARITY]
            sizes.append(_SMALL + sum(weights[word] for word in known))
            for word in known:
                holders.setdefault(word, []).append(number)
        self._near = []
        for place, body in enumerate(bodies):
            scores: dict[int, float] = {}
            for word in body:
                for number in holders.get(word, ()):
                    scores[number] = scores.get(number, 0.0) + weights[word] / sizes[number]
            others_first = (
                number
                for number in sorted(scores, key=scores.__getitem__, reverse=True)
                if self._known[number].place != place
            )
            self._near.append(list(itertools.islice(others_first, _NUM_NEAR)))

    def lent(
        self, place: int, paragraphs: Sequence[str], hero: str | None, draw: random.Random
    ) -> str:
        """What a telling of the story at a place may begin with; nothing where none suits.

        hero: the slot of who comes first in the story, which stands in what is lent.
        """
        is_own = _is_own(" ".join(paragraphs))
        for _ in range(_NUM_TRIES if self._near[place] else 0):
            lent = self._known[draw.choice(self._near[place])]
            first = drawn(lent.lines, draw)[-1]
            text = _first_sentences(first, 2 if draw.random() < _TWO_SHARE else 1)
            named = slots_of(text)
            if len(text.split()) < _LEAST_WORDS or len(named) > 1 or text.count('"') % 2:
                continue
            if _is_own(text) != is_own:
                continue
            if named and (hero is None or named[0][1] != hero[1]):
                continue
            if hero is not None and hero[1] in _OTHERS and _OTHERS[hero[1]].search(text):
                continue
            return text.replace(named[0], hero) if named and hero else text
        return ""


def _first_sentences(paragraph: str, number: int) -> str:
    """
    >>> _first_sentences('It rained. "Come in!" said Tom. He did.', 2)
    'It rained. "Come in!" said Tom.'
    """
    return " ".join(sentences(paragraph)[:number])


def sentences(paragraph: str) -> list[str]:
    """Of a paragraph that is told, or written with its slots."""
    return _SENTENCE_END.split(paragraph)


def _words(text: str) -> set[str]:
    found = _WORD.findall(_SLOT.sub(" ", text).lower())
    return {word for word in found if len(word) >= _LEAST_LETTERS}


def _rarities(texts: Sequence[set[str]]) -> dict[str, float]:
    count = Counter(word for text in texts for word in text)
    return {word: math.log(len(texts) / number) for word, number in count.items()}


def _is_own(text: str) -> bool:
    """Whether somebody tells their own story.

    >>> [_is_own(each) for each in ('"I am here," said Tom.', "Tom took my hand.")]
    [False, True]
    """
    return bool(_FIRST_PERSON.search(_QUOTED.sub("", text)))

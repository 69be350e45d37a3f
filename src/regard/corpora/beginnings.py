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
from collections.abc import Mapping, Sequence
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
_TRADES = (
    "apprentice artist blacksmith boatman bookseller builder butcher carpenter clerk clockmaker cook cobbler constable dentist "
    "engineer ferryman fisherman gardener giant goldsmith hunter innkeeper janitor judge keeper librarian locksmith magician "
    "mayor merchant miller miner musician neighbour officer pirate policeman porter postman potter reporter scientist "
    "shepherd shoemaker singer student tailor thief traveller trader waiter watchman weaver witch wizard woodcutter writer"
).split()
_INTRODUCED = re.compile(r"(?:called|named|name (?:is|was)|I am|I'm|,) $")
# Old Tom is not old Captain Harding.
_IS_CALLED = re.compile(
    r"\b(?:Mr\.|Mrs\.|Dr\.|(?i:miss|mister|aunt|uncle|king|queen|prince|princess|captain|doctor|professor|sir|lady|lord|saint"
    r"|brother|sister|father|mother|cousin|old|young|little|poor|dear|big|good|brave|clever|small|tall|kind|wise|shy|proud)) $"
)
# The reporter Tom, his friend Tom, Dame Tom.
_BESIDE = re.compile(
    r"\b(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Mm]y|[Oo]ur|[Yy]our|[Tt]heir) (?:\w+ ){1,2}$|(?<=[a-z,] )[A-Z]\w+ $"
)
_ROLE = re.compile(
    r"\b(?:[Tt]he|[Aa]n?) (?:\w+ )?("
    + "|".join((*_ANYBODY, *itertools.chain(*_ROLES.values()), *_TRADES))
    + r")\b(?!'s)"
)
_OTHERS = {
    "f": re.compile(r"\b(?:[Hh]e|[Hh]im|[Hh]is|boy|man)\b"),
    "m": re.compile(r"\b(?:[Ss]he|[Hh]er|hers|girl|woman)\b"),
}
"""by the kind of a hero, words that are not about them"""

_NUM_NEAR = 40
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
_MOST_NAMED = 2
"""people in a beginning"""
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


def by_mentions(text: str) -> list[str]:
    """The slots of names, that of who is mentioned most first.

    >>> by_mentions("{f1} met {m1}. {m1} bowed.")
    ['{m1}', '{f1}']
    """
    return sorted(slots_of(text), key=text.count, reverse=True)


def another_name(text: str, slot: str, draw: random.Random) -> str | None:
    """Now and then Captain Harding or the detective in place of Tom, where the text with his slot lets him be called so."""
    kind, chance = slot[1], draw.random()
    if kind not in _TITLES or chance > _TITLED_SHARE + _ROLE_SHARE:
        return None
    if chance < _TITLED_SHARE:
        called = f"{draw.choice(_TITLES[kind])} {draw.choice(surnames())}"
    else:
        called = f"the {draw.choice((*_ROLES[kind], *_ANYBODY))}"
    return called if may_be_called(text, slot, called) else None


def may_be_called(text: str, slot: str, called: str) -> bool:
    """Whether that may stand wherever the text has a slot: nobody says "poor the baker", and none is called so in talk."""
    places = [
        (text[: found.start()], text[found.end() :]) for found in re.finditer(re.escape(slot), text)
    ]
    if any(
        _IS_CALLED.search(before) or _BESIDE.search(before) or after.startswith((" {s", " the "))
        for before, after in places
    ):
        return False
    return not called.startswith("the ") or not any(
        _INTRODUCED.search(before) or _is_spoken_to(before, after) for before, after in places
    )


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
        self, place: int, paragraphs: Sequence[str], heroes: Sequence[str], draw: random.Random
    ) -> tuple[str, str | None]:
        """What a telling of the story at a place may begin with, and what it calls the hero; nothing where none suits.

        heroes: the slots of those who are in the story, the one it is about first.
        """
        story = "\n".join(paragraphs)
        is_own = _is_own(story)
        for _ in range(_NUM_TRIES if self._near[place] else 0):
            lent = self._known[draw.choice(self._near[place])]
            first = drawn(lent.lines, draw)[-1]
            text = _first_sentences(first, 2 if draw.random() < _TWO_SHARE else 1)
            if len(text.split()) < _LEAST_WORDS or text.count('"') % 2 or _is_own(text) != is_own:
                continue
            known = slots_of(text)
            if known:
                taken = _taken(known, heroes)
                if taken is None:
                    continue
                text = _renamed(text, taken)
            if heroes and len(known) < 2 and (other := _OTHERS.get(heroes[0][1])):
                if other.search(text):
                    continue
            role = None if known else _ROLE.search(text)
            if not role:
                return text, None
            called = f"the {role[1]}"
            if not is_own and heroes and may_be_called(story, heroes[0], called):
                return text, called
        return "", None


def _renamed(text: str, taken: Mapping[str, str]) -> str:
    """
    >>> _renamed("{f1} met {m1}.", {"{f1}": "{f2}", "{m1}": "{m3}"})
    '{f2} met {m3}.'
    """
    return _SLOT.sub(lambda found: taken.get(found[0], found[0]), text)


def _taken(known: Sequence[str], heroes: Sequence[str]) -> dict[str, str] | None:
    """For the people of a beginning those of a story, each of the same kind; none where there are too few.

    >>> _taken(["{f1}", "{m1}"], ["{m2}", "{m1}", "{f3}"])
    {'{f1}': '{f3}', '{m1}': '{m2}'}
    """
    taken: dict[str, str] = {}
    for slot in known[: _MOST_NAMED + 1]:
        free = (each for each in heroes if each[1] == slot[1] and each not in taken.values())
        if len(taken) == _MOST_NAMED or (found := next(free, None)) is None:
            return None
        taken[slot] = found
    # Whom the story is about is among them.
    return taken if heroes[0] in taken.values() else None


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

"""Stories that are planned before they are told: after a beginning stands, in brackets, who is in it and what comes.

    One evening a giant came down from the sky. [ Harriet she, Ernest he; Everybody hid in the barn. Outside … ] That same

A small model learns the paragraphs of a story sooner than which of them follows which. In an outline they are a sentence
each, from the one that is begun on, and stand side by side, always the same, so it is learnt whole; then each paragraph has its sentence in view.

People begin their stories in ways of their own. So the beginning is often another story's, one with words of this one in
it, about the same person (`regard.corpora.beginnings`), and it may stop within a sentence.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from regard.corpora.beginnings import Beginnings, another_name, sentences
from regard.corpora.tales import cast_of, drawn, named, slots_of, ways_of
from regard.outlining import CLOSE, OPEN

NUM_TOLD = 60
"""tellings of a story"""
_LENT_SHARE = 0.6
"""of the tellings, those that begin with another's sentence, where one suits"""
_LATER_SHARE = 0.15
"""of the others, those that are planned somewhere later than in the first paragraph"""
_WITHIN_SHARE = 0.35
"""of the beginnings, those that stop within a sentence"""
_ALONE_SHARE = 0.6
"""of the tellings, those that end with the outline, so that more of them are read in the same time"""
_LEAST_WORDS = 4
"""of a beginning that stops there"""
_NUM_WORDS = 8
"""of a sentence of the outline, about"""
_A_WORD_TOO_MANY, _SPOKEN = 0.35, 2.0
"""what a sentence loses for each word that it is longer or shorter, and where it is said by somebody"""
_NUM_PEOPLE = 4
_LONGEST = 4
"""words of what is drawn, if it is to tell a paragraph from others"""
_DRAWN_RARITY = 4.0
"""of what is drawn for a telling, which no other paragraph may have"""
_LEAST_LETTERS = 4
"""of a word that says something"""
_LEAST_PARAGRAPHS = 3
"""of a story, with more of which it may be planned later"""

_DEFINED = re.compile(r"\[([\w/]+)=([^\[\]]*)\]")
_SLOT = re.compile(r"\[\w+\]|\{[fms]\d\}")
_TOKEN = re.compile(rf"{_SLOT.pattern}|[A-Za-z]+(?:'[a-z]+)?")
_TITLED = re.compile(
    r"((?:Mr\.|Mrs\.|Miss|Doctor|Captain|Professor|Sir|Lady|Lord|Inspector|Sergeant|Judge|Major|Colonel) )?(\{[fms]\d\})"
)
_PRONOUNS = frozenset("he she him her his hers it its they them their I me my".split())
_SAID = {"f": "she", "m": "he"}


def planned(
    stories: Sequence[list[str]],
    num_told: int,
    *,
    others: Sequence[list[str]] = (),
    seed: int = 1,
) -> Iterator[list[str]]:
    """Each story several times over, with its outline after its beginning. others: stories that only lend theirs."""
    draw = random.Random(seed)
    beginnings = Beginnings(stories, others)
    rarity = _rarities(stories)
    for place, story in enumerate(stories):
        untold, ways = ways_of(story)
        people = _People(untold, ways)
        items = _items(ways, people, rarity)
        for _ in range(num_told):
            chosen = [draw.choice(way) for way in ways]
            later = draw.random() < _LATER_SHARE and len(ways) > _LEAST_PARAGRAPHS
            first = draw.randrange(1, len(ways) - 2) if later else 0
            said = [f"{', '.join(people.of(chosen))};", *filter(None, items[first:])]
            *paragraphs, outline = drawn([*untold, *chosen, " ".join(said)], draw)[len(untold) :]
            text = "\n".join(paragraphs)
            hero = next(iter(slots_of(text)), None)
            lent = ""
            if first == 0 and draw.random() < _LENT_SHARE:
                lent = beginnings.lent(place, paragraphs, hero, draw)
            begun = _begun(paragraphs, first, lent, draw)
            alone = draw.random() < _ALONE_SHARE
            lines = _insert(begun, f"{OPEN} {outline} {CLOSE}", alone=alone)
            cast = cast_of([*lines, text], draw)
            if hero is not None and (called := another_name(f"{lent}\n{text}", hero, draw)):
                cast[hero] = called
            yield [named(line, cast) for line in lines]


def _begun(
    paragraphs: list[str], first: int, lent: str, draw: random.Random
) -> tuple[list[str], str, str, list[str]]:
    """The paragraphs before, the one that is planned in, before and after that place, and those that follow."""
    before, (paragraph, *after) = paragraphs[:first], paragraphs[first:]
    if lent:
        if draw.random() < _WITHIN_SHARE:
            said, rest = _within(lent, draw)
            return before, said, f"{rest} {paragraph}", after
        return before, lent, paragraph, after
    known = sentences(paragraph)
    count = draw.randrange(1, len(known) + 1)
    said, rest = " ".join(known[:count]), " ".join(known[count:])
    if draw.random() < _WITHIN_SHARE:
        said, more = _within(said, draw)
        rest = f"{more} {rest}".strip()
    return before, said, rest, after


def _within(text: str, draw: random.Random) -> tuple[str, str]:
    """Cut between two words."""
    words = text.split(" ")
    if len(words) <= _LEAST_WORDS:
        return text, ""
    place = draw.randrange(_LEAST_WORDS, len(words))
    return " ".join(words[:place]), " ".join(words[place:])


def _insert(
    begun: tuple[list[str], str, str, list[str]], outline: str, *, alone: bool
) -> list[str]:
    before, said, rest, after = begun
    if alone:
        return [*before, f"{said} {outline}"]
    return [*before, f"{said} {outline} {rest}".rstrip(), *after]


class _People:
    """Those of a story, by the slots that stand for them in it."""

    def __init__(self, untold: Sequence[str], ways: Sequence[Sequence[str]]) -> None:
        self.left_out: set[str] = set()
        """what is drawn and says little of a paragraph: pronouns, and whole clauses"""
        pronouns: set[str] = set()
        self._said: dict[str, str] = {}
        for slots, choices in _DEFINED.findall("\n".join(untold)):
            names = slots.split("/")
            values = list(zip(*(way.split("/") for way in choices.split("|")), strict=True))
            for name, column in zip(names, values, strict=True):
                if set(column) <= _PRONOUNS:
                    pronouns.add(name)
                if set(column) <= _PRONOUNS or max(len(each.split()) for each in column) > _LONGEST:
                    self.left_out.add(name)
            if any(slots_of(value) for value in values[0]):
                companion = f" [{names[1]}]" if names[1:] and names[1] in pronouns else ""
                self._said[f"[{names[0]}]"] = f"[{names[0]}]{companion}"
        text = "\n".join(way for paragraph in ways for way in paragraph)
        for title, slot in _TITLED.findall(text):
            if slot[1] == "s":
                self._said[slot] = f"{title}{slot}" if title else self._said.get(slot, slot)
            else:
                self._said[slot] = f"{slot} {_SAID[slot[1]]}"

    def of(self, paragraphs: Sequence[str]) -> list[str]:
        """Whom a text names, in its order."""
        found = [self._said.get(token) for token in _SLOT.findall("\n".join(paragraphs))]
        return list(dict.fromkeys(filter(None, found)))[:_NUM_PEOPLE]


def _words(text: str, people: _People | None = None) -> set[str]:
    """What may stand for a text: what is drawn for it, and its longer words in small letters."""
    found = set()
    for token in _TOKEN.findall(text):
        if token.startswith("["):
            small = token[1:2].lower() + token[2:-1]
            if people is not None and small not in people.left_out:
                found.add(f"[{small}]")
        elif token.endswith("}"):
            found.add(token)
        elif len(token) >= _LEAST_LETTERS:
            found.add(token.lower())
    return found


def _rarities(stories: Sequence[list[str]]) -> dict[str, float]:
    """Of the words, among all paragraphs."""
    count: Counter[str] = Counter()
    num_paragraphs = 0
    for story in stories:
        for ways in ways_of(story)[1]:
            num_paragraphs += 1
            count.update({word for way in ways for word in _words(way)})
    return {word: math.log(num_paragraphs / number) for word, number in count.items()}


def _items(ways: Sequence[Sequence[str]], people: _People, rarity: dict[str, float]) -> list[str]:
    """Of each paragraph the sentence that says most of it."""
    listed = [[_words(way, people) for way in paragraph] for paragraph in ways]
    everywhere = Counter(word for paragraph in listed for word in set().union(*paragraph))
    return [
        _sentence(paragraph, words, people, rarity, everywhere, len(ways))
        for paragraph, words in zip(ways, listed, strict=True)
    ]


def _sentence(
    ways: Sequence[str],
    listed: Sequence[set[str]],
    people: _People,
    rarity: dict[str, float],
    everywhere: Counter[str],
    num_paragraphs: int,
) -> str:
    """The sentence, of all the ways to tell a paragraph, whose words most of them share and few other paragraphs have."""
    count = Counter(word for words in listed for word in words)

    def worth(word: str) -> float:
        rare = _DRAWN_RARITY if word[-1] in "]}" else rarity.get(word, 0.0)
        share = max(count[word] - 1, 0) / len(ways)
        return rare * share * math.log(2 * num_paragraphs / max(everywhere[word], 1))

    def value(sentence: str) -> float:
        found = sum(worth(word) for word in _words(sentence, people))
        length = abs(len(sentence.split()) - _NUM_WORDS)
        return found - _A_WORD_TOO_MANY * length - _SPOKEN * ('"' in sentence)

    known = [
        sentence
        for way in ways
        for sentence in sentences(way)
        if "|" not in sentence and sentence.count('"') % 2 == 0
    ]
    return max(known, key=value, default="")

"""Stories that are planned before they are told: after a beginning stands, in brackets, who is in it and what comes.

    One evening a giant came down from the sky. [ Harriet she, Uncle Ernest; giant dog Pepper; barn; ground; … ] That same

A small model learns the paragraphs of a story sooner than which of them follows which. In an outline they are a few words
each and stand side by side, so it is learnt whole; then each paragraph has its words in view. The words of a paragraph
are those that most ways to tell it share and few other paragraphs have.

People begin their stories in ways of their own. So the beginning is often another story's, one with words of this one in
it, about the same person (`regard.corpora.beginnings`), and it may stop within a sentence.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from regard.corpora.beginnings import Beginnings, sentences, with_another_hero
from regard.corpora.tales import tell, ways_of
from regard.outlining import CLOSE, OPEN

NUM_TOLD = 30
"""tellings of a story"""
_LENT_SHARE = 0.6
"""of the tellings, those that begin with another's sentence, where one suits"""
_LATER_SHARE = 0.15
"""of the others, those that are planned somewhere later than in the first paragraph"""
_WITHIN_SHARE = 0.35
"""of the beginnings, those that stop within a sentence"""
_LEAST_WORDS = 4
"""of a beginning that stops there"""
_NUM_WORDS = 3
"""of a paragraph, in the outline"""
_NUM_PEOPLE = 4
_LONGEST = 4
"""words of what is drawn, if it is to be in an outline"""
_SHARED = 0.5
"""of the ways to tell a paragraph, in how many a word must be"""
_DRAWN_RARITY = 4.0
"""of what is drawn for a telling, which no other paragraph may have"""
_LEAST_LETTERS = 4

_DEFINED = re.compile(r"\[([\w/]+)=([^\[\]]*)\]")
_TOKEN = re.compile(r"\[\w+\]|(?:(?:[A-Z][a-z]+\.? )?\{[fms]\d\})|[A-Za-z]+(?:'[a-z]+)?")
_HELD_BY_NAME = re.compile(r"\{[fms]\d\}")
_PRONOUNS = frozenset("he she him her his hers it its they them their I me my".split())
_SAID = {"f": "she", "m": "he"}
_COMMON = frozenset(
    "about after again also always another away back because been before behind both came cannot come could down each even "
    "ever every everybody everyone felt from gave going gone good have hear heard here herself himself into just kept knew "
    "know last left like little long look looked made make many more most much must near never next nobody nothing once "
    "only other over people perhaps put quite said same sat saw says seen shall should since some somebody something soon "
    "still stood stop such take tell than that their them then there these they thing things this those though thought "
    "three till time told took turn turned under until upon very want wanted went were what when where which while whole "
    "whom whose will with without would your asked began called does done down found four five looked mine ours think well "
    "went word words first great".split()
)


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
        drawn, ways = ways_of(story)
        people = _People(drawn, story)
        items = _items(ways, people, rarity)
        for _ in range(num_told):
            chosen = [draw.choice(way) for way in ways]
            later = draw.random() < _LATER_SHARE
            first = draw.randrange(1, max(2, len(ways) - 2)) if later else 0
            cast = people.of("\n".join(chosen))
            outline = "; ".join([", ".join(cast), *items[first:]])
            telling = tell([*drawn, *chosen, outline], draw)
            *paragraphs, told = telling.paragraphs
            lent = ""
            if first == 0 and draw.random() < _LENT_SHARE:
                lent = beginnings.lent(place, telling, draw)
            begun = _begun(paragraphs, first, lent, draw)
            yield with_another_hero(_insert(begun, f"{OPEN} {told} {CLOSE}"), telling.hero, draw)


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


def _insert(begun: tuple[list[str], str, str, list[str]], outline: str) -> list[str]:
    before, said, rest, after = begun
    return [*before, f"{said} {outline} {rest}".rstrip(), *after]


def _num_words(text: str) -> int:
    return len(text.split())


class _People:
    """Those of a story, by what stands for them in it."""

    def __init__(self, drawn: Sequence[str], story: Sequence[str]) -> None:
        self.left_out: set[str] = set()
        """what is drawn and says little in an outline: pronouns, and whole clauses"""
        pronouns: set[str] = set()
        self._said: dict[str, str] = {}
        for slots, ways in _DEFINED.findall("\n".join(drawn)):
            names = slots.split("/")
            values = list(zip(*(way.split("/") for way in ways.split("|")), strict=True))
            for name, column in zip(names, values, strict=True):
                if set(column) <= _PRONOUNS:
                    pronouns.add(name)
                if set(column) <= _PRONOUNS or max(map(_num_words, column)) > _LONGEST:
                    self.left_out.add(name)
            if any(_HELD_BY_NAME.search(value) for value in values[0]):
                companion = names[1] if len(names) > 1 and names[1] in pronouns else ""
                self._said[f"[{names[0]}]"] = (
                    f"[{names[0]}] [{companion}]" if companion else f"[{names[0]}]"
                )
        told = [line for line in story if line not in drawn]
        for token in _TOKEN.findall("\n".join(told)):
            if token.endswith("}"):
                kind = token[-3]
                bare = token if kind == "s" else token[-4:]
                self._said[token] = f"{bare} {_SAID[kind]}" if kind in _SAID else bare

    def of(self, text: str) -> list[str]:
        """Whom a text names, in its order."""
        found = [self._said[token] for token in _TOKEN.findall(text) if token in self._said]
        return list(dict.fromkeys(found))[:_NUM_PEOPLE]

    def is_hero(self, token: str) -> bool:
        return token in self._said and token == next(iter(self._said))


def _words(text: str, people: _People | None = None) -> list[str]:
    """What may stand for a text: what is drawn for it, and its longer words in small letters."""
    found = []
    for token in _TOKEN.findall(text):
        if token.startswith("["):
            name = token[1:-1]
            small = name[:1].lower() + name[1:]
            if people is None or small in people.left_out or people.is_hero(f"[{small}]"):
                continue
            found.append(f"[{small}]")
        elif token.endswith("}"):
            found.append(token if token[-3] == "s" else token[-4:])
        elif len(token) >= _LEAST_LETTERS and token.lower() not in _COMMON:
            found.append(token.lower())
    return list(dict.fromkeys(found))


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
    """The words of each paragraph, in the order of its first telling that has them."""
    listed = [[_words(way, people) for way in paragraph] for paragraph in ways]
    counts = [Counter(word for words in paragraph for word in words) for paragraph in listed]
    everywhere = Counter(word for count in counts for word in count)
    rarest = max(rarity.values())

    def worth(word: str, share: float) -> float:
        rare = _DRAWN_RARITY if word[-1] in "]}" else rarity.get(word, rarest)
        # Who or what is in all of a story tells its paragraphs from others, and not from one another.
        return rare * share**2 * math.log(2 * len(ways) / everywhere[word])

    items = []
    for paragraph, count in zip(listed, counts, strict=True):
        num_ways = len(paragraph)
        shared = [word for word in count if count[word] >= _SHARED * num_ways] or list(count)
        shared.sort(key=lambda word: worth(word, count[word] / num_ways), reverse=True)
        order = {word: place for words in reversed(paragraph) for place, word in enumerate(words)}
        items.append(" ".join(sorted(shared[:_NUM_WORDS], key=order.__getitem__)))
    return items

"""Phrases of numbers, dates and counting in French and English, and which word became which.

A phrase is made of parts that have a counterpart in the other language; the words of a part and of its counterpart
are linked, whatever order the two languages put the parts in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.corpora.number_words import english, english_ordinal, english_year, french

Link = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of both languages; equal keys are parts of each other, a key of None is a part of nothing."""

    french: tuple[tuple[str, str | None], ...]
    english: tuple[tuple[str, str | None], ...]

    @property
    def num_words(self) -> int:
        return len(self.french)


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence, its translation, and the links between their words, from which to which, counted from 0."""

    source: str
    target: str
    links: tuple[Link, ...]

    @property
    def num_words(self) -> int:
        """Of the source."""
        return len(self.source.split())


@dataclass(frozen=True, slots=True)
class _Noun:
    french: str
    french_plural: str
    english: str
    english_plural: str
    feminine: bool = False


@dataclass(frozen=True, slots=True)
class _Adjective:
    masculine: str
    feminine: str
    english: str

    def agreed(self, *, feminine: bool, plural: bool) -> str:
        form = self.feminine if feminine else self.masculine
        return f"{form}s" if plural and not form.endswith("s") else form


_NOUNS = (
    _Noun("chat", "chats", "cat", "cats"),
    _Noun("chien", "chiens", "dog", "dogs"),
    _Noun("cheval", "chevaux", "horse", "horses"),
    _Noun("livre", "livres", "book", "books"),
    _Noun("oiseau", "oiseaux", "bird", "birds"),
    _Noun("maison", "maisons", "house", "houses", feminine=True),
    _Noun("fleur", "fleurs", "flower", "flowers", feminine=True),
    _Noun("pomme", "pommes", "apple", "apples", feminine=True),
    _Noun("voiture", "voitures", "car", "cars", feminine=True),
    _Noun("porte", "portes", "door", "doors", feminine=True),
)
_ADJECTIVES = (
    _Adjective("noir", "noire", "black"),
    _Adjective("blanc", "blanche", "white"),
    _Adjective("vert", "verte", "green"),
    _Adjective("bleu", "bleue", "blue"),
    _Adjective("rouge", "rouge", "red"),
    _Adjective("gris", "grise", "grey"),
)
_DAYS = (
    *(("lundi", "Monday"), ("mardi", "Tuesday"), ("mercredi", "Wednesday"), ("jeudi", "Thursday")),
    *(("vendredi", "Friday"), ("samedi", "Saturday"), ("dimanche", "Sunday")),
)
_MONTHS = (
    *(("janvier", "January"), ("février", "February"), ("mars", "March"), ("avril", "April")),
    *(("mai", "May"), ("juin", "June"), ("juillet", "July"), ("août", "August")),
    *(("septembre", "September"), ("octobre", "October"), ("novembre", "November")),
    ("décembre", "December"),
)
_DAYS_OF_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SIGNS = (("plus", "plus"), ("moins", "minus"), ("fois", "times"))
_MOST_COUNTED = 12
LARGE_SHARE = 0.2
"""of the numbers that need not be small"""

Parts = list[tuple[str, str | None]]


def _part(text: str, key: str | None) -> Parts:
    return [(word, key) for word in text.split()]


def _number(random: random.Random, largest: int = 99) -> int:
    return random.randint(1, 9999 if random.random() < LARGE_SHARE else largest)


def _things(random: random.Random) -> Phrase:
    """Three black cats: the adjective stands after the noun in one language, before it in the other."""
    noun, number = random.choice(_NOUNS), _number(random)
    first = _part(french(number, feminine=noun.feminine), "n")
    first += [(noun.french if number == 1 else noun.french_plural, "noun")]
    second = _part(english(number), "n")
    thing = (noun.english if number == 1 else noun.english_plural, "noun")
    if random.random() < 0.5:
        adjective = random.choice(_ADJECTIVES)
        first.append((adjective.agreed(feminine=noun.feminine, plural=number > 1), "adjective"))
        second.append((adjective.english, "adjective"))
    return Phrase(tuple(first), (*second, thing))


def _date(random: random.Random) -> Phrase:
    """Le lundi trois mars: Monday the third of March, or March the third."""
    (day_fr, day_en), month = random.choice(_DAYS), random.randrange(12)
    month_fr, month_en = _MONTHS[month]
    number, year = random.randint(1, _DAYS_OF_MONTHS[month]), random.randint(1700, 2099)
    names_day, names_year = random.random() < 0.5, random.random() < 0.4
    first: Parts = [("le", "the"), *[(day_fr, "day")] * names_day]
    first += _part("premier" if number == 1 else french(number), "n") + [(month_fr, "month")]
    second: Parts = [*[(day_en, "day")] * names_day, ("the", "the")]
    second += _part(english_ordinal(number), "n") + [("of", None), (month_en, "month")]
    if names_year:
        first += _part(french(year), "year")
        second += _part(english_year(year), "year")
    return Phrase(tuple(first), tuple(second))


def _sum(random: random.Random) -> Phrase:
    """Trois plus quatre font sept."""
    (sign_fr, sign_en), a, b = random.choice(_SIGNS), _number(random, 50), random.randint(2, 50)
    a = a + b if sign_en == "minus" else a % 100 + 2
    result = {"plus": a + b, "minus": a - b, "times": a * b}[sign_en]
    first = _part(french(a), "a") + [(sign_fr, "sign")] + _part(french(b), "b")
    second = _part(english(a), "a") + [(sign_en, "sign")] + _part(english(b), "b")
    return Phrase(
        (*first, ("font", "make"), *_part(french(result), "result")),
        (*second, ("make", "make"), *_part(english(result), "result")),
    )


def _counting(random: random.Random) -> Phrase:
    """Trois, six, neuf: some numbers, each so many after the one before."""
    start, step = random.randint(0, 60), random.choice((1, 1, 2, 3, 5, 10))
    down = random.random() < 0.25
    numbers = [start + i * step for i in range(random.randint(3, _MOST_COUNTED))]
    first: Parts = []
    second: Parts = []
    for i, number in enumerate(reversed(numbers) if down else numbers):
        first = _with_comma(first) + _part(french(number), str(i))
        second = _with_comma(second) + _part(english(number), str(i))
    return Phrase(tuple(first), tuple(second))


def _with_comma(parts: Sequence[tuple[str, str | None]], sign: str = ",") -> Parts:
    return [*parts[:-1], (parts[-1][0] + sign, parts[-1][1])] if parts else []


KINDS: tuple[Callable[[random.Random], Phrase], ...] = (_things, _date, _sum, _counting)


def sentence(random: random.Random, num_words: int) -> Pair | None:
    """A sentence of so many French words: phrases with commas between, or `et` before the last; None where
    the phrases that were drawn do not come to that length."""
    phrases: list[Phrase] = []
    length = 0
    while length < num_words:
        phrase = random.choice(KINDS)(random)
        if length + phrase.num_words > num_words and length:
            # Many a phrase is longer than what is left; one of things is the shortest.
            phrase = _things(random)
        phrases.append(phrase)
        length += phrase.num_words
    if length == num_words:
        return _joined(phrases, ends_with_and=False)
    if length == num_words - 1 and len(phrases) > 1:
        return _joined(phrases, ends_with_and=True)
    return None


def _joined(phrases: Sequence[Phrase], *, ends_with_and: bool) -> Pair:
    sides: list[Parts] = [[], []]
    for i, phrase in enumerate(phrases):
        last = i == len(phrases) - 1
        for side, (parts, word) in enumerate(((phrase.french, "et"), (phrase.english, "and"))):
            if last and ends_with_and:
                sides[side].append((word, "and"))
            else:
                sides[side] = _with_comma(sides[side])
            sides[side] += [(text, None if key is None else f"{i}.{key}") for text, key in parts]
    source, target = (_with_comma(side, ".") for side in sides)
    links = tuple(
        (i, j)
        for j, (_, wanted) in enumerate(target)
        for i, (_, key) in enumerate(source)
        if key is not None and key == wanted
    )
    return Pair(_words(source), _words(target), links)


def _words(parts: Parts) -> str:
    return " ".join(word for word, _ in parts)

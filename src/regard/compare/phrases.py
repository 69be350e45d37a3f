"""Generated sentences of numbers, dates and counting in French and English, with their word links.

A phrase is made of parts that have a counterpart in the other language. The words of a part are linked with those of
its counterpart, in whatever order the two languages put the parts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from regard.compare.number_words import english_number, english_ordinal, english_year, french_number

Parts = list[tuple[str, str | None]]
"""words, each with the key of its part; words of one key are linked, a key of None links nothing"""


class Phrase(NamedTuple):
    french: Parts
    english: Parts


class SentencePair(NamedTuple):
    """A sentence, its translation, and the links between their words: (source word, target word), from 0."""

    source: str
    target: str
    links: list[tuple[int, int]]

    @property
    def num_words(self) -> int:
        """Words of the source."""
        return len(self.source.split())


_NOUNS = (
    *(("chat", "chats", "cat", "cats"), ("chien", "chiens", "dog", "dogs")),
    *(("cheval", "chevaux", "horse", "horses"), ("livre", "livres", "book", "books")),
    ("oiseau", "oiseaux", "bird", "birds"),
    *(("maison", "maisons", "house", "houses"), ("fleur", "fleurs", "flower", "flowers")),
    *(("pomme", "pommes", "apple", "apples"), ("voiture", "voitures", "car", "cars")),
    ("porte", "portes", "door", "doors"),
)
_FEMININE = ("maison", "fleur", "pomme", "voiture", "porte")
_ADJECTIVES = (
    *(("noir", "noire", "black"), ("blanc", "blanche", "white"), ("vert", "verte", "green")),
    *(("bleu", "bleue", "blue"), ("rouge", "rouge", "red"), ("gris", "grise", "grey")),
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
"""share of the numbers that may be large"""


def _part(text: str, key: str | None) -> Parts:
    return [(word, key) for word in text.split()]


def _number(random: random.Random, largest: int = 99) -> int:
    return random.randint(1, 9999 if random.random() < LARGE_SHARE else largest)


def _things(random: random.Random) -> Phrase:
    """Three black cats: the adjective follows the noun in French and precedes it in English."""
    singular, plural, english_singular, english_plural = random.choice(_NOUNS)
    number, is_feminine = _number(random), singular in _FEMININE
    french = _part(french_number(number, feminine=is_feminine), "n")
    french += [(singular if number == 1 else plural, "noun")]
    english = _part(english_number(number), "n")
    if random.random() < 0.5:
        masculine, feminine, translation = random.choice(_ADJECTIVES)
        form = feminine if is_feminine else masculine
        form += "s" if number > 1 and not form.endswith("s") else ""
        french.append((form, "adjective"))
        english.append((translation, "adjective"))
    return Phrase(french, [*english, (english_singular if number == 1 else english_plural, "noun")])


def _date(random: random.Random) -> Phrase:
    """Le lundi trois mars: Monday the third of March, or March the third."""
    (day_fr, day_en), month = random.choice(_DAYS), random.randrange(12)
    month_fr, month_en = _MONTHS[month]
    number, year = random.randint(1, _DAYS_OF_MONTHS[month]), random.randint(1700, 2099)
    names_day, names_year = random.random() < 0.5, random.random() < 0.4
    first: Parts = [("le", "the"), *[(day_fr, "day")] * names_day]
    first += _part("premier" if number == 1 else french_number(number), "n") + [(month_fr, "month")]
    second: Parts = [*[(day_en, "day")] * names_day, ("the", "the")]
    second += _part(english_ordinal(number), "n") + [("of", None), (month_en, "month")]
    if names_year:
        first += _part(french_number(year), "year")
        second += _part(english_year(year), "year")
    return Phrase(first, second)


def _sum(random: random.Random) -> Phrase:
    """Trois plus quatre font sept."""
    (sign_fr, sign_en), a, b = random.choice(_SIGNS), _number(random, 50), random.randint(2, 50)
    a = a + b if sign_en == "minus" else a % 100 + 2
    result = {"plus": a + b, "minus": a - b, "times": a * b}[sign_en]
    first = _part(french_number(a), "a") + [(sign_fr, "sign")] + _part(french_number(b), "b")
    second = _part(english_number(a), "a") + [(sign_en, "sign")] + _part(english_number(b), "b")
    return Phrase(
        [*first, ("font", "make"), *_part(french_number(result), "result")],
        [*second, ("make", "make"), *_part(english_number(result), "result")],
    )


def _counting(random: random.Random) -> Phrase:
    """Trois, six, neuf: numbers in equal steps."""
    start, step = random.randint(0, 60), random.choice((1, 1, 2, 3, 5, 10))
    down = random.random() < 0.25
    numbers = [start + i * step for i in range(random.randint(3, _MOST_COUNTED))]
    first: Parts = []
    second: Parts = []
    for i, number in enumerate(reversed(numbers) if down else numbers):
        first = _with_comma(first) + _part(french_number(number), str(i))
        second = _with_comma(second) + _part(english_number(number), str(i))
    return Phrase(first, second)


def _with_comma(parts: Sequence[tuple[str, str | None]], sign: str = ",") -> Parts:
    return [*parts[:-1], (parts[-1][0] + sign, parts[-1][1])] if parts else []


KINDS: tuple[Callable[[random.Random], Phrase], ...] = (_things, _date, _sum, _counting)


def sentence(random: random.Random, num_words: int) -> SentencePair | None:
    """A sentence of this many French words: phrases joined by commas, or by `et` before the last.

    None where the phrases drawn do not add up to that length.
    """
    phrases: list[Phrase] = []
    length = 0
    while length < num_words:
        phrase = random.choice(KINDS)(random)
        if length + len(phrase.french) > num_words and length:
            # Most phrases are longer than what is left; one of things is the shortest.
            phrase = _things(random)
        phrases.append(phrase)
        length += len(phrase.french)
    if length == num_words:
        return _joined(phrases, ends_with_and=False)
    if length == num_words - 1 and len(phrases) > 1:
        return _joined(phrases, ends_with_and=True)
    return None


def _joined(phrases: Sequence[Phrase], *, ends_with_and: bool) -> SentencePair:
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
    links = [
        (i, j)
        for j, (_, wanted) in enumerate(target)
        for i, (_, key) in enumerate(source)
        if key is not None and key == wanted
    ]
    french, english = (" ".join(word for word, _ in parts) for parts in (source, target))
    return SentencePair(french, english, links)

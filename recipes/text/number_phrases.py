"""Generated sentences of numbers, dates and counting in French and English, with their word links.

    python recipes/text/number_phrases.py data/generated

writes what `regard compare --recipe lineage-small` reads: train, valid and test in both languages, and test.links.json. The
training text ends at a length that the test exceeds, to show how models treat sentences longer than any in training;
the test has equally many sentences of each length. No sentence is in two parts.

A phrase is made of parts that have a counterpart in the other language. The words of a part are linked with those of
its counterpart, in whatever order the two languages put the parts.
"""

import argparse
import calendar
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

SHORTEST, LONGEST = 3, 60
"""words of a French sentence"""

Parts = list[tuple[str, str | None]]
"""words, each with the key of its part; words of one key are linked, a key of None links nothing"""
Phrase = tuple[Parts, Parts]
"""French and English"""


class SentencePair(NamedTuple):
    """A sentence, its translation, and the links between their words: (source word, target word), from 0."""

    source: str
    target: str
    links: list[tuple[int, int]]


def _table(text: str) -> list[list[str]]:
    return [row.split() for row in text.split(",")]


_FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
).split()
for _tens in "vingt trente quarante cinquante soixante".split():
    _units = _FRENCH[1 : 20 if _tens == "soixante" else 10]
    _FRENCH += [_tens, *(f"{_tens} et {each}" if each in ("un", "onze") else f"{_tens}-{each}" for each in _units)]
_FRENCH += ["quatre-vingts", *(f"quatre-vingt-{each}" for each in _FRENCH[1:20])]
"""below a hundred"""
_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
for _tens in "twenty thirty forty fifty sixty seventy eighty ninety".split():
    _ENGLISH += [_tens, *(f"{_tens}-{each}" for each in _ENGLISH[1:10])]
_IRREGULAR_ORDINALS = dict(_table("one first,two second,three third,five fifth,eight eighth,nine ninth,twelve twelfth"))
_NOUNS = _table(
    "chat chats cat cats,chien chiens dog dogs,cheval chevaux horse horses,livre livres book books,"
    "oiseau oiseaux bird birds,maison maisons house houses,fleur fleurs flower flowers,"
    "pomme pommes apple apples,voiture voitures car cars,porte portes door doors"
)
_FEMININE = "maison fleur pomme voiture porte".split()
_ADJECTIVES = _table(
    "noir noire black,blanc blanche white,vert verte green,bleu bleue blue,rouge rouge red,gris grise grey"
)
_DAYS = _table(
    "lundi Monday,mardi Tuesday,mercredi Wednesday,jeudi Thursday,vendredi Friday,samedi Saturday,dimanche Sunday"
)
_MONTHS = _table(
    "janvier January,février February,mars March,avril April,mai May,juin June,juillet July,"
    "août August,septembre September,octobre October,novembre November,décembre December"
)
_SIGNS = _table("plus plus,moins minus,fois times")


def _part(text: str, key: str | None) -> Parts:
    return [(word, key) for word in text.split()]


def _number(draw: random.Random, largest: int = 99) -> int:
    # One number in five may be large.
    return draw.randint(1, 9999 if draw.random() < 0.2 else largest)


def _things(draw: random.Random) -> Phrase:
    """Three black cats: the adjective follows the noun in French and precedes it in English."""
    singular, plural, english_singular, english_plural = draw.choice(_NOUNS)
    number, is_feminine = _number(draw), singular in _FEMININE
    french = _part(french_number(number, feminine=is_feminine), "n")
    french.append((singular if number == 1 else plural, "noun"))
    english = _part(english_number(number), "n")
    if draw.random() < 0.5:
        masculine, feminine, translation = draw.choice(_ADJECTIVES)
        form = feminine if is_feminine else masculine
        french.append((form + "s" * (number > 1 and not form.endswith("s")), "adjective"))
        english.append((translation, "adjective"))
    return french, [*english, (english_singular if number == 1 else english_plural, "noun")]


def _date(draw: random.Random) -> Phrase:
    """Le lundi trois mars: Monday the third of March."""
    (day_fr, day_en), month = draw.choice(_DAYS), draw.randrange(12)
    month_fr, month_en = _MONTHS[month]
    number, year = draw.randint(1, calendar.monthrange(2001, month + 1)[1]), draw.randint(1700, 2099)
    names_day, names_year = draw.random() < 0.5, draw.random() < 0.4
    french: Parts = [("le", "the"), *[(day_fr, "day")] * names_day]
    french += _part("premier" if number == 1 else french_number(number), "n")
    french += [(month_fr, "month"), *_part(french_number(year), "year") * names_year]
    english: Parts = [*[(day_en, "day")] * names_day, ("the", "the")]
    english += [*_part(english_ordinal(number), "n"), ("of", None), (month_en, "month")]
    return french, [*english, *_part(english_year(year), "year") * names_year]


def _sum(draw: random.Random) -> Phrase:
    """Trois plus quatre font sept."""
    (sign_fr, sign_en), a, b = draw.choice(_SIGNS), _number(draw, 50), draw.randint(2, 50)
    a = a + b if sign_en == "minus" else a % 100 + 2
    result = {"plus": a + b, "minus": a - b, "times": a * b}[sign_en]

    def written(in_words: Callable[[int], str], sign: str, verb: str) -> Parts:
        sides = [*_part(in_words(a), "a"), (sign, "sign"), *_part(in_words(b), "b")]
        return [*sides, (verb, "make"), *_part(in_words(result), "result")]

    return written(french_number, sign_fr, "font"), written(english_number, sign_en, "make")


def _counting(draw: random.Random) -> Phrase:
    """Trois, six, neuf: numbers in equal steps."""
    start, step = draw.randint(0, 60), draw.choice((1, 1, 2, 3, 5, 10))
    goes_down = draw.random() < 0.25
    numbers = [start + i * step for i in range(draw.randint(3, 12))]
    french: Parts = []
    english: Parts = []
    for i, number in enumerate(reversed(numbers) if goes_down else numbers):
        french = _with_sign(french, ",") + _part(french_number(number), str(i))
        english = _with_sign(english, ",") + _part(english_number(number), str(i))
    return french, english


def _with_sign(parts: Parts, sign: str) -> Parts:
    return [*parts[:-1], (parts[-1][0] + sign, parts[-1][1])] if parts else []


KINDS: tuple[Callable[[random.Random], Phrase], ...] = (_things, _date, _sum, _counting)


def sentence(draw: random.Random, num_words: int) -> SentencePair | None:
    """A sentence of this many French words: phrases joined by commas, or by `et` before the last.

    None where the phrases drawn do not add up to that length.
    """
    phrases: list[Phrase] = []
    length = 0
    while length < num_words:
        phrase = draw.choice(KINDS)(draw)
        if length + len(phrase[0]) > num_words and length:
            # Most phrases are longer than what is left; one of things is the shortest.
            phrase = _things(draw)
        phrases.append(phrase)
        length += len(phrase[0])
    ends_with_and = length == num_words - 1 and len(phrases) > 1
    if length != num_words and not ends_with_and:
        return None
    source = _joined([french for french, _ in phrases], "et" if ends_with_and else "")
    target = _joined([english for _, english in phrases], "and" if ends_with_and else "")
    links = [
        (i, j)
        for j, (_, wanted) in enumerate(target)
        for i, (_, key) in enumerate(source)
        if key is not None and key == wanted
    ]
    french, english = (" ".join(word for word, _ in parts) for parts in (source, target))
    return SentencePair(french, english, links)


def _joined(phrases: Sequence[Parts], conjunction: str) -> Parts:
    joined: Parts = []
    for i, parts in enumerate(phrases):
        if conjunction and i == len(phrases) - 1:
            joined.append((conjunction, "and"))
        else:
            joined = _with_sign(joined, ",")
        joined += [(text, None if key is None else f"{i}.{key}") for text, key in parts]
    return _with_sign(joined, ".")


def french_number(number: int, *, feminine: bool = False, plural: bool = True) -> str:
    """In the spelling of before 1990, hyphens below a hundred only where no `et` stands.

    >>> french_number(71), french_number(280_000), french_number(21, feminine=True)
    ('soixante et onze', 'deux cent quatre-vingt mille', 'vingt et une')
    """
    thousands, below = divmod(number, 1000)
    hundreds, rest = divmod(below, 100)
    words = []
    if thousands:
        # `mille` never has a plural, and takes it from the `cent` or `vingt` before it.
        words += [french_number(thousands, plural=False)] if thousands > 1 else []
        words.append("mille")
    if hundreds:
        words += [_FRENCH[hundreds]] if hundreds > 1 else []
        words.append("cents" if hundreds > 1 and not rest and plural else "cent")
    if rest or not words:
        words.append("quatre-vingt" if rest == 80 and not plural else _FRENCH[rest])
    text = " ".join(words)
    return f"{text}e" if feminine and number % 10 == 1 and text.endswith("un") else text


def english_number(number: int) -> str:
    """With `and` before what is below a hundred, as in Britain.

    >>> english_number(321), english_number(21_100)
    ('three hundred and twenty-one', 'twenty-one thousand one hundred')
    """
    thousands, rest = divmod(number, 1000)
    hundreds, below = divmod(rest, 100)
    words = [english_number(thousands), "thousand"] if thousands else []
    words += [_ENGLISH[hundreds], "hundred"] if hundreds else []
    if below or not words:
        words += ["and", _ENGLISH[below]] if words else [_ENGLISH[below]]
    return " ".join(words)


def english_ordinal(number: int) -> str:
    """Of a day: below a hundred.

    >>> english_ordinal(1), english_ordinal(12), english_ordinal(20), english_ordinal(31)
    ('first', 'twelfth', 'twentieth', 'thirty-first')
    """
    before, hyphen, last = _ENGLISH[number].rpartition("-")
    regular = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return before + hyphen + _IRREGULAR_ORDINALS.get(last, regular)


def english_year(year: int) -> str:
    """As it is read: two by two, but for round and recent ones.

    >>> english_year(1789), english_year(1905), english_year(1800), english_year(2005), english_year(2021)
    ('seventeen eighty-nine', 'nineteen oh five', 'eighteen hundred', 'two thousand and five', 'twenty twenty-one')
    """
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        return english_number(year)
    if not rest:
        return f"{_ENGLISH[century]} hundred"
    return f"{_ENGLISH[century]} {'oh ' if rest < 10 else ''}{_ENGLISH[rest]}"


def generate(num_train: int, num_valid: int, num_test: int, longest: int, seed: int) -> dict[str, list[SentencePair]]:
    """The parts of the corpus; training and validation end at `longest` French words. The same seed gives the same text."""
    draw, seen = random.Random(seed), set[str]()

    def unseen(num_words: int) -> SentencePair:
        while True:
            pair = sentence(draw, num_words)
            if pair is not None and pair.source not in seen:
                seen.add(pair.source)
                return pair

    def short() -> SentencePair:
        # A power above 1 makes short sentences more frequent.
        share: float = draw.random() ** 2.5
        return unseen(SHORTEST + int(share * (longest - SHORTEST + 1)))

    num_lengths = LONGEST + 1 - SHORTEST
    test = [unseen(SHORTEST + i * num_lengths // num_test) for i in range(num_test)]
    valid = [short() for _ in range(num_valid)]
    return {"train": [short() for _ in range(num_train)], "valid": valid, "test": test}


def write(folder: Path, parts: dict[str, list[SentencePair]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, pairs in parts.items():
        for language, side in (("fr", "source"), ("en", "target")):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
            (folder / f"{part}.{language}").write_text(lines, encoding="utf-8", newline="\n")
    links = [pair.links for pair in parts["test"]]
    (folder / "test.links.json").write_text(json.dumps(links), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="folder to write")
    sizes = {"train": 6000, "valid": 30, "test": 87}
    for part, size in sizes.items():
        parser.add_argument(f"--{part}", type=int, default=size, help=f"pairs of {part}; {size}")
    parser.add_argument("--longest", type=int, default=30, help="words of the longest sentence of training; 30")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write(options.output, generate(options.train, options.valid, options.test, options.longest, options.seed))


if __name__ == "__main__":
    main()

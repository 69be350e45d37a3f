"""Small tasks that a tiny model learns within a minute or two, and the text for each, made from a seed.

copy       a d c            a d c                           the diagonal
reverse    a d c            c d a                           the anti-diagonal
dates      le 3 mai 2026    2026-05-03                      words become digits, in another order
translate  le chat noir     the black cat                   French to English with a vocabulary of 90 words
"""

import random
import tomllib
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

from regard.files import write_file

LESSON = "lesson.tsv"  # File of the pairs in the run's folder.
NUM_PAIRS = 5000
LETTERS = "abcdefghijkl"
SHORTEST, LONGEST = 4, 10  # Letters of a line.
NUM_DAYS = 36_524  # Days from the first of January 1950 on.
_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
MONTHS, PAIRS = list(_WORDS["months"].values()), _WORDS["pairs"]
Make = Callable[[random.Random], tuple[str, str]]


def write_lesson(name: str, folder: Path, seed: int) -> Path:
    """Write different pairs of a lesson, source TAB target."""
    rng, lines = random.Random(seed), dict[str, str]()
    while len(lines) < NUM_PAIRS:
        source, target = LESSONS[name](rng)
        lines.setdefault(source, target)
    path = folder / LESSON
    write_file(path, "".join(f"{source}\t{target}\n" for source, target in lines.items()).encode())
    return path


def _letters(rng: random.Random) -> list[str]:
    return [rng.choice(LETTERS) for _ in range(rng.randint(SHORTEST, LONGEST))]


def _copy(rng: random.Random) -> tuple[str, str]:
    letters = " ".join(_letters(rng))
    return letters, letters


def _reverse(rng: random.Random) -> tuple[str, str]:
    letters = _letters(rng)
    return " ".join(letters), " ".join(reversed(letters))


def _date(rng: random.Random) -> tuple[str, str]:
    day = date(1950, 1, 1) + timedelta(days=rng.randrange(NUM_DAYS))
    number = "1er" if day.day == 1 else str(day.day)
    return f"le {number} {MONTHS[0][day.month - 1]} {day.year}", day.isoformat()


def _sentence(rng: random.Random) -> tuple[str, str]:
    """Somebody does something to a thing, perhaps not, perhaps in a month: word orders differ, and words go missing."""
    subject, english_subject = rng.choice(PAIRS["subjects"])
    verb, english_verb = rng.choice(PAIRS["verbs"])
    thing, english_thing = _thing(rng)
    french, english = f"{verb} {thing}", f"{english_verb}s {english_thing}"
    if english_verb == "watch":
        english = f"watches {english_thing}"
    if rng.random() < 0.3:
        french, english = f"ne {verb} pas {thing}", f"does not {english_verb} {english_thing}"
    if rng.random() < 0.5:
        month = rng.randrange(12)
        french, english = f"{french} en {MONTHS[0][month]}", f"{english} in {MONTHS[1][month]}"
    return _sentence_of(f"{subject} {french}."), _sentence_of(f"{english_subject} {english}.")


def _thing(rng: random.Random) -> tuple[str, str]:
    """A noun with its article and one adjective or none: before the noun in English, mostly after it in French."""
    noun, english = rng.choice(PAIRS["nouns"])
    if rng.random() < 0.3:
        return noun, english
    masculine, feminine, english_adjective = rng.choice(PAIRS["adjectives"])
    form = feminine if noun.startswith("la ") else masculine
    article, word = noun.split(" ")
    noun = f"{article} {form} {word}" if masculine in PAIRS["before_the_noun"] else f"{noun} {form}"
    return noun, english.replace("the ", f"the {english_adjective} ")


def _sentence_of(text: str) -> str:
    return text[0].upper() + text[1:]


LESSONS: dict[str, Make] = {"copy": _copy, "reverse": _reverse, "dates": _date, "translate": _sentence}

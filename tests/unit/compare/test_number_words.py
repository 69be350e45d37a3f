"""Numbers in words, every one against num2words, which others wrote."""

import pytest
from num2words import num2words

from regard.compare.number_words import (
    LARGEST,
    english,
    english_ordinal,
    english_year,
    french,
)

EVERY = [*range(2000), *range(2000, LARGEST, 997), *range(78_000, 82_000, 7), LARGEST]


def test_french_numbers_are_what_others_write() -> None:
    assert [french(n) for n in EVERY] == [num2words(n, lang="fr") for n in EVERY]


def test_english_numbers_are_what_others_write() -> None:
    assert [english(n) for n in EVERY] == [
        num2words(n, lang="en_GB").replace(",", "") for n in EVERY
    ]


def test_ordinals_are_what_others_write() -> None:
    days = range(1, 100)
    assert [english_ordinal(n) for n in days] == [
        num2words(n, lang="en", to="ordinal") for n in days
    ]


def test_years_are_what_others_write() -> None:
    """But for one habit: num2words says oh-five with a hyphen."""
    years = range(1100, 2100)
    others = [num2words(n, lang="en", to="year").replace("oh-", "oh ") for n in years]
    assert [english_year(n) for n in years] == others


@pytest.mark.parametrize(
    "number, words",
    [
        (1, "une"),
        (21, "vingt et une"),
        (71, "soixante et onze"),
        (81, "quatre-vingt-une"),
        (101, "cent une"),
        (11, "onze"),
        (1000, "mille"),
        (21_000, "vingt et un mille"),
    ],
)
def test_one_agrees_with_a_feminine_noun(number: int, words: str) -> None:
    assert french(number, feminine=True) == words

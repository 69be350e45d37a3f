"""Sentences with times and lengths of time through the bundled models.

In tests/kept each stands in brackets, and after it every spelling that will do in the other language.
"""

import re
from collections import Counter

import pytest
from keeping_fixtures import (
    LANGUAGES,
    assert_links_are_words,
    marked_sentences,
    with_plain_spaces,
)

from regard import load
from regard.api import Model


def sentences(language: str) -> list[tuple[str, list[list[str]]]]:
    """Each with the spellings that its times may have."""
    found = marked_sentences(f"times_from_{language}.txt")
    return [(text, [spellings[1:] for spellings in times]) for text, times in found]


def count(spellings: tuple[str, ...], text: str) -> int:
    """How often one of them stands there, and not as the beginning of another time."""
    ways = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
    return len(re.findall(rf"(?<![\w:])(?:{ways})(?!\w|:| ?[ap]\.?m\b| \d\d\b)", text))


def has_all(text: str, times: list[list[str]]) -> bool:
    text = with_plain_spaces(text)
    wanted = Counter(map(tuple, times))
    return all(count(spellings, text) == number for spellings, number in wanted.items())


@pytest.fixture(scope="module", params=["fr", "en"])
def pair(request: pytest.FixtureRequest) -> tuple[str, Model]:
    other = LANGUAGES[request.param]
    return request.param, load(source_language=request.param, target_language=other)


def test_every_time_comes_back_with_what_it_is_worth(pair: tuple[str, Model]) -> None:
    language, model = pair
    texts, times = zip(*sentences(language), strict=True)
    assert len(texts) >= 30
    found = model.translate(texts, details=True)
    lost = [
        (each.source, each.text)
        for each, wanted in zip(found, times, strict=True)
        if not has_all(each.text, wanted)
    ]
    assert lost == []
    assert not any("parts" in sentence.flags for each in found for sentence in each.sentences)


def test_always_and_all_week(pair: tuple[str, Model]) -> None:
    language, model = pair
    source, wanted = {
        "fr": ("La pharmacie est ouverte 24h/24 et 7j/7.", ["24/7"]),
        "en": ("The store is open 24/7.", ["24/7", "24 heures sur 24, 7 jours sur 7"]),
    }[language]
    assert any(each in model.translate(source) for each in wanted)


def test_so_it_is_with_every_candidate_and_its_words(pair: tuple[str, Model]) -> None:
    language, model = pair
    for source, wanted in sentences(language)[::5]:
        found = model.translate(source, details=True, n_best=3, alignment=True)
        assert has_all(found.text, wanted), found.alternatives
        for sentence in found.sentences:
            assert_links_are_words(sentence)


def test_capitals_stay_capitals(pair: tuple[str, Model]) -> None:
    language, model = pair
    source = {
        "fr": "OUVERT DE 8H À 12H ET DE 14H À 18H",
        "en": "OPEN FROM 8 AM TO 12 PM AND FROM 2 PM TO 6 PM",
    }[language]
    text = model.translate(source)
    assert text.isupper()
    last = {"fr": ("2 P.M", "6 P.M"), "en": ("14", "18")}[language]
    assert all(each in text for each in last)

"""A phrase is written several times, each time otherwise, and all of them reach training."""

from __future__ import annotations

import random

import pytest

from regard.config import DataConfig
from regard.corpora import phrases, variations
from regard.data import clean
from regard.data.corpus import Corpus, Part

WRITTEN = list(phrases.written())


def test_cleaning_leaves_out_none_as_a_duplicate() -> None:
    """Even where a recipe names the file twice."""
    sources, targets = ([pair[side] for pair in WRITTEN] * 2 for side in (0, 1))
    parts = [Part("written", start, start + len(WRITTEN)) for start in (0, len(WRITTEN))]
    kept, report = clean.clean(
        Corpus(sources, targets, parts),
        DataConfig(source_language="fr", target_language="en", wrong_language=True),
    )
    assert report.dropped[clean.DUPLICATE] == report.dropped[clean.COPY] == 0
    assert len(kept) > 0.999 * len(sources)


def test_a_phrase_is_written_several_times_and_never_the_same() -> None:
    fixed = [
        (french, english)
        for ways in phrases.pairs(phrases.PHRASES)
        for french in ways[0]
        for english in ways[1]
    ]
    for french, english in (
        ("Il fait beau.", "The weather is nice."),
        ("J'ai le cafard.", "I feel blue."),
        ("Enregistrer sous", "Save as"),
    ):
        assert (french, english) in fixed
        sides = french.rstrip(".").lower(), english.rstrip(".").lower()
        found = [
            pair for pair in WRITTEN if all(map(str.__contains__, map(str.lower, pair), sides))
        ]
        assert len(found) == len(set(found)) >= variations.NUM_TIMES, found
    assert len(WRITTEN) - len(fixed) > 0.95 * (variations.NUM_TIMES - 1) * len(fixed)


@pytest.mark.parametrize(
    ("phrase", "ways"),
    [
        (
            ("Il pleut.", "It's raining."),
            [
                ("Il pleut", "It's raining"),
                ("Il pleut !", "It's raining!"),
                ("« Il pleut », dit-il.", '"It\'s raining," he said.'),
                ("Il pleut. Tu viens ?", "It's raining. Are you coming?"),
                ("Tu viens ? Il pleut.", "Are you coming? It's raining."),
                ("Bonjour ! Il pleut.", "Hello! It's raining."),
            ],
        ),
        (
            ("Tu viens ?", "Are you coming?"),
            [
                ("« Tu viens ? » demanda-t-elle.", '"Are you coming?" she asked.'),
                ("Il a dit : « Tu viens ? »", 'He said, "Are you coming?"'),
            ],
        ),
        (("Sortie", "Exit"), [("SORTIE", "EXIT"), ("- Sortie", "- Exit"), ("sortie", "exit")]),
        (("JE T'AIME", "I LOVE YOU"), [("Je t'aime", "I love you")]),
    ],
)
def test_the_ways_of_writing_a_phrase(phrase: tuple[str, str], ways: list[tuple[str, str]]) -> None:
    others = [("Il pleut.", "It's raining."), ("Tu viens ?", "Are you coming?")]
    found = set()
    for seed in range(200):
        for pair in variations.varied([*others, phrase], random.Random(seed)):
            found.add(pair)
    assert set(ways) <= found
    assert phrase not in found


def test_what_means_something_in_its_letters_is_left_in_them() -> None:
    found = {
        pair
        for seed in range(50)
        for pair in variations.varied([("5 km", "5 km"), ("l'ADN", "DNA")], random.Random(seed))
    }
    assert {"5 KM", "l'adn", "L'Adn"}.isdisjoint(french for french, _ in found)
    assert ("- l'ADN", "- DNA") in found

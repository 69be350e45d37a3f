"""Blanks and capitals are read as a model knows them, and every word is still found where it was typed."""

from __future__ import annotations

import random

import pytest

import regard
from regard.filling import with_blanks
from regard.text.as_read import as_read, places, single_spaced

BLANKS = (" ", "\t", "\u00a0", "\u202f")


def test_every_character_is_found_again() -> None:
    draw = random.Random(3)
    for _ in range(300):
        text = "".join(draw.choice((*BLANKS, "a", "b", ".")) for _ in range(draw.randrange(19)))
        single, at = single_spaced(text), places(text)
        assert len(at) == len(single) + 1
        assert at[-1] == len(text)
        assert all(
            text[place] == sign for sign, place in zip(single, at, strict=False) if sign != " "
        )
        assert at == sorted(set(at))
        assert single_spaced(single) == single


def test_the_mark_between_turns_stays() -> None:
    assert single_spaced("Hi. \u2028 Hello.") == "Hi. \u2028 Hello."


def test_blanks_change_neither_the_translation_nor_its_words() -> None:
    model = regard.load("fr-en")
    once, often = "Le chat dort.", "Le\u00a0 chat  \u2009dort."
    plain, spaced = (
        model.translate(text, details=True, alignment=True).sentences[0].candidates[0]
        for text in (once, often)
    )
    assert spaced.text == plain.text
    assert plain.alignment and spaced.alignment
    linked = [
        [(text[slice(*link.source)], link.target) for link in candidate.alignment or ()]
        for text, candidate in ((once, plain), (often, spaced))
    ]
    assert linked[0] == linked[1]


@pytest.mark.parametrize(
    ("language", "given", "read"),
    [
        ("fr", "DÉFENSE DE FUMER !", "Défense de fumer !"),
        ("en", "WHAT AM I TO DO?", "What am I to do?"),
        ("en", '"I AM LATE"', '"I am late"'),
        ("fr", "OTAN", "OTAN"),
        ("fr", "L'OTAN a dit NON.", "L'OTAN a dit NON."),
        ("de", "42", "42"),
    ],
)
def test_capitals_are_read_as_small_letters(language: str, given: str, read: str) -> None:
    assert as_read(given, language) == read


def test_a_text_in_capitals_is_translated_in_capitals() -> None:
    model = regard.load("fr-en")
    assert model.translate("LE CHAT DORT.") == model.translate("Le chat dort.").upper()


@pytest.mark.parametrize("text", ["Il fait  beau.", "IL FAIT BEAU."])
def test_what_is_looked_at_is_what_is_translated(text: str) -> None:
    translator = regard.load("fr-en")._translator
    looked_at = with_blanks(translator.manifest, translator.source, text)
    assert [looked_at] == translator.source_ids([text])

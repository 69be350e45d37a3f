"""A text is read as a model knows it, and every word is still found where it was typed."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

import regard
from regard.generate.blanks import with_blanks
from regard.text.as_read import AsRead
from regard.text.tokenizer_base import TokenizerBase

ODD = (" ", "\t", "\u00a0", "\u202f", "\u200b", "e\u0301", "\ufb01", "\u2026", "\u2019", "\u2014")


def reader(language: str, *words: str, **options: Any) -> AsRead:
    """For a vocabulary of these words and of letters."""
    return AsRead(language, vocabulary(*words), **options)


def vocabulary(*words: str, unknown: str = "") -> TokenizerBase:
    """Of these words and of the signs of a keyboard, less those that are unknown."""

    def encode(text: str) -> list[int]:
        if text in words:
            return [0]
        known = text.isascii() and text not in unknown
        return [0 if known else 1] * max(2, len(text))

    def token_strings(ids: list[int]) -> list[str]:
        return ["<0x00>" if number else "a" for number in ids]

    found = SimpleNamespace(encode=encode, token_strings=pieces, special_ids=frozenset())
    return cast("TokenizerBase", found)


def test_every_character_is_found_again() -> None:
    draw = random.Random(3)
    for language in ("en", "fr"):
        for _ in range(300):
            text = "".join(draw.choice((*ODD, "b", "dont ", "svp ", ".")) for _ in range(19))
            read = reader(language).respelt(text)
            assert len(read.places) == len(read.text) + 1
            assert read.places[0] >= 0 and read.places[-1] == len(text)
            assert list(read.places) == sorted(read.places)
            for sign, place in zip(read.text, read.places, strict=False):
                assert sign != "b" or text[place] == "b"


def test_what_is_read_is_read_the_same_again() -> None:
    read = reader("fr")("Ce\u00a0n\u2019e\u0301tait  qu\u2019un \ufb01lm\u2026 svp")
    assert read == "Ce n'était qu'un film... s'il vous plaît"
    assert reader("fr")(read) == read


@pytest.mark.parametrize(
    "once, often",
    [
        ("Le chat dort.", "Le\u00a0 chat  \u2009dort."),
        ("Le chat dort.", "Le\u200b chat\u00ad dort.\u200e"),
        ("Il a mangé.", "Il a mange\u0301."),
        ("L'officier dort.", "L\u2019of\ufb01cier dort."),
    ],
)
def test_signs_change_neither_the_translation_nor_its_words(once: str, often: str) -> None:
    model = regard.load("fr-en")
    plain, printed = (
        model.translate(text, details=True, alignment=True).sentences[0].candidates[0]
        for text in (once, often)
    )
    assert printed.text == plain.text
    assert plain.alignment and printed.alignment
    read = AsRead("fr", model.translator.source)
    linked = [
        [
            (read(text[slice(*link.source)]), link.target)
            for link in candidate.alignment or ()
            if read(text[slice(*link.source)])
        ]
        for text, candidate in ((once, plain), (often, printed))
    ]
    assert linked[0] == linked[1]


@pytest.mark.parametrize(
    ("language", "given", "read"),
    [
        ("fr", "DÉFENSE DE FUMER !", "Défense de fumer !"),
        ("fr", "IL Y A UN FUMER", "Il y a un fumer"),
        ("en", "WHAT AM I TO DO?", "What am I to do?"),
        ("en", '"I AM LATE"', '"I am late"'),
        ("en", "I'M SAD", "I'm sad"),
        ("fr", "OTAN", "OTAN"),
        ("fr", "L'OTAN a dit NON.", "L'OTAN a dit NON."),
        ("de", "42", "42"),
    ],
)
def test_capitals_are_read_as_small_letters(language: str, given: str, read: str) -> None:
    words = ("de", "fumer", "il", "y", "a", "un", "what", "am", "to", "do", "late", "m", "sad")
    assert reader(language, *words, "défense")(given) == read


@pytest.mark.parametrize(
    "given, read",
    [
        ("I REALLY don't know.", "I really don't know."),
        ("PLEASE NOTE: it is closed.", "Please note: it is closed."),
        ("Ask NASA or the WHO.", "Ask NASA or the WHO."),
        ("John REALLY and Mr. REALLY", "John REALLY and Mr. REALLY"),
        ("NATO AND PARIS ARE REALLY IT", "NATO and Paris are really it"),
        ("i went to paris on monday, i think", "I went to Paris on Monday, I think"),
        ("She went to paris.", "She went to paris."),
        ("we ate turkey by the windows in paris", "we ate turkey by the windows in Paris"),
        ("I'm sooo happy, yesss!", "I'm so happy, yes!"),
        ("See www.a.org, part viii, zzz", "See www.a.org, part viii, zzz"),
        ("Coool", "Cool"),
        ("It is rea-\nlly so.", "It is really so."),
        ("two- or three- day", "two- or three- day"),
    ],
)
def test_the_vocabulary_says_which_word_is_meant(given: str, read: str) -> None:
    words = "Turkey Windows window really please note NATO Paris Monday and are it went so yes who Cool happy I think on"
    assert reader("en", *words.split(), "to", in_full=False)(given) == read


def test_french_words_in_capitals_may_be_names() -> None:
    assert reader("fr", "petit")("Jean et la maison PETIT.") == "Jean et la maison PETIT."


@pytest.mark.parametrize(
    "language, unknown, read",
    [
        # It has learnt both, and the plain ones were found to do.
        ("fr", "", "L'eau, c'est \"\u2013\""),
        # It has never seen a straight one.
        ("fr", "'", 'L\u2019eau, c\u2019est "\u2013"'),
        # What a language needs is its vocabulary's affair.
        ("uk", "", 'L\u2019eau, c\u2019est "\u2014"'),
    ],
)
def test_the_vocabulary_says_which_signs_are_meant(language: str, unknown: str, read: str) -> None:
    pieces = vocabulary("\u2019", "\u2013", "\u2014", unknown=unknown)
    assert AsRead(language, pieces)("L\u2019eau, c\u2019est \u201c\u2014\u201d") == read


def test_models_of_ours_read_plain_signs_alone() -> None:
    for name in ("fr-en", "en-fr", "chat"):
        read = regard.load(name)._translator.as_read
        assert read("L\u2019\u201ca\u201d\u00a0\u2014 \u2026") == 'L\'"a" \u2013 ...'


def test_a_letter_thrice_is_a_word_in_german() -> None:
    text = "Die Schifffahrt, das Betttuch"
    assert reader("de", "Schiffahrt", "Betttuch")(text) == text


@pytest.mark.parametrize(
    "text", ["for i in range(10)", "Set i = 0, then i++ and a[i].", "\u4f60\u597d,\u4e16\u754c"]
)
def test_programs_and_other_scripts_stay(text: str) -> None:
    assert reader("en")(text) == text


@pytest.mark.parametrize(
    "given, read",
    [
        ("'Twas the boys' fault, in '99 and the girls' too", None),
        ("rock 'n' roll", None),
        ("Give 'em the '90s and the kids' toys", "Give 'em the 1990s and the kids' toys"),
    ],
)
def test_an_apostrophe_opens_no_quotation(given: str, read: str | None) -> None:
    assert reader("en")(given) == (read or given)


@pytest.mark.parametrize(
    "given, read",
    [
        ("‘I don’t know,’ she said.", '"I don\'t know," she said.'),
        ("He said: “She told me ‘never’.”", 'He said: "She told me "never"."'),
        ("The boys’ house in ’99", "The boys' house in '99"),
    ],
)
def test_english_quotation_marks_are_double(given: str, read: str) -> None:
    assert reader("en")(given) == read


def test_haste_is_written_out_where_a_model_has_not_met_it() -> None:
    assert reader("en")("I cant come") == "I can't come"
    assert reader("en", in_full=False)("I cant come") == "I cant come"
    manifest = regard.load("chat").manifest
    assert manifest.as_read(regard.load("chat")._translator.source)("i cant come") == "I cant come"


@pytest.mark.parametrize(
    "typed, plain",
    [
        ("i dont know.", "I don't know."),
        ("I can’t come…", "I can't come..."),
        ("The of\ufb01ce is closed.", "The office is closed."),
        ("We met in a cafe\u0301.", "We met in a café."),
    ],
)
def test_a_text_means_the_same_however_it_is_typed(typed: str, plain: str) -> None:
    model = regard.load("en-fr")
    assert model.translate(typed) == model.translate(plain)


def test_a_text_in_capitals_is_translated_in_capitals() -> None:
    model = regard.load("fr-en")
    assert model.translate("LE CHAT DORT.") == model.translate("Le chat dort.").upper()


def test_english_says_i_with_a_capital() -> None:
    text = regard.load("fr-en").translate("je t'aime")
    assert "i" not in text.split() and text.startswith("I ")


@pytest.mark.parametrize("text", ["Il fait  beau.", "IL FAIT BEAU.", "cest l’e\u0301te\u0301"])
def test_what_is_looked_at_is_what_is_translated(text: str) -> None:
    translator = regard.load("fr-en")._translator
    looked_at = with_blanks(translator.manifest, translator.source, text)
    assert [looked_at] == translator.source_ids([text])

"""Normalisation: keyboard signs, single blanks, small letters; every character is found where it was typed."""

import random
from types import SimpleNamespace
from typing import cast

import pytest

from regard.api import Model
from regard.text.normalise import Normalised, Normaliser, known_signs, normalise_signs, normalise_text
from regard.text.tokenizer import Tokenizer, TokenizerBase

ODD = (" ", "\t", "\u00a0", "\u200b", "e\u0301", "\ufb01", "\u2026", "\u2019", "\u2014")
MEANT = [
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "m\u00b2, 5 \u2192 6",
    "&lt;b&#062; &amp;",
    "\u4f60\u597d,\u4e16\u754c",
]
"""what means something, and stays"""


def vocabulary(*words: str, unknown: str = "") -> TokenizerBase:
    """Of these words and of the signs of a keyboard, less those that are unknown."""

    def encode(text: str) -> list[int]:
        if text in words:
            return [0]
        known = text.isascii() and text not in unknown
        return [0 if known else 1] * max(2, len(text))

    def token_strings(ids: list[int]) -> list[str]:
        return ["<0x00>" if number else "a" for number in ids]

    return cast("TokenizerBase", SimpleNamespace(encode=encode, token_strings=token_strings, special_ids=frozenset()))


@pytest.mark.parametrize(
    "given, read",
    [
        ("I don\u2019t, \u201cyes\u201d, d\u00b4un", "I don't, \"yes\", d'un"),
        ("re\u00adsult, a\u200b \u2060b\ufeff\u200e", "result, a b"),
        ("1\u202f000\u00a0000 \u2003 m", "1 000 000 m"),
        ("le 1\u1d49\u02b3, \U0001d5db\U0001d5f6 \uff21\uff11, \u2167", "le 1er, Hi A1, VIII"),
        ("''yes'' and ,,yes''", '"yes" and "yes"'),
        ("l&rsquo;&eacute;t&eacute;&nbsp;: I&#39;m", "l'été : I'm"),
        ("Yes,please: 1,5", "Yes, please: 1,5"),
        ("\u1112\u1161\u11ab", "\ud55c"),
        *((text, text) for text in MEANT),
    ],
)
def test_signs_are_those_of_a_keyboard(given: str, read: str) -> None:
    assert normalise_text(given) == read
    assert normalise_text(read) == read


@pytest.mark.parametrize(
    ("language", "given", "read"),
    [
        ("fr", "DÉFENSE DE FUMER !", "Défense de fumer !"),
        ("en", "WHAT AM I TO DO?", "What am I to do?"),
        ("en", "NATO AND PARIS ARE LATE", "NATO and Paris are late"),
        ("fr", "OTAN", "OTAN"),
        ("de", "42", "42"),
    ],
)
def test_capitals_are_read_as_small_letters(language: str, given: str, read: str) -> None:
    words = "de fumer défense what am to do late NATO and Paris are".split()
    found = Normaliser(language, vocabulary(*words)).normalise(given)
    assert found.text == read and found.in_capitals == (given != read)


@pytest.mark.parametrize(
    "language, unknown, read",
    [
        ("fr", "", "L'eau, c'est \"\u2013\""),  # it has learnt both
        ("fr", "'", 'L\u2019eau, c\u2019est "\u2013"'),  # it has never seen a straight one
        ("uk", "", 'L\u2019eau, c\u2019est "\u2014"'),  # another language may need them
    ],
)
def test_the_vocabulary_says_which_signs_are_meant(language: str, unknown: str, read: str) -> None:
    words = vocabulary("\u2019", "\u2013", "\u2014", unknown=unknown)
    assert Normaliser(language, words)("L\u2019eau, c\u2019est \u201c\u2014\u201d") == read


def test_every_character_has_its_offset_and_what_a_vocabulary_knows() -> None:
    tokenizer = Tokenizer.train(["le chat d'été…"] * 3, vocabulary=300, exact=False)
    knows = Normaliser("fr", tokenizer).knows
    assert knows("é") and knows("Z") and not knows("ж")
    assert knows("\uff21") and knows("\ufb01") and knows("\u2019") and not knows("\u2192")
    text = "L\u2019e\u0301te\u0301\u2026  \u201cdit\u00a0il\u201d\n\tдом"
    assert known_signs(text, tokenizer) == 'L\'été…  "dit il"\n\tдом'
    read = normalise_signs(Normalised.of("\u200bof\ufb01ce, cafe\u0301\u2026"))
    assert read.text == "office, café..."
    assert list(read.offsets) == [1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 13, 13, 14]
    draw = random.Random(3)
    for _ in range(300):
        text = "".join(draw.choice((*ODD, "b", ".")) for _ in range(19))
        read = Normaliser("fr", vocabulary()).normalise(text, [(5, 8)])
        assert len(read.offsets) == len(read.text) + 1 and read.offsets[-1] == len(text)
        assert list(read.offsets) == sorted(read.offsets)
        assert text[5:8] in read.text
        for sign, offset in zip(read.text, read.offsets, strict=False):
            assert sign != "b" or text[offset] == "b"


def test_signs_change_neither_the_translation_nor_its_words_and_capitals_come_back(bundled: Model) -> None:
    once, often = "L'officier a mangé là.", "L\u2019of\ufb01cier\u00a0 a\u200b mange\u0301 là."
    found = [bundled.translate(text, details=True, alignment=True).sentences[0] for text in (once, often)]
    plain, printed = (sentence.candidates[0] for sentence in found)
    assert printed.text == plain.text and plain.alignment and printed.alignment
    for one, other in zip(plain.alignment, printed.alignment, strict=True):
        assert normalise_text(often[slice(*other.source)]) == once[slice(*one.source)]
        assert one.target == other.target
    assert bundled.translate("LE CHAT DORT.") == bundled.translate("Le chat dort.").upper()

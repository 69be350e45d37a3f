"""Determiners: which stand before a word, and how they may read before another."""

import pytest

from regard.translate.determiners import determiner_before, forms_before, without_determiner


@pytest.mark.parametrize(
    "word, determiner, language, forms",
    [
        ("gamin", "L'", "fr", ["Le", "La"]),
        ("actualisation", "la", "fr", ["l'"]),
        ("hôtel", "l'", "fr", ["le", "la", "l'"]),
        ("idée", "ma", "fr", ["mon"]),
        ("spud", "an", "en", ["a"]),
        ("apple", "A", "en", ["An"]),
        ("user", "a", "en", ["a", "an"]),
        ("apple", "the", "en", ["the"]),
        ("Haus", "der", "de", ["der"]),
    ],
)
def test_forms(word: str, determiner: str, language: str, forms: list[str]) -> None:
    assert forms_before(word, determiner, language) == forms


@pytest.mark.parametrize(
    "text, language, found",
    [
        ("Il parle de la ", "fr", "de la"),
        ("Il voit l'", "fr", "l'"),
        ("Il voit l’", "fr", "l'"),
        ("He eats an ", "en", "an"),
        ("Montana ", "en", ""),
        ("über der ", "de", ""),
        ("", "en", ""),
    ],
)
def test_the_determiner_before(text: str, language: str, found: str) -> None:
    assert determiner_before(text, language) == found


@pytest.mark.parametrize(
    "text, language, rest",
    [
        ("L'eau", "fr", "eau"),
        ("de la table", "fr", "table"),
        ("lait", "fr", "lait"),
        ("The cat", "en", "cat"),
        ("the", "en", "the"),
        ("der Hund", "de", "der Hund"),
    ],
)
def test_without_determiner(text: str, language: str, rest: str) -> None:
    assert without_determiner(text, language) == rest

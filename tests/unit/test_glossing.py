"""A glossary's words in translations of the bundled models."""

import pytest

from regard import load
from regard.api import Model
from regard.errors import RegardWarning, UsageError


@pytest.fixture(scope="module")
def model() -> Model:
    return load("fr-en")


@pytest.mark.parametrize(
    "source, glossary, expected, gone",
    [
        (
            "Le chat dort sur la table rouge.",
            {"chat": "kitten", "table rouge": "scarlet desk"},
            ["The kitten ", " scarlet desk."],
            ["cat", "red", "table"],
        ),
        ("Le Chat est noir.", {"chat": "kitten"}, ["itten is black."], ["cat"]),
        ("Ma maison est ta maison.", {"maison": "dwelling"}, ["My dwelling", "your dwelling"], []),
        ("Les chats dorment.", {"chat": "kitten"}, ["Cats"], ["kitten"]),
        ("Paris est grand.", {"Paris": "Lutetia"}, ["Lutetia is"], ["Paris"]),
    ],
)
def test_sentences_stay_sentences(
    model: Model, source: str, glossary: dict[str, str], expected: list[str], gone: list[str]
) -> None:
    text = model.translate(source, glossary=glossary)
    assert all(each in text for each in expected)
    assert not any(each in text for each in gone)


def test_the_alignment_and_the_scores_are_those_of_the_new_text(model: Model) -> None:
    source = "Le chat dort."
    plain = model.translate(source, details=True, glossary={"chat": "kitten"})
    assert plain.alignment is None
    found = model.translate(
        source, details=True, alignment=True, n_best=3, glossary={"chat": "kitten"}
    )
    assert found.text == plain.text and len(found.alternatives) > 1
    assert all("kitten" in each for each in found.alternatives)
    assert ("chat", "kitten") in [
        (source[slice(*link.source)], found.text[slice(*link.target)]) for link in found.alignment
    ]
    best = found.sentences[0].candidates[0]
    assert len(best.token_log_probabilities) == len(best.tokens) + 1
    assert best.log_probability == pytest.approx(sum(best.token_log_probabilities))


def test_a_term_without_a_place_is_warned_of(model: Model) -> None:
    # Nothing of the output may change before the prefix ends, and the prefix is all there is.
    with pytest.warns(RegardWarning, match="lack a word that the glossary asks for"):
        text = model.translate("Le chat dort.", prefix="The cat sleeps", glossary={"chat": "zyx"})
    assert text.startswith("The cat sleeps")


def test_a_banned_term_is_refused(model: Model) -> None:
    with pytest.raises(UsageError, match="both banned and asked for"):
        model.translate("Le chat dort.", banned=["kitten"], glossary={"chat": "kitten"})

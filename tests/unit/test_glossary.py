"""A glossary: which terms a sentence holds, files that are none, and its words in translations of a bundled model."""

from pathlib import Path

import pytest

from regard.api import Model
from regard.errors import DataError, UsageError
from regard.translate.glossary import Glossary


def targets(pairs: dict[str, str], sentence: str) -> list[str]:
    return [place.target for place in Glossary(pairs.items()).places_in(sentence)]


@pytest.mark.parametrize(
    "sentence, expected",
    [
        ("Le chat dort.", ["cat"]),
        ("Le Chat, le CHAT", ["cat", "cat"]),
        ("Un chat noir et un chaton", ["black cat"]),
        ("L'eau-de-vie est forte", ["brandy"]),
        ("Il code en C++.", ["C plus plus"]),
        ("Orange vend une orange", ["Orange SA", "orange"]),
    ],
)
def test_terms_of_a_sentence(sentence: str, expected: list[str]) -> None:
    pairs = {
        "chat": "cat", "chat noir": "black cat", "noir": "black", "eau-de-vie": "brandy", "C++": "C plus plus",
        "orange": "orange", "Orange": "Orange SA",
    }  # fmt: skip
    assert targets(pairs, sentence) == expected


def test_a_term_is_found_whatever_its_apostrophes_and_accents() -> None:
    sentence = "L\u2019ho\u0302tel d\u2019E\u0301tat\u00a0dort."
    for term in ("hôtel d'État dort", "hôtel d\u2019État dort"):
        [place] = Glossary([(term, "x")]).places_in(sentence)
        assert sentence[slice(*place.span)] == sentence[2:-1]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"chat\tcat\nchien dog\n", r"terms.tsv:2: a line must be a word TAB its translation: got"),
        (b"chat\tcat\n\xff\tx\n", "terms.tsv:2: a line must be UTF-8 text"),
        (b"chat\tcat\nchat\tpuss\n", "'chat' has 'cat' and 'puss'; leave one out"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        Glossary.load(path)


TWO_TERMS = {"chat": "kitten", "table rouge": "scarlet desk"}


@pytest.mark.parametrize(
    "source, glossary, expected, gone",
    [
        ("Le chat dort sur la table rouge.", TWO_TERMS, ["The kitten ", " scarlet desk."], ["cat", "red", "table"]),
        ("Le Chien est noir.", {"chien": "hound"}, ["The hound is black."], ["og"]),
        ("Les chats dorment.", {"chat": "kitten"}, ["Cats"], ["kitten"]),
        ("La table est rouge.", {"table": "des"}, [" des "], ["desk"]),
    ],
)
def test_the_search_writes_the_terms(bundled, source, glossary, expected, gone):
    text = bundled.translate(source, glossary=glossary)
    assert all(each in text for each in expected)
    assert not any(each in text for each in gone)


def test_the_alignment_and_the_scores_are_those_of_the_text_and_a_banned_term_is_refused(bundled: Model) -> None:
    source = "Le chat dort."
    assert bundled.translate(source, details=True, glossary={"chat": "kitten"}).alignment is None
    found = bundled.translate(source, details=True, alignment=True, n_best=3, glossary={"chat": "kitten"})
    assert len(found.alternatives) > 1 and all("kitten" in each.lower() for each in found.alternatives)
    assert found.alignment is not None
    words = [(source[slice(*link.source)], found.text[slice(*link.target)]) for link in found.alignment]
    assert ("chat", "kitten") in words
    best = found.sentences[0].candidates[0]
    assert not best.edited and len(best.token_log_probabilities) == len(best.tokens) + 1
    assert best.log_probability == pytest.approx(sum(best.token_log_probabilities))
    with pytest.raises(UsageError, match="both banned and asked for"):
        bundled.translate("Le chat dort.", banned=["kitten"], glossary={"chat": "kitten"})

"""Sentences with addresses, paths, placeholders, codes and words in other scripts, through the bundled models.

In tests/kept what has to come back stands in brackets; of an amount, each spelling that will do.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from regard import load
from regard.api import Model

FOLDER = Path(__file__).parents[1] / "kept"
_SPAN = re.compile("⟦(.*?)⟧")
_SPACES = re.compile("[\u00a0\u202f\u2009]")


def sentences(language: str) -> list[tuple[str, list[list[str]]]]:
    lines = (FOLDER / f"from_{language}.txt").read_text(encoding="utf-8").splitlines()
    return [
        (_SPAN.sub(lambda match: match[1].split("|")[0], line), [each.split("|") for each in _SPAN.findall(line)])
        for line in lines
    ]


def whole(text: str) -> str:
    before, after = (r"(?<!\w)" * text[0].isalnum(), r"(?!\w)" * text[-1].isalnum())
    return f"{before}{re.escape(text)}{after}"


def has_all(text: str, kept: list[list[str]]) -> bool:
    text = _SPACES.sub(" ", text)
    for spellings, count in Counter(map(tuple, kept)).items():
        if sum(len(re.findall(whole(each), text)) for each in spellings) != count:
            return False
    return True


@pytest.fixture(scope="module", params=["fr", "en"])
def pair(request: pytest.FixtureRequest) -> tuple[str, Model]:
    other = {"fr": "en", "en": "fr"}[request.param]
    return request.param, load(source_language=request.param, target_language=other)


def test_every_one_comes_back_letter_for_letter(pair: tuple[str, Model]) -> None:
    language, model = pair
    texts, kept = zip(*sentences(language), strict=True)
    assert len(texts) >= 100
    found = model.translate(texts, details=True)
    pairs = zip(found, kept, strict=True)
    assert [(each.source, each.text) for each, wanted in pairs if not has_all(each.text, wanted)] == []
    assert not any("parts" in sentence.flags for each in found for sentence in each.sentences)


@pytest.mark.filterwarnings("ignore:.* translated in parts")
def test_a_glossary_and_sampling_keep_them_too(pair: tuple[str, Model]) -> None:
    language, model = pair
    source = {"fr": "Le serveur https://a.org/b est en panne.", "en": "The server https://a.org/b is down."}[language]
    word = {"fr": "serveur", "en": "server"}[language]
    text = model.translate(source, glossary={word: "machine"})
    assert "machine" in text.lower() and "https://a.org/b" in text
    drawn = model.translate([source] * 4, method="sample", seed=3)
    assert all("https://a.org/b" in each for each in drawn)

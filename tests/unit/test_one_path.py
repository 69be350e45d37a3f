"""One path: what translate gives is what a trace ends in and what a server answers, for any input.

2,000 texts of mixed kinds, half of them French and half English, through the bundled models. The trace's text is compared
for all of them, and its arrays are made for a sample.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache

import pytest
from serve_fixtures import Running, running

import regard
from regard.folder.catalogue import find

NUM_TEXTS = 1000
"""of each direction"""
NUM_TRACED = 13
CHUNK = 50

PEOPLE = ["Claire Noël", "Nigel Price", "Tom Hill", "Anna", "M. Petit", "Dr. Stone", "Marie", "田中"]  # fmt: skip
LINKS = ["https://a.org/b?c=1", "www.example.net/x", "j.martin@uni.fr", "/etc/hosts", "data_1.csv", "@marc", "{name}", "%s", "<b>", "v1.2.3", "INV-2024-17", "+33 6 12 34 56 78"]  # fmt: skip
EMOJI = ["😀", "👋", "🎉 ", ":)", "❤️"]
TEXTS = {
    "fr": {
        "everyday": ["Il pleut.", "Je suis {word}.", "Où est {name} ?", "Tu as {number} ans."],
        "news": ["Le ministre a rencontré {name}.", "Les prix ont augmenté de {number} %."],
        "protected": ["Voir {link}.", "Écrivez à {link} !", "Ouvrez {link}, puis {other}."],
        "tags": ["Cliquez <b>ici</b>.", "Il est **{word}** ou *non*.", "a<br/>{word}"],
        "capitals": ["LE CHAT EST {WORD}.", "ATTENTION À {NAME} !"],
        "haste": ["jai faim, svp {number}", "c  est  {word}…", "l’été «\u00a0{word}\u00a0»"],
        "several": ["Oui. {name} dort ! Et toi ?", "- {word}\n- {number} ans\n\nFin.", " a\t{word} "],
    },
    "en": {
        "everyday": ["It rains.", "I am {word}.", "Where is {name}?", "You are {number}."],
        "news": ["The minister met {name}.", "Prices rose by {number}%."],
        "protected": ["See {link}.", "Write to {link}!", "Open {link}, then {other}."],
        "tags": ["Click <b>here</b>.", "It is **{word}** or *not*.", "a<br/>{word}"],
        "capitals": ["THE CAT IS {WORD}.", "BEWARE OF {NAME}!"],
        "haste": ["i dont know, thx {number}", "it  is  {word}…", "it’s “{word}”"],
        "several": ["Yes. {name} sleeps! You?", "- {word}\n- {number} years\n\nEnd.", " a\t{word} "],
    },
}
WORDS = {
    "fr": "fatigué content petit perdu prêt malade seul grand libre riche vieux rouge".split(),
    "en": "tired happy small lost ready sick alone tall free rich old red".split(),
}
ODD = ["", " ", "...", "\n\n", "42", "👋", "a" * 3000, "🎉", "?", "https://a.org"]


def made(language: str) -> Iterator[str]:
    """Texts of every kind in turn; the same in every run."""
    draw = random.Random(7)
    kinds = TEXTS[language]
    for kind in itertools.cycle(kinds):
        word, name = draw.choice(WORDS[language]), draw.choice(PEOPLE)
        link, other = draw.sample(LINKS, 2)
        text = draw.choice(kinds[kind]).format(
            word=word,
            name=name,
            WORD=word.upper(),
            NAME=name.upper(),
            link=link,
            other=other,
            number=draw.randrange(2, 60),
        )
        if draw.random() < 0.1:
            text += f" {draw.choice(EMOJI)}"
        yield text


@cache
def texts(language: str) -> list[str]:
    found = dict.fromkeys(ODD)
    for text in made(language):
        found[text] = None
        if len(found) == NUM_TEXTS:
            return list(found)
    raise AssertionError


@pytest.fixture(scope="module", params=["fr", "en"])
def pair(request: pytest.FixtureRequest) -> tuple[regard.Model, list[str], list[str]]:
    """A model, its texts, and what it translates them to."""
    language = request.param
    model = regard.load(source_language=language, threads=2)
    return model, texts(language), model.translate(texts(language))


pytestmark = pytest.mark.filterwarnings("ignore::regard.errors.RegardWarning")


def test_a_trace_ends_in_the_translation(pair: tuple[regard.Model, list[str], list[str]]) -> None:
    model, given, expected = pair
    differences = []
    for start in range(0, NUM_TEXTS, CHUNK):
        found = model.translate(given[start : start + CHUNK], details=True)
        for text, translation, end in zip(given[start:], found, expected[start:], strict=False):
            stages = [translation.stage(name) for name in ("given", "restored")]
            if stages != [text, end]:
                differences.append((text, stages, end))
    assert differences == []
    sample = [*given[: len(ODD)], *random.Random(1).sample(given, NUM_TRACED)]
    for text in sample:
        traced = model.trace(text).metadata
        assert traced["text.given"] == text
        assert traced["text.restored"] == expected[given.index(text)]
        assert len(traced["sentences"]) == 0 or set(traced["sentences"][0]) == {
            "given", "normalised", "protected", "written", "restored"
        }  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running([find("fr-en"), find("en-fr")]) as server:
        yield server


def test_a_server_answers_the_translation(pair: tuple[regard.Model, list[str], list[str]], server: Running) -> None:
    model, given, expected = pair
    languages = model.manifest.source_language, model.manifest.target_language
    asked = dict(zip(("source", "target"), languages, strict=True))
    differences = []
    for start in range(0, NUM_TEXTS, CHUNK):
        some = given[start : start + CHUNK]
        answer = server.post("/translate", {"q": some, **asked})
        assert answer.status == 200, answer.body
        pairs = zip(some, answer.json["translatedText"], expected[start:], strict=False)
        differences += [each for each in pairs if each[1] != each[2]]
    assert differences == []

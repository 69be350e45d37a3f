"""One path: translate, trace, look, serve, evaluate and translate-corpus end in the same text, for any input.

800 texts, half of them French and half English, through the bundled models; every second one through a server, samples traced.
"""

import itertools
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from cli_fixtures import run
from serve_fixtures import Running, running

import regard
from regard.data.lines import on_one_line
from regard.folder.catalogue import find
from regard.translate.trace import translate_recorded

NUM_TEXTS = 400
"""of each direction"""
NUM_FOLLOWED, NUM_TRACED, CHUNK = 50, 5, 50

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
        "times": ["Il est {number} h.", "Le bus part à 8 h moins le quart.", "Rendez-vous à 17h{number} !"],
        "ordinals": ["C'est le {number}e jour.", "La 1re page, le 2nd tome.", "le 1er mai {number}"],
        "money": ["Ça coûte {number},50 €.", "{name} doit {number} 000 euros."],
        "informal": ["jai faim, svp {number}", "c  est  {word}…", "l’été «\u00a0{word}\u00a0»"],
        "several": ["Oui. {name} dort ! Et toi ?", "- {word}\n- {number} ans\n\nFin.", " a\t{word} "],
    },
    "en": {
        "everyday": ["It rains.", "I am {word}.", "Where is {name}?", "You are {number}."],
        "news": ["The minister met {name}.", "Prices rose by {number}%."],
        "protected": ["See {link}.", "Write to {link}!", "Open {link}, then {other}."],
        "tags": ["Click <b>here</b>.", "It is **{word}** or *not*.", "a<br/>{word}"],
        "capitals": ["THE CAT IS {WORD}.", "BEWARE OF {NAME}!"],
        "times": ["It is {number} past 9.", "The bus leaves at a quarter to 8.", "See you at 5:{number} p.m.!"],
        "ordinals": ["It is the {number}th day.", "The 1st page, the 2nd book.", "May 3rd, {number}"],
        "money": ["It costs ${number}.50.", "{name} owes £{number},000."],
        "informal": ["i dont know, thx {number}", "it  is  {word}…", "it’s “{word}”"],
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
        filled = dict(word=word, name=name, WORD=word.upper(), NAME=name.upper(), link=link, other=other)
        text = draw.choice(kinds[kind]).format(**filled, number=draw.randrange(2, 60))
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
    """A model, its texts, and what it translates them to: where each stage leads."""
    model = regard.load(source_language=request.param)
    found = model.translate(texts(request.param), details=True)
    assert [each.stage("given") for each in found] == texts(request.param)
    assert [each.stage("restored") for each in found] == [each.text for each in found]
    return model, texts(request.param), [each.text for each in found]


pytestmark = pytest.mark.filterwarnings("ignore::regard.errors.RegardWarning")


def test_a_trace_ends_in_the_translation(pair: tuple[regard.Model, list[str], list[str]]) -> None:
    model, given, expected = pair
    # They follow the search of one text alone.
    for text, end in list(zip(given, expected, strict=True))[:: NUM_TEXTS // NUM_FOLLOWED]:
        stages = translate_recorded(model.translator, text, model.manifest.decode).stages()
        assert [stages["text.given"], stages["text.restored"]] == [text, end]


def test_a_full_trace_and_a_page_end_in_the_translation_plain_and_whole_texts_too(pair):
    model, given, expected = pair
    for text in sample(given):
        traced = model.trace(text).metadata
        assert (traced["text.given"], traced["text.restored"]) == (text, expected[given.index(text)])
        if not text.strip():
            continue
        assert model.look(text).text == expected[given.index(text)]
        for options in ({"split": False}, {"plain": True, "n_best": 6}):
            end = model.translate(text, **options)
            assert model.trace(text, **options).metadata["text.restored"] == end
            assert model.look(text, **options).text == end


def test_files_are_translated_alike(pair: tuple[regard.Model, list[str], list[str]], tmp_path: Path) -> None:
    model, given, expected = pair
    lines = [text for text in given if text.strip() and "\n" not in text][:CHUNK]
    wanted = [on_one_line(expected[given.index(text)]) for text in lines]
    file = tmp_path / "lines"
    file.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")
    name = model.folder.name
    commands = {
        "evaluated": ["evaluate", name, "--source", file, "--reference", file, "--output", tmp_path / "evaluated"],
        "corpus/lines": ["translate-corpus", file, "--model", name, "--output", tmp_path / "corpus", "--quiet"],
        "piped": ["translate", "--input", file, "--model", name, "--output", tmp_path / "piped"],
    }
    for output, command in commands.items():
        assert run(*command).exit_code == 0
        assert (tmp_path / output).read_text(encoding="utf-8").split("\n")[:-1] == wanted, output


def sample(given: list[str]) -> list[str]:
    return [*given[: len(ODD)], *random.Random(1).sample(given, NUM_TRACED)]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running([find("fr-en"), find("en-fr")]) as server:
        yield server


def test_a_server_answers_the_translation(pair: tuple[regard.Model, list[str], list[str]], server: Running) -> None:
    model, given, expected = pair
    languages = model.manifest.source_language, model.manifest.target_language
    asked = dict(zip(("source", "target"), languages, strict=True))
    differences = []
    for start in range(0, NUM_TEXTS, 2 * CHUNK):
        some = given[start : start + CHUNK]
        answer = server.post("/translate", {"q": some, **asked})
        assert answer.status == 200, answer.body
        pairs = zip(some, answer.json["translatedText"], expected[start:], strict=False)
        differences += [each for each in pairs if each[1] != each[2]]
    assert differences == []

"""A text goes on word by word, as long as asked for, with as many endings as asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from serve_fixtures import make_story_folder
from typer.testing import CliRunner

import regard
from regard.api import Model
from regard.cli import app
from regard.errors import UsageError
from regard.text.one_line import recent, to_lines, to_one_line
from regard.writing import Written, _words, beginning, text_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_story_folder(tmp_path_factory.mktemp("models") / "story")


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return regard.load(folder, engine="onnxruntime", threads=1)


def written(*parts: str, length: int, starts_apart: bool = False) -> list[str]:
    return list(_words(iter(map(Written, parts)), length, starts_apart=starts_apart))


def test_words_are_given_when_they_are_whole() -> None:
    assert written(" on", "ce up", "on a ti", "me.", length=9) == [" once", " upon", " a", " time."]
    assert written(" a", " b", " c", length=2) == [" a", " b"]
    assert written(" time", " on", starts_apart=True, length=9) == ["time", " on"]
    assert written(" ", length=3) == []


def test_near_its_end_a_text_ends_with_a_sentence() -> None:
    said = written(*(f" w{number}." for number in range(30)), length=20)
    assert len(said) == 17 and said[-1] == " w16."
    assert len(written(*(f" w{number}" for number in range(30)), length=20)) == 20
    assert written(' he "went."', " on and on", length=2) == [" he", ' "went."']


def test_a_text_has_as_many_words_as_asked_for(model: Model) -> None:
    for length in (1, 13):
        parts = list(model.writing("Jane visits", length=length, seed=3, min_length=60))
        assert len(parts) <= length and all(len(part.split()) == 1 for part in parts)
        whole = model.write("Jane visits", length=length, seed=3, min_length=60)
        assert whole == "Jane visits" + "".join(parts)
    with pytest.raises(UsageError, match="length must be at least 1"):
        model.write("Jane", length=0)


def test_each_number_is_another_ending(model: Model) -> None:
    endings = [model.write("Jane", length=7, seed=5, number=number) for number in range(3)]
    assert len(set(endings)) == 3
    assert endings[1] == model.write("Jane", length=7, seed=5, number=1)


def test_a_text_may_hold_on_to_its_beginning(model: Model) -> None:
    def texts(beginning: str, **settings: float) -> list[str]:
        return [
            model.write(beginning, length=13, seed=seed, min_length=60, **settings)
            for seed in range(3)
        ]

    assert texts("Jane visits", prompt_strength=2.0) != texts("Jane visits")
    assert texts("", prompt_strength=2.0) == texts(""), "there is none"


def test_lines_stay_lines(model: Model) -> None:
    own = model._translator
    ids = beginning(own, "Hello.\nJane ").prefix
    assert text_of(own, ids) == "Hello.\nJane "


@pytest.mark.parametrize("text", ["", "one", "one\ntwo", "one\n\nthree", "\n"])
def test_lines_become_one_and_lines_again(text: str) -> None:
    line = to_one_line(text)
    assert "\n" not in line and to_lines(line) == text


def test_a_text_that_grows_never_changes_what_it_was() -> None:
    line = to_one_line("It rained.\nHe slept. The end.")
    shown = [to_lines(line[:end]) for end in range(len(line) + 1)]
    assert all(after.startswith(before) for before, after in zip(shown, shown[1:], strict=False))


def test_what_is_recent() -> None:
    assert recent(["a  b", "c\nd"]) == ["a b", "c d"]
    long = "word " * 119
    assert recent(["x", "y", long]) == ["y", long.strip()]
    assert recent(["x", "word " * 500]) == [("word " * 500).strip()]


def write(folder: Path, *words: str) -> str:
    ran = CliRunner().invoke(app, ["write", "-m", str(folder), "--threads", "1", *words])
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_the_command_writes_several_endings(folder: Path, model: Model) -> None:
    options = ("Jane", "--length", "5", "--seed", "3", "--endings", "2")
    endings = [model.write("Jane", length=5, seed=3, number=number) for number in range(2)]
    assert write(folder, *options) == "\n\n".join(endings) + "\n"
    shown = [json.loads(line) for line in write(folder, *options, "--json").splitlines()]
    assert [each["text"] for each in shown] == endings
    ran = CliRunner().invoke(app, ["write", "-m", str(folder), "Jane", "--endings", "0"])
    assert ran.exit_code == 2 and "--endings must be at least 1" in ran.stderr
    alike = ["write", "-m", str(folder), "Jane", "--endings", "2"]
    for wish in (["--temperature", "0"], ["--set", "temperature=0"], ["--set", "method=greedy"]):
        ran = CliRunner().invoke(app, [*alike, *wish])
        assert ran.exit_code == 2 and "all would be alike" in ran.stderr


@pytest.mark.parametrize(
    "text", ["Il était une fois un petit chat", "Once upon a time a cat", "Jane"]
)
def test_a_beginning_in_another_language_is_told_and_goes_on(
    folder: Path, model: Model, text: str
) -> None:
    options = ["--length", "5", "--seed", "3"]
    ran = CliRunner().invoke(app, ["write", "-m", str(folder), "--threads", "1", text, *options])
    assert ran.exit_code == 0
    assert ran.stdout == model.write(text, length=5, seed=3) + "\n"
    told = "regard: the text seems to be in fr, and story writes en: what follows may make little sense"
    said = [line for line in ran.stderr.splitlines() if "came to its end" not in line]
    assert said == ([told] if text.startswith("Il") else [])


def test_a_beginning_comes_through_a_pipe_and_an_early_end_is_told(
    folder: Path, model: Model
) -> None:
    command = ["write", "-m", str(folder), "--threads", "1", "--length", "500", "--seed", "3"]
    written = model.write("Jane", length=500, seed=3)
    num_words = len(written.removeprefix("Jane").split())
    assert 0 < num_words < 400
    for words in ([], ["-"]):
        ran = CliRunner().invoke(app, [*command, *words], input="Jane\n")
        assert ran.stdout == written + "\n"
        assert f"came to its end after {num_words} of 500 words" in ran.stderr


def test_a_text_goes_on_as_it_does_with_plain_signs() -> None:
    translator = regard.load("story")._translator
    printed, plain = (
        "\u201cI don\u2019t,\u201d said the of\ufb01cer.",
        '"I don\'t," said the officer.',
    )
    assert beginning(translator, printed) == beginning(translator, plain)

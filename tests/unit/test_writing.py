"""A text goes on word by word, as long as asked for, with as many endings as asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from serve_fixtures import make_story_folder
from typer.testing import CliRunner

import regard
from regard import outlining, writing
from regard.api import Model
from regard.cli import app
from regard.config import DecodeConfig
from regard.decode import Constraints, Emission
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


def test_an_outline_is_read_and_not_shown(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    own = model._translator
    plain = model.write("Jane visits", length=9, seed=3)
    assert plain == model.write("Jane visits", length=9, seed=3, outline=False)
    planned = own.target.encode("[ Jane she; Africa; home ]")
    asked: list[list[int]] = []

    def outline(
        engine: object, translator: object, prefix: list[int], *rest: object
    ) -> Iterator[list[int]]:
        asked.append(prefix)
        yield []
        yield planned

    monkeypatch.setattr(writing, "outline", outline)
    text = model.write("Jane visits", length=9, seed=3, outline=True)
    assert asked == [own.target.encode("Jane visits")]
    assert text != plain and text.startswith("Jane visits") and "[ Jane she" not in text
    whole = model.write(own.target.decode([*asked[0], *planned]), length=9, seed=3)
    assert whole.split("]", 1)[1] == text.removeprefix("Jane visits"), "as if it stood there"
    assert model.write("", length=5, seed=3, outline=True) and len(asked) == 1, "nothing to plan"


def emissions(ids: list[int], stop: str | None = None) -> Iterator[Emission]:
    yield from (Emission(token, -1.0, None) for token in ids)
    if stop:
        yield Emission(None, 0.0, stop)


def test_an_outline_ends_with_its_bracket_or_is_none(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = model._translator
    opened, closed = own.target.encode("["), own.target.encode("]")
    words = own.target.encode("home")
    seen: list[tuple[list[int], DecodeConfig]] = []

    def outline_of(*parts: Emission, prefix: Sequence[int] = (7,), room: int = 600) -> list[int]:
        def stream(*args: Any, constraints: Constraints, **options: Any) -> Iterator[Emission]:
            seen.append((list(constraints.prefix), args[2]))
            return iter(parts)

        monkeypatch.setattr(outlining, "stream", stream)
        decode = DecodeConfig(method="sample", presence_penalty=0.5, min_length=512)
        steps = list(outlining.outline(own.engine, own, prefix, decode, room))
        assert not any(steps[:-1])
        return steps[-1] if steps else []

    assert outline_of(*emissions([*words, *closed, *words])) == [*opened, *words, *closed]
    assert outline_of(*emissions(words, stop="length")) == []
    assert outline_of(*emissions(words, stop="end")) == []
    assert outline_of(prefix=[7] * 599) == [], "there is no room"
    prefix, decode = seen[0]
    assert prefix == [7, *opened] and len(seen) == 3
    assert decode.presence_penalty == 0 and decode.min_length == 0, "words of a story come again"
    assert decode.max_length == len(prefix) + outlining.MOST_TOKENS


def test_a_long_text_leaves_an_outline_only_what_is_not_needed(model: Model) -> None:
    own = model._translator
    room = writing.positions(own) - 1
    text = "Jane visits Africa. " * room
    parts = list(model.writing(text, length=20, seed=3, outline=True, min_length=600))
    assert len("".join(parts).split()) > 5
    decode = DecodeConfig(method="sample", outline=True, max_length=room, seed=3)
    prompt = beginning(own, text, 100)
    found = list(writing.follow(own.engine, own, prompt, decode))
    assert sum(len(each.tokens) for each in found) >= 100 - 1


def test_while_an_outline_is_written_each_step_says_nothing(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = model._translator
    monkeypatch.setattr(outlining, "MOST_TOKENS", 5)
    decode = DecodeConfig(method="sample", outline=True, max_length=20, min_length=20, seed=3)
    prompt = beginning(own, "Jane")
    found = list(writing.follow(own.engine, own, prompt, decode))
    silent = [each for each in found if not each.tokens and each.finish is None]
    assert 1 <= len(silent) <= 5 and found[: len(silent)] == silent
    with pytest.raises(UsageError, match="what is planned could not be told"):
        DecodeConfig(outline=True, no_repeat_ngram=3)


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

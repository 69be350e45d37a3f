"""A text goes on word by word, as long as asked for, with as many endings as asked for."""

import json
from pathlib import Path

import pytest
from cli_fixtures import run
from serve_fixtures import make_story_folder
from typer.testing import Result

import regard
from regard.api import Model
from regard.errors import UsageError
from regard.generate.prompts import recent, text_of, text_prompt, to_lines, to_one_line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_story_folder(tmp_path_factory.mktemp("models") / "story")


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return regard.load(folder, engine="onnxruntime", threads=1)


def test_a_text_has_as_many_words_as_asked_for(model: Model) -> None:
    for length in (1, 13):
        parts = list(model.writing("Jane visits", length=length, seed=3, min_length=60))
        assert len(parts) <= length and all(len(part.split()) == 1 for part in parts)
        whole = model.write("Jane visits", length=length, seed=3, min_length=60)
        assert whole == "Jane visits" + "".join(parts)
    with pytest.raises(UsageError, match="length must be from 1 to"):
        model.write("Jane", length=0)


def test_each_number_is_another_ending(model: Model) -> None:
    endings = [model.write("Jane", length=7, seed=5, number=number) for number in range(3)]
    assert len(set(endings)) == 3
    assert endings[1] == model.write("Jane", length=7, seed=5, number=1)


def test_lines_become_one_and_lines_again_and_what_is_recent(model: Model) -> None:
    for text in ("", "one", "one\n\nthree", "\n"):
        line = to_one_line(text)
        assert "\n" not in line and to_lines(line) == text
    line = to_one_line("It rained.\nHe slept. The end.")
    shown = [to_lines(line[:end]) for end in range(len(line) + 1)]
    # A text that grows never changes what it was.
    assert all(after.startswith(before) for before, after in zip(shown, shown[1:], strict=False))
    own = model._translator
    assert text_of(own, text_prompt(own, "Hello.\nJane ").prefix) == "Hello.\nJane "
    assert recent(["a  b", "c\nd"]) == ["a b", "c d"]
    long = "word " * 119
    assert recent(["x", "y", long]) == ["y", long.strip()]
    assert recent(["x", "word " * 500]) == [("word " * 500).strip()]


def write(folder: Path, *words: object, stdin: bytes | None = None) -> Result:
    return run("write", "-m", folder, "--threads", 1, *words, stdin=stdin)


def test_lines_of_files_are_continued_together(folder: Path, model: Model, tmp_path: Path) -> None:
    """Each as if alone with its number; line ends are marked."""
    beginnings = ["Jane", "Jane visits\nAfrica in", "", "visits"]
    lines = tmp_path / "beginnings.txt"
    lines.write_text("".join(to_one_line(text) + "\n" for text in beginnings))
    how = {"length": 9, "seed": 3, "top_k": 20}
    alone = [text + "".join(model.writing(text, number=place, **how)) for place, text in enumerate(beginnings)]
    assert len(set(alone)) == 4
    added = model.write_all(beginnings, **how)
    assert [text + more for text, more in zip(beginnings, added, strict=True)] == alone
    ran = write(folder, "-i", lines, "-o", tmp_path / "out", "--length", 9, "--seed", 3, "--set", "top_k=20")
    assert ran.exit_code == 0, ran.stderr
    assert (tmp_path / "out" / lines.name).read_text() == "".join(f"{to_one_line(text)}\n" for text in alone)
    again = write(folder, "-i", lines, "-o", tmp_path / "out", "--length", 9, "--seed", 3, "--set", "top_k=20")
    assert "is there already" in again.stderr
    refused = write(folder, "Jane", "-i", lines, "-o", tmp_path / "other")
    assert refused.exit_code == 2 and "--input and --output alone" in refused.stderr


def test_the_command_writes_several_endings(folder: Path, model: Model) -> None:
    options = ("Jane", "--length", "5", "--seed", "3", "--endings", "2")
    endings = [model.write("Jane", length=5, seed=3, number=number) for number in range(2)]
    assert write(folder, *options).stdout == "\n\n".join(endings) + "\n"
    shown = [json.loads(line) for line in write(folder, *options, "--json").stdout.splitlines()]
    assert [each["text"] for each in shown] == endings
    ran = write(folder, "Jane", "--endings", 0)
    assert ran.exit_code == 2 and "--endings must be at least 1" in ran.stderr
    for wish in (["--temperature", "0"], ["--set", "temperature=0"], ["--set", "method=greedy"]):
        ran = write(folder, "Jane", "--endings", 2, *wish)
        assert ran.exit_code == 2 and "all would be alike" in ran.stderr


@pytest.mark.parametrize("text", ["Il était une fois un petit chat", "Once upon a time a cat"])
def test_a_beginning_in_another_language_is_told_and_goes_on(folder: Path, model: Model, text: str) -> None:
    ran = write(folder, text, "--length", 5, "--seed", 3)
    assert ran.exit_code == 0
    assert ran.stdout == model.write(text, length=5, seed=3) + "\n"
    told = "regard: the text seems to be in fr, and story writes en: what follows may make little sense"
    assert ran.stderr.splitlines() == ([told] if text.startswith("Il") else [])


def test_a_beginning_comes_through_a_pipe(folder: Path, model: Model) -> None:
    written = model.write("Jane", length=20, seed=3)
    for words in ([], ["-"]):
        assert write(folder, "--length", 20, "--seed", 3, *words, stdin=b"Jane\n").stdout == written + "\n"

"""`regard score` and `regard evaluate`: figures for translations."""

import json
from pathlib import Path

import pytest
from cli_fixtures import assert_one_sentence, run

from regard.api import load


def test_score_and_line_by_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Bonjour\nLe chat\n")
    (tmp_path / "a.en").write_text("Hello\nThe cat\n")
    files = ("--source", tmp_path / "a.fr", "--target", tmp_path / "a.en")
    from_files = run("score", "-m", folder, *files)
    from_stdin = run("score", "-m", folder, stdin=b"Bonjour\tHello\nLe chat\tThe cat\tmore\n")
    from_arguments = run("score", "-m", folder, "Bonjour", "Hello")
    expected = [sum(values) for values in load(folder).score(["Bonjour", "Le chat"], ["Hello", "The cat"])]
    assert [float(line) for line in from_files.stdout.split()] == pytest.approx(expected, abs=1e-3)
    assert from_stdin.stdout == from_files.stdout
    assert float(from_arguments.stdout) == pytest.approx(expected[0], abs=1e-3)
    answer = json.loads(run("score", "-m", folder, "--json", "Bonjour", "Hello").stdout)
    assert sum(answer["token_log_probabilities"]) == answer["log_probability"]
    assert len(answer["token_log_probabilities"]) == len(answer["tokens"]) + 1
    assert_one_sentence(run("score", "-m", folder, "Bonjour"), 2)
    assert_one_sentence(run("score", "-m", folder, "--source", tmp_path / "a.fr"), 2)
    assert_one_sentence(run("score", "-m", folder, stdin=b"no tab\n"), 1)
    alone = run("score", "-m", folder, "Bonjour", "Hello").stdout
    result = run("score", "-m", folder, stdin=b"Bonjour\tHello\n\nno tab\nBonjour\tHello\n")
    assert result.exit_code == 1 and result.stdout == f"{alone}\n"
    assert result.stderr.startswith("regard: standard input:3: a line must be source TAB target")
    result = run("score", "-m", folder, "--json", stdin=b"\nBonjour\tHello\n")
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["log_probability"] is None and first["token_log_probabilities"] == []
    assert second["log_probability"] == pytest.approx(float(alone), abs=1e-3)


def test_evaluate(folder: Path, tmp_path: Path) -> None:
    sources = ["Bonjour", "Le chat dort."]
    (tmp_path / "test.fr").write_text("".join(f"{text}\n" for text in sources))
    (tmp_path / "test.en").write_text("".join(f"{t}\n" for t in load(folder).translate(sources)))
    files = ("--source", tmp_path / "test.fr", "--reference", tmp_path / "test.en")
    result = run("evaluate", folder, *files, "-o", tmp_path / "out.en")
    assert result.exit_code == 0
    assert "chrF 100.0  (nrefs:1|case:mixed" in result.stdout
    assert (tmp_path / "out.en").read_text() == (tmp_path / "test.en").read_text()
    assert json.loads(run("evaluate", folder, *files, "--json").stdout)["num_sentences"] == 2

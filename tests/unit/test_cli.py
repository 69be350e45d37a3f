"""The command: what it refuses, how it ends, and the figures of `score` and `evaluate`."""

import contextlib
import io
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_fixtures import REGARD, assert_one_sentence, run, start

from regard.api import load
from regard.cli.lines import Writer


def test_a_terminal_is_shown_control_codes_and_a_pipe_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal, expected in ((True, b"a\\x1b[2J\tb\n"), (False, b"a\x1b[2J\tb\n")):
        stdout = io.TextIOWrapper(io.BytesIO())
        stdout.isatty = lambda answer=is_terminal: answer  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdout", stdout)
        with Writer(None) as writer:
            writer.write("a\x1b[2J\tb\n")
        assert stdout.buffer.getvalue() == expected  # type: ignore[attr-defined]


def test_models_and_bad_ones(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_one_sentence(run("translate", "-m", "no-such-model", "Bonjour"), 2)
    assert_one_sentence(run("translate", "-m", tmp_path, "Bonjour"), 1)
    other = (folder / "encoder.onnx").read_bytes()
    damaged = {"model.safetensors": bytes(100), "config.json": b"{", "tokenizer.model": b"x", "decoder.onnx": other}
    for name, content in damaged.items():
        broken = shutil.copytree(folder, tmp_path / name)
        (broken / name).write_bytes(content)
        result = run("translate", "-m", broken, "Bonjour")
        assert_one_sentence(result, 1)
        assert name in result.stderr
    monkeypatch.setenv("REGARD_MODELS", str(Path(folder).parent))
    assert "fr-en" in run("models").stdout
    assert {"fr-en"} <= {info["name"] for info in json.loads(run("models", "--json").stdout)}


def test_bad_options_and_a_text_that_begins_with_a_dash(folder: Path) -> None:
    result = run("translate", "--bem", "3", "Bonjour")
    assert result.exit_code == 2 and "--beam" in result.stderr and result.stdout == ""
    assert run("tranlsate").exit_code == 2
    wrong = {"--set": "bem=3", "--beam": 0, "--engine": "steam", "-i": "a.fr", "--device": "foo"}
    for flag, value in {**wrong, "--threads": 0}.items():
        assert_one_sentence(run("translate", "-m", folder, flag, value, "Bonjour"), 2)
    result = run("translate", "- Bonjour, Jane.")
    assert result.exit_code == 2 and "goes after --:" in result.stderr
    assert run("translate", "--", "- Bonjour, Jane.").exit_code == 0


def test_a_closed_pipe_ends_in_silence(folder: Path) -> None:
    with start("translate", "-m", folder) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"Bonjour\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"Bonjour\n" * 100)
        process.stdin.close()
        assert process.wait() == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    "redirected, code, message",
    [
        ("'Bonjour' > /dev/full", 1, "the system could not read or write: No space left"),
        ("<&-", 2, "standard input must be open: it is closed; give texts or files"),
    ],
)
def test_what_cannot_be_read_or_written(folder: Path, redirected: str, code: int, message: str) -> None:
    command = f"{' '.join(REGARD)} translate -m {folder} {redirected}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ended.returncode == code and ended.stdout == ""
    assert ended.stderr.startswith(f"regard: {message}") and ended.stderr.count("\n") == 1


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(folder: Path, tmp_path: Path, number: int, code: int) -> None:
    with start("translate", "-m", folder, "-o", tmp_path / "out") as process:
        assert process.stdin and process.stderr
        process.stdin.write(b"Bonjour\n")
        process.stdin.flush()
        unfinished = tmp_path / "out.unfinished"
        while not unfinished.exists() or not unfinished.stat().st_size:
            assert process.poll() is None
        # A signal that comes just before the process waits for input is only seen at the next one.
        while process.poll() is None:
            process.send_signal(number)
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
        assert process.returncode == code
        assert b"Traceback" not in process.stderr.read()
        assert not list(tmp_path.iterdir())


def test_look_chooses_the_model_that_translate_chooses() -> None:
    text = "The weather is nice today and we are going to the beach."
    assert json.loads(run("look", text, "--json").stdout)["result"] == run("translate", text).stdout.rstrip("\n")


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

"""The command: what goes in, what comes out, and how it ends."""

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures import make_model_folder
from typer.testing import CliRunner, Result

from regard import cli_lines
from regard.api import Model, load
from regard.cli import app
from regard.cli_lines import Writer
from regard.errors import MissingExtra
from regard.text.lines import Line

REGARD = [sys.executable, "-m", "regard"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_model_folder(tmp_path_factory.mktemp("models") / "fr-en"))


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)


def start(*arguments: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*REGARD, *(str(each) for each in arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def assert_one_sentence(result: Result, code: int) -> None:
    """A user's mistake: one line on stderr, nothing on stdout, no traceback."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("regard: ") and result.stderr.count("\n") == 1


# --- translate


def test_arguments(folder: str) -> None:
    texts = ["Le chat dort. Bonjour", "Bonjour"]
    result = run("translate", "-m", folder, *texts)
    assert result.exit_code == 0
    assert result.stdout == "".join(f"{text}\n" for text in load(folder).translate(texts))


def test_lines_in_are_lines_out(folder: str) -> None:
    generator = random.Random(3)
    words = ["Jane", "chat", "dort.", "Bonjour", "é\u2028\x0c", "<s>", "\t"]
    lines = [
        ""
        if generator.random() < 0.24
        else " ".join(generator.choices(words, k=generator.randint(1, 4)))
        for _ in range(10_000)
    ]
    ends = [generator.choice(["\n", "\r\n"]) for _ in lines]
    content = "".join(line + end for line, end in zip(lines, ends, strict=True))
    options = ("--set", "method=greedy", "--set", "max_length=2")
    result = run("translate", "-m", folder, *options, stdin=content.encode())
    assert result.exit_code == 0
    out = result.stdout_bytes.decode().split("\n")
    assert out.pop() == "" and len(out) == len(lines)
    for line, end, answer in zip(lines, ends, out, strict=True):
        assert answer.endswith("\r") == (end == "\r\n")
        assert (answer.rstrip("\r") == "") == (line == "") or line.strip() == ""
    model = load(folder)
    for number in range(0, len(lines), 997):
        expected = model.translate(lines[number], method="greedy", max_length=2)
        assert out[number].rstrip("\r") == expected.replace("\r", " ").replace("\n", " ")


def test_the_last_line_needs_no_end(folder: str) -> None:
    assert run("translate", "-m", folder, "-", stdin=b"Bonjour").stdout.count("\n") == 1
    assert run("translate", "-m", folder, stdin=b"").stdout == ""


def test_files_in_and_a_file_out(folder: str, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Bonjour\n\n")
    (tmp_path / "b.fr").write_text("Le chat\n")
    files = ("-i", tmp_path / "a.fr", "-i", tmp_path / "b.fr", "-o", tmp_path / "out.en")
    result = run("translate", "-m", folder, *files)
    assert result.exit_code == 0 and result.stdout == ""
    hello, cat = load(folder).translate(["Bonjour", "Le chat"])
    assert (tmp_path / "out.en").read_text() == f"{hello}\n\n{cat}\n"
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_a_folder_is_no_output_file(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "a").write_text("Bonjour\n")
    monkeypatch.setattr(Model, "translate", None)  # it is refused before anything is translated
    texts = ("--source", tmp_path / "a", "--reference", tmp_path / "a")
    arguments = ("-m", folder, "Bonjour") if verb == "translate" else (folder, *texts)
    result = run(verb, *arguments, "-o", tmp_path / "out")
    assert_one_sentence(result, 2)
    assert "--output must be a file" in result.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "out"]


def test_nothing_is_half_written(folder: str, tmp_path: Path) -> None:
    (tmp_path / "out.en").write_text("old\n")
    (tmp_path / "a.fr").write_bytes(b"Bonjour\n\xff\n")
    files = ("-i", tmp_path / "a.fr", "-o", tmp_path / "out.en")
    refused = run("translate", "-m", folder, *files)
    assert_one_sentence(refused, 2)
    assert "out.en is there already; name another, or add --force" in refused.stderr
    result = run("translate", "-m", folder, *files, "--force")
    assert_one_sentence(result, 1)
    assert "a.fr:2: a line must be UTF-8 text" in result.stderr
    assert (tmp_path / "out.en").read_text() == "old\n"
    assert not list(tmp_path.glob("*.unfinished"))


def test_lines_before_a_bad_one_are_answered(folder: str) -> None:
    result = run("translate", "-m", folder, stdin=b"Bonjour\n\xff\n")
    assert result.exit_code == 1
    assert result.stdout == load(folder).translate("Bonjour") + "\n"
    assert "standard input:2:" in result.stderr


def test_n_best_lines_for_each_line(folder: str) -> None:
    result = run("translate", "-m", folder, "--n-best", 3, stdin=b"Bonjour\n\n")
    lines = result.stdout.split("\n")
    assert len(set(lines[:3])) == 3 and lines[3:] == ["", "", "", ""]
    set_as_setting = run("translate", "-m", folder, "--set", "n_best=3", stdin=b"Bonjour\n\n")
    assert set_as_setting.stdout == result.stdout
    as_arguments = run("translate", "-m", folder, "--n-best", 3, "Bonjour", "")
    assert as_arguments.stdout == result.stdout


def test_a_sampled_line_does_not_depend_on_how_the_lines_arrive(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Le chat dort. Bonjour", "", "Le chat dort. Bonjour", "Je vais bien"]
    options = {"method": "sample", "seed": 5, "temperature": 3.0}
    flags = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    expected = load(folder).translate(texts, **options)
    assert expected[0] != expected[2]
    for size in (1, 2, 4):
        portions = [
            [Line(text, "\n") for text in texts[start : start + size]]
            for start in range(0, len(texts), size)
        ]
        monkeypatch.setattr(cli_lines, "arriving_lines", lambda paths, p=portions: iter(p))
        result = run("translate", "-m", folder, *flags)
        assert result.stdout == "".join(f"{cli_lines.on_one_line(text)}\n" for text in expected)


def test_json(folder: str) -> None:
    result = run(
        "translate", "-m", folder, "--json", "--n-best", 2, stdin="Bonjour\n\nLe chat é\n".encode()
    )
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["source"] for answer in answers] == ["Bonjour", "", "Le chat é"]
    assert len(answers[0]["sentences"][0]["candidates"]) == 2
    assert answers[1]["text"] == "" and answers[1]["sentences"] == []


def test_wishes(folder: str) -> None:
    result = run("translate", "-m", folder, "--prefix", "The cat", "--require", "fine", "Le chat")
    assert result.stdout.startswith("The cat") and "fine" in result.stdout
    word = max(result.stdout.split(), key=len)
    assert word not in run("translate", "-m", folder, "--ban", word, "Le chat").stdout


def test_a_long_text_is_warned_about(folder: str) -> None:
    result = run("translate", "-m", folder, "chat dort " * 300)
    assert result.exit_code == 0
    assert result.stderr.startswith("regard: 1 sentence(s) of more than 256 pieces")


def test_a_terminal_is_shown_control_codes_and_a_pipe_gets_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for is_terminal, expected in ((True, b"a\\x1b[2J\tb\n"), (False, b"a\x1b[2J\tb\n")):
        stdout = io.TextIOWrapper(io.BytesIO())
        stdout.isatty = lambda answer=is_terminal: answer  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdout", stdout)
        with Writer(None) as writer:
            writer.write("a\x1b[2J\tb\n")
        assert stdout.buffer.getvalue() == expected  # type: ignore[attr-defined]


def test_by_languages(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_MODELS", str(Path(folder).parent))
    assert run("translate", "--from", "fr", "--to", "en", "Bonjour").exit_code == 0
    assert_one_sentence(run("translate", "--from", "xx", "Bonjour"), 2)


# --- the other verbs


def test_score(folder: str, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Bonjour\nLe chat\n")
    (tmp_path / "a.en").write_text("Hello\nThe cat\n")
    files = ("--source", tmp_path / "a.fr", "--target", tmp_path / "a.en")
    from_files = run("score", "-m", folder, *files)
    from_stdin = run("score", "-m", folder, stdin=b"Bonjour\tHello\nLe chat\tThe cat\tmore\n")
    from_arguments = run("score", "-m", folder, "Bonjour", "Hello")
    expected = [
        sum(values) for values in load(folder).score(["Bonjour", "Le chat"], ["Hello", "The cat"])
    ]
    assert [float(line) for line in from_files.stdout.split()] == pytest.approx(expected, abs=1e-3)
    assert from_stdin.stdout == from_files.stdout
    assert float(from_arguments.stdout) == pytest.approx(expected[0], abs=1e-3)
    answer = json.loads(run("score", "-m", folder, "--json", "Bonjour", "Hello").stdout)
    assert sum(answer["token_log_probabilities"]) == answer["log_probability"]
    assert len(answer["token_log_probabilities"]) == len(answer["pieces"]) + 1
    assert_one_sentence(run("score", "-m", folder, "Bonjour"), 2)
    assert_one_sentence(run("score", "-m", folder, "--source", tmp_path / "a.fr"), 2)
    assert_one_sentence(run("score", "-m", folder, stdin=b"no tab\n"), 1)


def test_scoring_line_by_line(folder: str) -> None:
    alone = run("score", "-m", folder, "Bonjour", "Hello").stdout
    result = run("score", "-m", folder, stdin=b"Bonjour\tHello\n\nno tab\nBonjour\tHello\n")
    assert result.exit_code == 1 and result.stdout == f"{alone}\n"
    assert result.stderr.startswith("regard: standard input:3: a line must be source TAB target")
    result = run("score", "-m", folder, "--json", stdin=b"\nBonjour\tHello\n")
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["log_probability"] is None and first["token_log_probabilities"] == []
    assert second["log_probability"] == pytest.approx(float(alone), abs=1e-3)


def test_evaluate(folder: str, tmp_path: Path) -> None:
    sources = ["Bonjour", "Le chat dort."]
    (tmp_path / "test.fr").write_text("".join(f"{text}\n" for text in sources))
    (tmp_path / "test.en").write_text("".join(f"{t}\n" for t in load(folder).translate(sources)))
    files = ("--source", tmp_path / "test.fr", "--reference", tmp_path / "test.en")
    result = run("evaluate", folder, *files, "-o", tmp_path / "out.en")
    assert result.exit_code == 0
    assert "chrF 100.0  (nrefs:1|case:mixed" in result.stdout
    assert (tmp_path / "out.en").read_text() == (tmp_path / "test.en").read_text()
    assert json.loads(run("evaluate", folder, *files, "--json").stdout)["num_sentences"] == 2


def test_evaluate_refuses_unequal_files(folder: str, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Bonjour\nOui\n")
    (tmp_path / "a.en").write_text("Hello\n")
    files = ("--source", tmp_path / "a.fr", "--reference", tmp_path / "a.en")
    result = run("evaluate", folder, *files)
    assert_one_sentence(result, 1)
    assert "--source and --reference must have as many lines: got 2 in" in result.stderr
    assert "and 1 in" in result.stderr


@pytest.mark.parametrize("verb", ["evaluate", "score"])
def test_an_unusable_line_is_to_be_mended(folder: str, tmp_path: Path, verb: str) -> None:
    (tmp_path / "a.fr").write_bytes(b"Bonjour\n\xff\n")
    (tmp_path / "a.en").write_bytes(b"Hello\nYes\n")
    model, other = ([folder], "--reference") if verb == "evaluate" else (["-m", folder], "--target")
    result = run(verb, *model, "--source", tmp_path / "a.fr", other, tmp_path / "a.en")
    assert_one_sentence(result, 1)
    # These verbs have no option that would drop it.
    assert "a.fr:2: " in result.stderr and "strict" not in result.stderr


def test_evaluate_says_what_is_missing_before_it_translates(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("Bonjour\n")
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    monkeypatch.setattr(Model, "translate", None)
    result = run("evaluate", folder, "--source", tmp_path / "a", "--reference", tmp_path / "a")
    assert_one_sentence(result, 1)
    assert "needs the package sacrebleu" in result.stderr
    with pytest.raises(MissingExtra, match="needs the package sacrebleu"):
        load(folder).evaluate(["Bonjour"], ["Hello"])


def test_models(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_MODELS", str(Path(folder).parent))
    assert "fr-en" in run("models").stdout
    assert {"fr-en"} <= {info["name"] for info in json.loads(run("models", "--json").stdout)}


def test_export(folder: str, tmp_path: Path) -> None:
    result = run("export", folder, tmp_path / "small", "--weights", "int8")
    assert result.exit_code == 0, result.output
    assert run("translate", "-m", tmp_path / "small", "Bonjour").exit_code == 0
    assert_one_sentence(run("export", folder, tmp_path / "other", "--weights", "int3"), 2)
    assert not (tmp_path / "other").exists()


# --- what a user can get wrong


def test_bad_models(folder: str, tmp_path: Path) -> None:
    assert_one_sentence(run("translate", "-m", "no-such-model", "Bonjour"), 2)
    assert_one_sentence(run("translate", "-m", tmp_path, "Bonjour"), 1)
    for name, content in (
        ("model.safetensors", b"\0" * 100),
        ("config.json", b"{"),
        ("tokenizer.model", b"x"),
        ("decoder.onnx", (Path(folder) / "encoder.onnx").read_bytes()),
        ("encoder.onnx", (Path(folder) / "decoder.onnx").read_bytes()),
    ):
        broken = make_broken(folder, tmp_path / name, name, content)
        result = run("translate", "-m", broken, "Bonjour")
        assert_one_sentence(result, 1)
        assert name in result.stderr


def make_broken(folder: str, copy: Path, name: str, content: bytes) -> Path:
    copy.mkdir()
    for path in Path(folder).iterdir():
        (copy / path.name).write_bytes(content if path.name == name else path.read_bytes())
    return copy


def test_bad_options(folder: str) -> None:
    result = run("translate", "--bem", "3", "Bonjour")
    assert result.exit_code == 2 and "--beam" in result.stderr and result.stdout == ""
    assert run("tranlsate").exit_code == 2
    assert_one_sentence(run("translate", "-m", folder, "--set", "bem=3", "Bonjour"), 2)
    assert_one_sentence(run("translate", "-m", folder, "--beam", "0", "Bonjour"), 2)
    assert_one_sentence(run("translate", "-m", folder, "--engine", "steam", "Bonjour"), 2)
    assert_one_sentence(run("translate", "-m", folder, "-i", "a.fr", "Bonjour"), 2)
    for flag, value in (("--device", "foo"), ("--threads", 0), ("--threads", -1)):
        assert_one_sentence(run("translate", "-m", folder, flag, value, "Bonjour"), 2)


def test_bad_training(tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Bonjour\nOui\n")
    (tmp_path / "a.en").write_text("Hello\n")
    (tmp_path / "bad.toml").write_text("[train]\nstpes = 3\n")
    out = ("--output", tmp_path / "run")
    files = ("--source", tmp_path / "a.fr", "--target", tmp_path / "a.en")
    unequal = run("train", *files, *out, "--quiet")
    assert_one_sentence(unequal, 1)
    assert "got 2 in" in unequal.stderr and "and 1 in" in unequal.stderr
    assert_one_sentence(run("train", *out), 2)
    unknown = run("train", *files, *out, "--recipe", tmp_path / "bad.toml")
    assert_one_sentence(unknown, 2)
    assert "did you mean 'steps'?" in unknown.stderr
    assert_one_sentence(run("train", *files, *out, "--set", "stpes=3"), 2)
    assert_one_sentence(run("train", *files, *out, "--size", "huge"), 2)
    assert_one_sentence(run("train", *files, *out, "--init", "no-such-model"), 2)
    assert not [path for path in (tmp_path / "run").glob("**/*") if path.is_file()]


# --- the process


def test_version_and_help() -> None:
    assert run("--version").stdout.startswith("regard 0.")
    assert run().exit_code == 2
    assert run("--help").exit_code == 0 and run("translate", "-h").exit_code == 0


def test_an_answer_comes_before_the_next_line_is_asked(folder: str) -> None:
    with start("translate", "-m", folder) as process:
        assert process.stdin and process.stdout
        for text in ("Bonjour", "", "Le chat dort."):
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            # With the answer held back until the end this would wait for ever.
            answer = process.stdout.readline()
            assert answer.endswith(b"\n") and bool(answer.strip()) == bool(text)
        process.stdin.close()
        assert process.wait() == 0


def test_a_closed_pipe_ends_in_silence(folder: str) -> None:
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
        ("'Bonjour' >&-", 2, "standard output must be open: it is closed; name a file with -o"),
        ("<&-", 2, "standard input must be open: it is closed; give texts or files"),
        ("$'A\\xffB'", 2, "a text must be UTF-8 text: got '\\udcff', which is no character"),
    ],
)
def test_what_cannot_be_read_or_written(
    folder: str, redirected: str, code: int, message: str
) -> None:
    command = f"{' '.join(REGARD)} translate -m {folder} {redirected}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ended.returncode == code and ended.stdout == ""
    assert ended.stderr.startswith(f"regard: {message}") and ended.stderr.count("\n") == 1


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(folder: str, tmp_path: Path, number: int, code: int) -> None:
    with start("translate", "-m", folder, "-o", tmp_path / "out") as process:
        assert process.stdin and process.stderr
        process.stdin.write(b"Bonjour\n")
        process.stdin.flush()
        while (
            not (tmp_path / "out.unfinished").exists()
            or not (tmp_path / "out.unfinished").stat().st_size
        ):
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

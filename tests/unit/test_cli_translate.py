"""`regard translate`: what goes in and what comes out."""

import json
import random
import warnings
from pathlib import Path

import pytest
from cli_fixtures import assert_one_sentence, run, start

from regard.api import load
from regard.cli import lines as cli_lines
from regard.data.lines import Line, on_one_line
from regard.errors import RegardWarning


def test_lines_in_are_lines_out(folder: Path) -> None:
    generator = random.Random(3)
    words = ["Jane", "chat", "dort.", "Bonjour", "é\u2028\x0c", "<s>", "\t"]
    lines = [" ".join(generator.choices(words, k=generator.randint(0, 4))) for _ in range(300)]
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
    for number in range(0, len(lines), 97):
        with warnings.catch_warnings():
            # Two pieces have no room for a tag.
            warnings.filterwarnings("ignore", ".* translated in parts", RegardWarning)
            expected = model.translate(lines[number], method="greedy", max_length=2)
        assert out[number].rstrip("\r") == expected.replace("\r", " ").replace("\n", " ")


def test_files_in_and_a_file_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("Bonjour\n\n")
    (tmp_path / "b.fr").write_text("Le chat\tBonjour\t")
    files = ("-i", tmp_path / "a.fr", "-i", tmp_path / "b.fr", "-o", tmp_path / "out.en")
    result = run("translate", "-m", folder, *files)
    assert result.exit_code == 0 and result.stdout == ""
    hello, cat = load(folder).translate(["Bonjour", "Le chat"])
    # Tabs stay, and the last line needs no end.
    assert (tmp_path / "out.en").read_text() == f"{hello}\n\n{cat}\t{hello}\t\n"
    assert not list(tmp_path.glob("*.unfinished"))


def test_the_encoding_of_lines_and_a_file_that_is_not_there(folder: Path, tmp_path: Path) -> None:
    text = "Le café où j'étais\r\n€ oui\n"
    expected = run("translate", "-m", folder, stdin=text.encode()).stdout
    for encoding in ("cp1252", "utf-16", "utf-16-be"):
        (tmp_path / "old").write_bytes(text.encode(encoding))
        assert run("translate", "-m", folder, "-i", tmp_path / "old", "--encoding", encoding).stdout == expected
        assert run("translate", "-m", folder, "--encoding", encoding, stdin=text.encode(encoding)).stdout == expected
    unknown = dict.fromkeys(("nonsense", "rot13"), (2, "one that Python knows"))
    for encoding, (code, message) in {"ascii": (1, "must be ascii text"), **unknown}.items():
        assert_one_sentence(result := run("translate", "-i", tmp_path / "old", "--encoding", encoding), code)
        assert message in result.stderr
    for missing in (("-i", "none.txt"), ("none.txt",), ("--glossary", "none.tsv", "Oui")):
        assert_one_sentence(run("translate", "-m", folder, *missing), 2)


def test_nothing_is_half_written(folder: Path, tmp_path: Path) -> None:
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
    # In a pipe the lines before a bad one are answered.
    result = run("translate", "-m", folder, stdin=b"Bonjour\n\xff\n")
    assert result.exit_code == 1 and "standard input:2:" in result.stderr
    assert result.stdout == load(folder).translate("Bonjour") + "\n"


def test_n_best_lines_for_each_line_and_json(folder: Path) -> None:
    result = run("translate", "-m", folder, "--n-best", 3, stdin=b"Bonjour\n\n")
    lines = result.stdout.split("\n")
    assert len(set(lines[:3])) == 3 and lines[3:] == ["", "", "", ""]
    assert run("translate", "-m", folder, "--n-best", 3, "Bonjour", "").stdout == result.stdout
    flags = ("-m", folder, "--json", "--n-best", 2)
    result = run("translate", *flags, stdin="Bonjour\n\nLe chat é\n".encode())
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["source"] for answer in answers] == ["Bonjour", "", "Le chat é"]
    assert len(answers[0]["sentences"][0]["candidates"]) == 2
    assert answers[1]["text"] == "" and answers[1]["sentences"] == []


def test_a_sampled_line_does_not_depend_on_how_the_lines_arrive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Le chat dort. Bonjour", "", "Le chat dort. Bonjour", "Je vais bien"]
    options = {"method": "sample", "seed": 5, "temperature": 2.0}
    flags = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    expected = load(folder).translate(texts, **options)
    assert expected[0] != expected[2]
    for size in (1, 2, 4):
        portions = [[Line(text, "\n") for text in texts[start : start + size]] for start in range(0, len(texts), size)]
        monkeypatch.setattr(cli_lines, "arriving_lines", lambda *_, p=portions: iter(p))
        assert run("translate", "-m", folder, *flags).stdout == "".join(f"{on_one_line(text)}\n" for text in expected)


def test_an_answer_comes_before_the_next_line_is_asked(folder: Path) -> None:
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


ENGLISH = "Where is the cat today, my friend?"
GERMAN = "Der Hund schläft im Garten und die Katze auch."


def test_another_language_is_told_once_and_translated_all_the_same(folder: Path) -> None:
    model = load(folder)
    result = run("translate", "-m", folder, ENGLISH, ENGLISH)
    assert result.exit_code == 0
    assert result.stdout == "".join(f"{text}\n" for text in model.translate([ENGLISH, ENGLISH]))
    assert_one_warning(result.stderr, "in en, and fr-en reads fr: try --model en-fr")
    lines = f"Hi\n\n{ENGLISH}\n".encode() * 3
    piped = run("translate", "-m", folder, stdin=lines)
    assert piped.stdout.count("\n") == 9
    assert_one_warning(piped.stderr, "in en, and fr-en reads fr")
    german = run("translate", "-m", folder, GERMAN)
    assert "no model that is installed reads that" in german.stderr
    assert run("look", "-m", folder, GERMAN, "--json").stderr == german.stderr


def test_english_goes_to_french_where_nothing_else_is_said(tmp_path: Path) -> None:
    french = load("en-fr").translate(ENGLISH)
    (tmp_path / "letter.txt").write_text(f"{ENGLISH}\n")
    for given in (ENGLISH, tmp_path / "letter.txt"):
        result = run("translate", given)
        assert result.exit_code == 0 and result.stdout == f"{french}\n"
        assert_one_warning(result.stderr, "in en, so it is translated into fr: say --to en")
    as_french = load("fr-en").translate(ENGLISH)
    for flags in (("--to", "en"), ("-t", "en-US"), ("-f", "fr_FR")):
        assert run("translate", *flags, ENGLISH).stdout == f"{as_french}\n"
    assert run("translate", "-f", "auto", "-t", "fr_CA", ENGLISH).stdout == f"{french}\n"
    assert run("translate", "--model", "fr-en", ENGLISH).stdout == f"{as_french}\n"
    assert run("translate", stdin=ENGLISH.encode()).stdout == f"{french}\n"


def test_the_first_lines_that_tell_the_language_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing and "Hi" do not; what comes after them is not held to be French for it."""
    lines = ["", "Hi", ENGLISH, "Merci"]
    portions = [[Line(text, "\n")] for text in lines]
    monkeypatch.setattr(cli_lines, "arriving_lines", lambda *_: iter(portions))
    into_english, into_french = load("fr-en"), load("en-fr")
    wanted = [into_english.translate(text) for text in lines[:2]]
    wanted += [into_french.translate(text) for text in lines[2:]]
    assert run("translate").stdout.splitlines() == wanted


def test_a_warning_names_the_line(folder: Path, tmp_path: Path) -> None:
    content = f"Bonjour\n\n{'a' * 9000}\nLe chat\n{'b' * 9000}\n"
    result = run("translate", "-m", folder, "--from", "fr", stdin=content.encode())
    assert result.exit_code == 0
    assert_one_warning(result.stderr, "2 word(s) of more than")
    assert result.stderr.endswith("were copied, not translated: line 3, line 5\n")
    (tmp_path / "a.fr").write_text("Le chat\n")
    (tmp_path / "b.fr").write_text(content)
    files = ("-i", tmp_path / "a.fr", "-i", tmp_path / "b.fr")
    named = run("translate", "-m", folder, "--from", "fr", *files)
    path = tmp_path / "b.fr"
    assert named.stderr.endswith(f"not translated: line 3 of {path}, line 5 of {path}\n")


def assert_one_warning(told: str, message: str) -> None:
    assert told.startswith("regard: ") and told.count("\n") == 1 and message in told


# --from auto over lines: most of the text decides, and a line clearly in another language goes its own way

FRENCH = "Le petit chat dort sur la table rouge de la cuisine."
ENGLISH_LINE = "The small cat is sleeping on the red table in the kitchen."


def test_a_first_line_does_not_decide_and_a_language_that_no_model_reads_is_refused() -> None:
    lines = ["Good morning", FRENCH, FRENCH, "Merci.", "", ENGLISH_LINE]
    result = run("translate", "--from", "auto", stdin="\n".join(lines).encode())
    assert result.exit_code == 0
    found = result.stdout.split("\n")[:-1]
    assert found == [*load("fr-en").translate(lines[:5]), ENGLISH_LINE]
    german = "Der Hund schläft heute im Garten und die Katze auch, denn es ist warm."
    refused = run("translate", "--from", "auto", stdin=f"{german}\n".encode())
    assert_one_sentence(refused, 2)
    assert "no model translates from de" in refused.stderr
    # A single line of it is read as the rest is.
    mixed = run("translate", "--from", "auto", stdin=f"{FRENCH}\n{FRENCH}\n{german}\n".encode())
    assert mixed.exit_code == 0 and mixed.stdout.count("\n") == 3

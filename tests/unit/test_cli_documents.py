"""`regard translate` with documents: where they go, what is refused, what a program is told."""

import functools
import io
import json
import re
from pathlib import Path

import cli_fixtures
import polib
import pytest
import srt
from document_fixtures import DOCUMENTS, encoded
from fixtures import make_model_folder
from typer.testing import Result

from regard.api import Model
from regard.text.protected import placeholders


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_model_folder(tmp_path_factory.mktemp("models") / "fr-en"))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_bytes(encoded(".html"))
    return path


run = functools.partial(cli_fixtures.run, "translate")


def refused(result: Result, message: str, code: int = 2) -> None:
    cli_fixtures.assert_one_sentence(result, code)
    assert message in result.stderr


def test_one_document_goes_to_stdout_or_to_a_file(folder: str, page: Path) -> None:
    shown = run("-m", folder, page)
    assert shown.exit_code == 0
    assert re.findall("</?p[^>]*>", shown.stdout) == re.findall("</?p[^>]*>", DOCUMENTS[".html"])
    out = page.with_name("out.html")
    assert run("-m", folder, page, "-o", out).stdout == ""
    assert out.read_bytes() == shown.stdout_bytes
    assert sorted(path.name for path in page.parent.iterdir()) == ["out.html", "page.html"]


def test_many_documents_go_into_a_folder(folder: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"a{suffix}" for suffix in (".srt", ".po")]
    for path in paths:
        path.write_bytes(encoded(path.suffix))
    (tmp_path / "out").mkdir()
    result = run("-m", folder, *paths, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert set(written) == {path.name for path in paths}
    timings = [(cue.index, cue.start, cue.end) for cue in srt.parse(DOCUMENTS[".srt"])]
    assert [
        (cue.index, cue.start, cue.end) for cue in srt.parse(written["a.srt"].decode())
    ] == timings
    entry = polib.pofile(written["a.po"].decode())[0]
    assert entry.msgstr and placeholders(entry.msgstr) == placeholders(entry.msgid)


def test_nothing_is_replaced_unasked(folder: str, page: Path) -> None:
    message = f"--output must be a new file: {page} is there already; name another, or add --force"
    refused(run("-m", folder, page, "-o", page), message)
    refused(run("-m", folder, page, "-o", page.parent), message)
    assert page.read_bytes() == encoded(".html")
    assert run("-m", folder, page, "-o", page, "--force").exit_code == 0
    assert page.read_bytes() != encoded(".html")


def test_what_is_refused_before_anything_is_translated(
    folder: str, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Model, "translate", None)
    other = page.parent / "other"
    other.mkdir()
    twin = other / page.name
    twin.write_bytes(b"<p>Oui")
    bad = page.with_name("bad.txt")
    bad.write_bytes(b"ok\n\xff\n")
    hostile = page.with_name("bad.tmx")
    hostile.write_bytes(b'<!DOCTYPE a [<!ENTITY b "c">]><tmx/>')
    refused(run("-m", folder, page, twin), "2 documents need a folder to go to: got none")
    refused(run("-m", folder, page, twin, "-o", page.with_name("x")), "x is none; make one")
    new = page.parent / "new"
    new.mkdir()
    refused(run("-m", folder, page, twin, "-o", new), "got page.html twice")
    refused(run("-m", folder, page, "Bonjour"), "give texts or documents, not both")
    refused(run("-m", folder, "none.html"), "none.html must be a file: there is none")
    refused(run("-m", folder, page, "--n-best", 2), "a document has one translation: got --n-best")
    refused(run("-m", folder, bad), "got another byte in line 2; name its encoding", 1)
    refused(run("-m", folder, hostile), f"{hostile}: an XML file must declare no entities", 1)
    assert sorted(path.name for path in new.iterdir()) == []


def test_json_tells_every_segment(folder: str, page: Path) -> None:
    result = run("-m", folder, page, "--json", "-o", page.with_name("out.html"))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) > 5 and page.with_name("out.html").exists()
    for answer in answers:
        assert answer["file"] == str(page) and {"source", "written", "doubt"} <= set(answer)
    told = [answer for answer in answers if not answer["doubt"] and "sentences" in answer]
    for sentence in (sentence for answer in told for sentence in answer["sentences"]):
        best = sentence["candidates"][0]
        assert len(best["token_log_probabilities"]) >= len(best["tokens"]) > 0
        for link in best["alignment"]:
            assert sentence["source"][slice(*link["source"])].strip()
            assert best["text"][slice(*link["target"])].strip()
            assert 0 <= link["weight"] <= 1.01


def test_a_glossary_is_kept(folder: str, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("chat\tcat\nbonjour\tHello\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("Le chat dort. Bonjour.\n\nUn chat.\n", encoding="utf-8")
    glossary = ("--glossary", terms, "--set", "max_length=12")
    result = run("-m", folder, *glossary, tmp_path / "a.txt")
    first, blank, second = result.stdout.splitlines()
    assert "cat" in first.lower() and "Hello" in first and blank == ""
    assert "cat" in second.lower()
    assert "cat" in run("-m", folder, *glossary, stdin=b"Un chat\n").stdout.lower()
    greedy = ("--set", "method=greedy")
    refused(run("-m", folder, "--glossary", terms, *greedy, "chat"), "a glossary needs beam search")


def test_a_bar_is_shown_where_someone_is_watching(
    folder: str, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.cli.lines import portions

    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    assert list(portions(["a"], "page.html")) == [["a"]]
    assert "page.html" in terminal.getvalue()


def test_a_file_of_another_kind_is_refused_with_what_to_do(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.log").write_text("Bonjour.\n")
    Path("book.txt").mkdir()
    refused(run("-m", folder, "notes.log"), "regard translate < notes.log")
    Path("letter.DOCX").write_bytes(b"PK")
    refused(run("-m", folder, "letter.DOCX"), "got letter.DOCX; save it as .html or .txt first")
    refused(run("-m", folder, "book.txt"), "got book.txt; name the files in this folder")


def test_only_what_is_there_and_alone_is_taken_for_a_name(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat").mkdir()
    for texts in (["Ouvrez le fichier page.html"], ["chat", "Bonjour"], [""], ["Bonjour " * 600]):
        result = run("-m", folder, *texts)
        assert result.exit_code == 0 and result.stdout.count("\n") == len(texts), result.output

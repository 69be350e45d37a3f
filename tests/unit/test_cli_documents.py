"""`regard translate` with documents: where they go, what is refused, what a program is told."""

import functools
import json
from pathlib import Path
from xml.etree import ElementTree

import cli_fixtures
import polib
import pytest
import srt
from document_fixtures import DOCUMENTS, encoded
from typer.testing import Result

import regard
from regard.api import Model
from regard.documents.placement import Mark, Placement
from regard.documents.plain import declared_languages
from regard.documents.segments import Code
from regard.text.protected import placeholders
from regard.text.words import Link


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_bytes(encoded(".html"))
    return path


run = functools.partial(cli_fixtures.run, "translate")


def refused(result: Result, message: str, code: int = 2) -> None:
    cli_fixtures.assert_one_sentence(result, code)
    assert message in result.stderr


def test_many_documents_go_into_a_folder_and_json_tells_every_segment(folder: Path, tmp_path: Path, page: Path) -> None:
    paths = [tmp_path / f"a{suffix}" for suffix in (".srt", ".po")]
    for path in paths:
        path.write_bytes(encoded(path.suffix))
    (tmp_path / "out").mkdir()
    result = run("-m", folder, *paths, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert set(written) == {path.name for path in paths}
    timings = [(cue.index, cue.start, cue.end) for cue in srt.parse(DOCUMENTS[".srt"])]
    assert [(cue.index, cue.start, cue.end) for cue in srt.parse(written["a.srt"].decode())] == timings
    entry = polib.pofile(written["a.po"].decode())[0]
    assert entry.msgstr and placeholders(entry.msgstr) == placeholders(entry.msgid)
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


def test_nothing_is_replaced_unasked_and_another_kind_of_file_refused(folder, page, tmp_path, monkeypatch):
    message = f"--output must be a new file: {page} is there already; name another, or add --force"
    refused(run("-m", folder, page, "-o", page), message)
    refused(run("-m", folder, page, "-o", page.parent), message)
    assert page.read_bytes() == encoded(".html")
    assert run("-m", folder, page, "-o", page, "--force").exit_code == 0
    assert page.read_bytes() != encoded(".html")
    monkeypatch.chdir(tmp_path)
    Path("notes.log").write_text("Bonjour.\n")
    refused(run("-m", folder, "notes.log"), "regard translate < notes.log")
    Path("letter.PDF").write_bytes(b"%PDF")
    refused(run("-m", folder, "letter.PDF"), "got letter.PDF; save it as one of these")
    Path("letter.DOCX").write_bytes(b"PK")
    refused(run("-m", folder, "letter.DOCX"), "letter.DOCX: the file must be a whole .docx file", 1)


def test_what_is_refused_before_anything_is_translated(folder, page, monkeypatch):
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
    refused(run("-m", folder, page, twin, "-o", page.with_name("x")), "x is not one; make one")
    (page.parent / "new").mkdir()
    refused(run("-m", folder, page, twin, "-o", page.parent / "new"), "got page.html twice")
    refused(run("-m", folder, page, "Bonjour"), "give texts or documents, not both")
    refused(run("-m", folder, "none.html"), "none.html must be a file: there is none")
    refused(run("-m", folder, page, "--n-best", 2), "a document has one translation: got --n-best")
    refused(run("-m", folder, bad), "line 2 holds a byte that is not; name its encoding", 1)
    refused(run("-m", folder, "-i", page), "name that document without --input")
    refused(run("-m", folder, hostile), f"{hostile}: an XML file must declare no entities", 1)
    assert list((page.parent / "new").iterdir()) == []


XLIFF = '<xliff version="2.0" srcLang="{}" trgLang="{}"><file><unit><segment><source>Hello</source></segment></unit></file></xliff>'


@pytest.mark.parametrize(
    "suffix, text, declared",
    [
        (".xliff", XLIFF.format("en-US", "fr"), ("en", "fr")),
        (".xlf", '<xliff version="1.2"><file source-language="fr" target-language="en_GB"/></xliff>', ("fr", "en")),
        (".po", 'msgid ""\nmsgstr ""\n"Language: pt_BR\\n"\n', ("", "pt")),
        (".html", '<!DOCTYPE html><html class=x lang="fr-CA"><p lang="de">', ("fr", "")),
        (".txt", 'lang="de"', ("", "")),
    ],
)
def test_what_a_document_declares(suffix: str, text: str, declared: tuple[str, str]) -> None:
    assert declared_languages(text.encode(), suffix) == declared


def test_declared_languages_are_obeyed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def load(name: object, *, source_language: object, target_language: object, **_: object) -> Model:
        asked.append((source_language, target_language))
        return regard.load(folder)

    monkeypatch.setattr("regard.cli.model_choice.load", load)
    page, german = tmp_path / "a.html", tmp_path / "a.xliff"
    page.write_text('<html lang="fr"><p>The weather is very nice today, is it not?</p>', "utf-8")
    assert run(page).exit_code == 0 and asked == [("fr", "")]
    german.write_text(XLIFF.format("fr", "de"), "utf-8")
    refused(run("-m", folder, german), "the translation must be in de, as the file declares: got en; name a model", 1)


def test_a_memory_is_used_and_grows(folder: Path, tmp_path: Path) -> None:
    page, memory, out = tmp_path / "a.html", tmp_path / "memory.tmx", tmp_path / "out.html"
    page.write_text("<p>Un <b>chat</b>.</p><p>Deux chats.</p>", "utf-8")
    tu = '<tu><tuv xml:lang="{}"><seg>Deux chats.</seg></tuv><tuv xml:lang="en"><seg>TWO &amp; CATS.</seg></tuv></tu>'
    before = '<tmx version="1.4"><header srclang="fr"/><body><!-- mine -->{}</body></tmx>\n'.format(tu.format("fr"))
    memory.write_text(before, "utf-8")
    result = run("-m", folder, page, "--dry-run", "--json", "--memory", memory)
    counts = {"segments": 2, "different": 2, "words": 4, "in the memory": 1}
    assert json.loads(result.stdout) == {"file": str(page), **counts} and memory.read_text("utf-8") == before
    assert run("-m", folder, page, "--memory", memory, "-o", out).exit_code == 0
    first, after = out.read_text("utf-8"), memory.read_text("utf-8")
    assert "<p>TWO &amp; CATS.</p>" in first and after.startswith(before.removesuffix("</body></tmx>\n"))
    language = "{http://www.w3.org/XML/1998/namespace}lang"
    assert [each.get(language) for each in ElementTree.fromstring(after).iter("tuv")] == ["fr", "en"] * 2
    assert run("-m", folder, page, "--memory", memory, "-o", out, "--force").exit_code == 0
    assert out.read_text("utf-8") == first and memory.read_text("utf-8") == after
    refused(run("-m", folder, "Bonjour", "--memory", memory), "--memory and --dry-run are for documents")


def test_a_tag_does_not_cut_a_word_with_an_apostrophe() -> None:
    """The links end at the apostrophe, as the tokens of an alignment do."""
    marks = [Mark(Code("<b>", "open"), 5, 1), Mark(Code("</b>", "close"), 11, 0)]
    for target, linked, wanted in (
        ("Jane dort aujourd'hui.", (10, 17), (10, 21)),
        ("Jane voit l'amie.", (12, 16), (12, 16)),
        ("See Jane's.", (4, 8), (4, 8)),
    ):
        found = Placement(marks, "Jane friend sleeps.", target, [Link((5, 11), linked, 1.0)], [])
        assert tuple(at for at, _ in found.places) == wanted, target

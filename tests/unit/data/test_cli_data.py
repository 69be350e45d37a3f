"""`regard data` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner
from web_fixtures import Page, Web

from regard.cli.main import app
from regard.data import public_corpora as listing
from regard.data.public_corpora import CORPORA, DataFile, PublicCorpus, Source


def test_the_corpora_are_listed() -> None:
    shown = CliRunner().invoke(app, ["data"])
    assert shown.exit_code == 0
    for corpus in CORPORA:
        assert corpus.name in shown.output and corpus.home in shown.output
    found = json.loads(CliRunner().invoke(app, ["data", "--json"]).output)
    assert [each["name"] for each in found] == [corpus.name for corpus in CORPORA]


def test_a_corpus_is_fetched(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DataFile("mine/x.fr", (Source(f"{web.url}/x.fr"),))
    mine = PublicCorpus("mine", "x", "x", "CC0", "https://example.org", None, (file,))
    monkeypatch.setattr(listing, "CORPORA", (mine,))
    web.pages["/x.fr"] = Page(b"un\n")
    ran = CliRunner().invoke(app, ["data", "get", "mine", "--data", str(tmp_path), "--json"])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "mine" / "x.fr").read_bytes() == b"un\n"
    assert json.loads(ran.stdout) == {"name": "mine", "files": [str(tmp_path / "mine" / "x.fr")]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fetch", "multi30k"], "write  regard data get multi30k"),
        (["get"], "write  regard data get multi30k"),
        (["get", "multi30"], "did you mean 'multi30k'?"),
        (["get", "stories"], "by hand from https://standardebooks.org/"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(words: list[str], message: str) -> None:
    ran = CliRunner().invoke(app, ["data", *words])
    assert ran.exit_code == 2 and message in ran.stderr and ran.stderr.count("\n") == 1

"""A corpus from its publisher to the data folder, and from there into a recipe."""

import gzip
import hashlib
import json
import tracemalloc
from pathlib import Path

import pytest
from cli_fixtures import assert_one_sentence, run
from web_fixtures import Page, Web, tar_of, zip_of

from regard.data import public_corpora as listing
from regard.data.public_corpora import CHECKSUMS, DataFile, PublicCorpus, Source, corpus_of, find_file, obtain
from regard.errors import DataError

FRENCH, ENGLISH = b"un\ndeux\tet\ntrois\n", b"one\ntwo and\nthree\n"


def make(*files: DataFile) -> PublicCorpus:
    return PublicCorpus("mine", "numbers", "tests", "CC0", "https://example.org", 1.0, files)


def every_file(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", ["tgz", "zip"])
def test_two_members_become_one_file_of_pairs(web: Web, tmp_path: Path, kind: str) -> None:
    members = {"a/x.fr": FRENCH, "a/x.en": ENGLISH, "../../outside": b"never"}
    web.pages[f"/x.{kind}"] = Page(tar_of(members) if kind == "tgz" else zip_of(members))
    url = f"{web.url}/x.{kind}"
    french, english = Source(url, "a/x.fr"), Source(url, "a/x.en")
    corpus = make(DataFile("fr-en/x.tsv.gz", (french, english)), DataFile("fr-en/x.en", (english,)))
    paths = obtain(corpus, tmp_path / "data")
    assert gzip.decompress(paths[0].read_bytes()) == b"un\tone\ndeux et\ttwo and\ntrois\tthree\n"
    assert paths[1].read_bytes() == ENGLISH
    assert every_file(tmp_path) == {"data/fr-en/x.tsv.gz", "data/fr-en/x.en", f"data/{CHECKSUMS}"}
    assert len(web.asked) == 1, "one archive, fetched once"
    first = paths[0].read_bytes()
    paths[0].unlink()
    assert obtain(corpus, tmp_path / "data")[0].read_bytes() == first


def test_segments_are_lines_and_a_text_is_checked_by_what_is_inside(web: Web, tmp_path: Path) -> None:
    sgm = b'<srcset><doc>\n<hl>\n<seg id="1"> Un. </seg>\n</hl>\n<seg id="2">A &amp; B</seg>\n</doc>'
    archive = tar_of({"test/x.fr.sgm": sgm})
    web.pages["/test.tgz"] = Page(archive)
    md5 = f"md5:{hashlib.md5(archive, usedforsecurity=False).hexdigest()}"
    file = DataFile("x.fr", (Source(f"{web.url}/test.tgz", "test/x.fr.sgm", None, md5),))
    [path] = obtain(make(file), tmp_path)
    assert path.read_bytes() == b"Un.\nA &amp; B\n"
    file = DataFile("x.fr.gz", (Source(f"{web.url}/x.fr.gz"),), hashlib.sha256(FRENCH).hexdigest())
    for level in (1, 9):
        web.pages["/x.fr.gz"] = Page(gzip.compress(FRENCH, level))
        assert obtain(make(file), tmp_path / str(level))[0].exists()
    web.pages["/x.fr.gz"] = Page(gzip.compress(ENGLISH))
    with pytest.raises(DataError, match="the text of x.fr.gz must have the sha256"):
        obtain(make(file), tmp_path / "three")
    assert not (tmp_path / "three" / "x.fr.gz").exists()
    assert obtain(make(file), tmp_path / "four", accept=True)[0].exists()


def test_what_was_fetched_once_must_stay_the_same(web: Web, tmp_path: Path) -> None:
    file = DataFile("x.fr", (Source(f"{web.url}/x.fr"),))
    web.pages["/x.fr"] = Page(FRENCH)
    [path] = obtain(make(file), tmp_path)
    known = json.loads((tmp_path / CHECKSUMS).read_text())
    assert known["x.fr"] == known[f"{web.url}/x.fr"] == hashlib.sha256(FRENCH).hexdigest()
    said: list[str] = []
    obtain(make(file), tmp_path, say=said.append)
    assert said == [f"{path} is there"] and len(web.asked) == 1
    path.write_bytes(b"mine\n")
    with pytest.raises(DataError, match="that it had before: got .* remove it"):
        obtain(make(file), tmp_path)
    path.unlink()
    web.pages["/x.fr"] = Page(ENGLISH)
    with pytest.raises(DataError, match="must have the sha256 .* that it had before"):
        obtain(make(file), tmp_path)
    assert obtain(make(file), tmp_path, accept=True)[0].read_bytes() == ENGLISH


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (tar_of({"other": b"x"}), "must hold the file x.fr: it has none"),
        (tar_of({}, links={"x.fr": "/etc/passwd"}), "must hold the file x.fr: it has none"),
        (b"no archive", "must be an intact file"),
    ],
    ids=["other file", "link", "no archive"],
)
def test_archives_that_are_not_what_they_should_be(web: Web, tmp_path: Path, archive: bytes, message: str) -> None:
    web.pages["/x.tgz"] = Page(archive)
    with pytest.raises(DataError, match=message):
        obtain(make(DataFile("x.fr", (Source(f"{web.url}/x.tgz", "x.fr"),))), tmp_path)
    assert not (tmp_path / "x.fr").exists()


def test_an_archive_of_endless_zeros_is_not_read_to_its_end(web: Web, tmp_path: Path) -> None:
    web.pages["/x.zip"] = Page(zip_of({"x.fr": bytes(1 << 26)}))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="must hold lines of text: one has"):
            obtain(make(DataFile("x.fr", (Source(f"{web.url}/x.zip", "x.fr"),))), tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * listing.MAX_ARCHIVED_LINE
    assert not (tmp_path / "x.fr").exists()


def test_the_listing_is_sound() -> None:
    paths = [file.path for corpus in listing.CORPORA for file in corpus.files]
    assert len(paths) == len(set(paths))
    for corpus in listing.CORPORA:
        assert corpus.licence and corpus.what and corpus.used_for
        assert corpus.home.startswith("https://")
        for file in corpus.files:
            assert corpus_of(file.path) == corpus
            assert not Path(file.path).is_absolute() and ".." not in file.path
            for source in file.sources:
                assert source.url.startswith("https://")
                algorithm, _, value = source.checksum.partition(":")
                assert {"md5": 32, "sha256": 64, "": 0}[algorithm] == len(value)


def test_a_recipes_file_is_found_however_it_is_packed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="run  regard data get multi30k, or name the folder"):
        find_file("data/multi30k/train.de.gz", tmp_path)
    (tmp_path / "multi30k").mkdir()
    plain = tmp_path / "multi30k" / "train.de"
    for ending in (".xz", "", ".gz"):
        path = Path(f"{plain}{ending}")
        path.touch()
        assert find_file("data/multi30k/train.de.gz#news", tmp_path) == f"{path}#news"
    with pytest.raises(DataError, match="make it with  python recipes/text/prepare.py FILES, or"):
        find_file("data/prepared/fr-en/docs.tsv.gz", tmp_path)


def test_a_corpus_is_fetched(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DataFile("mine/x.fr", (Source(f"{web.url}/x.fr"),))
    mine = PublicCorpus("mine", "x", "x", "CC0", "https://example.org", None, (file,))
    monkeypatch.setattr(listing, "CORPORA", (mine,))
    web.pages["/x.fr"] = Page(b"un\n")
    ran = run("data", "get", "mine", "--data", tmp_path, "--json")
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "mine" / "x.fr").read_bytes() == b"un\n"
    assert json.loads(ran.stdout) == {"name": "mine", "files": [str(tmp_path / "mine" / "x.fr")]}


def test_what_cannot_be_meant_is_one_sentence() -> None:
    as_get = dict.fromkeys(("fetch multi30k", "get"), "write  regard data get multi30k")
    others = {"get multi30": "did you mean 'multi30k'?", "get stories": "by hand from https://standardebooks.org/"}
    for words, message in {**as_get, **others}.items():
        result = run("data", *words.split())
        assert_one_sentence(result, 2)
        assert message in result.stderr

"""A model of the web is there whole and checked, or not at all, whatever the server or the disk does."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from serve_fixtures import wait_until
from web_fixtures import Page, Web, tar_of, zip_of

from regard.api import load
from regard.errors import DataError, ModelError, RegardError, UsageError
from regard.exchange.hub import find_address, get
from regard.exchange.huggingface import ImportOptions
from regard.folder.catalogue import ORIGIN, available
from regard.folder.checkpoint import SUMS


@pytest.fixture(scope="module")
def archive(folder: Path) -> bytes:
    return tar_of({f"tiny/{path.name}": path.read_bytes() for path in folder.iterdir()})


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def serve_folder(web: Web, place: str, files: dict[str, bytes]) -> bytes:
    """Files with the list of their checksums, which is returned."""
    listed = "".join(f"{sha256(data)}  {name}\n" for name, data in files.items()).encode()
    web.pages |= {f"/{place}/{name}": Page(data) for name, data in files.items()}
    web.pages[f"/{place}/{SUMS}"] = Page(listed)
    return listed


def bring(url: str, **options: Any) -> Path:
    return get(find_address(url, **options), ImportOptions())


def in_folder(models: Path) -> list[str]:
    return sorted(path.name for path in models.iterdir()) if models.exists() else []


def test_an_archive_becomes_a_model_with_a_name(web: Web, models: Path, archive: bytes, folder: Path) -> None:
    web.pages["/some/tiny.tar.gz"] = Page(archive, cut_after=[5_000, 3_000])
    got = bring(f"{web.url}/some/tiny.tar.gz", sha256=sha256(archive))
    assert got == models / "tiny" and in_folder(models) == ["tiny"]
    assert [path for path, _ in web.asked] == ["/some/tiny.tar.gz"] * 3
    origin = json.loads((got / ORIGIN).read_text())
    assert origin["from"].endswith("/some/tiny.tar.gz") and origin["sha256"] == sha256(archive)
    assert [info.name for info in available() if not info.bundled] == ["tiny"]
    text = "Le chat dort."
    assert load("tiny").translate(text) == load(folder).translate(text)
    with pytest.raises(UsageError, match="is there: remove it, or give another --name"):
        bring(f"{web.url}/some/tiny.tar.gz")
    assert bring(f"{web.url}/some/tiny.tar.gz", name="other") == models / "other"


def test_a_zip_and_a_folder_come_too_without_links_and_no_torn_archive(web, models, folder, archive, tmp_path):
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != SUMS}
    web.pages["/zipped.zip"] = Page(zip_of(files))
    assert bring(f"{web.url}/zipped.zip") == models / "zipped"
    listed = serve_folder(web, "folder", files)
    web.pages["/folder/model.safetensors"].cut_after.append(1_000)
    got = bring(f"{web.url}/folder/", sha256=sha256(listed))
    assert {path.name for path in got.iterdir()} == {*files, SUMS, ORIGIN}
    for name, data in files.items():
        assert (got / name).read_bytes() == data
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    web.pages["/linked.tar.gz"] = Page(tar_of(files, links={"extra.json": str(tmp_path / "secret")}))
    assert not (bring(f"{web.url}/linked.tar.gz") / "extra.json").exists()
    web.pages["/torn.tar.gz"] = Page(archive[:-500])
    with pytest.raises(ModelError, match="must be intact"):
        bring(f"{web.url}/torn.tar.gz")
    assert "torn" not in in_folder(models)


def test_wrong_checksums_are_refused_and_nothing_is_left_under_the_name(web, models, archive, folder):
    web.pages["/tiny.tar.gz"] = Page(archive)
    with pytest.raises(DataError, match="must have the sha256"):
        bring(f"{web.url}/tiny.tar.gz", sha256="1" * 64)
    assert "tiny" not in in_folder(models)
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != SUMS}
    serve_folder(web, "folder", files)
    web.pages["/folder/config.json"].body += b" "
    with pytest.raises(DataError, match=r"config.json must have the sha256"):
        bring(f"{web.url}/folder/")
    web.pages[f"/bad/{SUMS}"] = Page(f"{'0' * 64}  ../outside\n".encode())
    with pytest.raises(ModelError, match="plain file name"):
        bring(f"{web.url}/bad/")
    assert not [name for name in in_folder(models) if not name.startswith(".")]


def command(*words: str) -> subprocess.Popen[str]:
    pipes: dict[str, Any] = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    environment = {**os.environ, "no_proxy": "127.0.0.1"}
    return subprocess.Popen([sys.executable, "-m", "regard", "models", *words], env=environment, **pipes)


def test_killed_in_the_middle_and_two_at_once(web: Web, models: Path, archive: bytes) -> None:
    page = Page(archive, cut_after=[6_000])
    page.delays = [0.0, 60.0]  # the second answer is long in coming, so the command hangs
    web.pages["/tiny.tar.gz"] = page
    with command("get", f"{web.url}/tiny.tar.gz") as first:
        part = models / ".tiny.getting" / "tiny.tar.gz.part"
        wait_until(lambda: len(web.asked) == 2, seconds=60)
        with pytest.raises(UsageError, match="another process is getting tiny; wait for it"):
            bring(f"{web.url}/tiny.tar.gz")
        assert part.stat().st_size == 6_000
        first.send_signal(signal.SIGKILL)
        first.wait()
    page.delays = []
    with command("get", f"{web.url}/tiny.tar.gz", "--sha256", sha256(archive)) as again:
        _, told = again.communicate(timeout=120)
    assert again.returncode == 0 and "tiny is there" in told
    assert web.asked[-1][1] == "bytes=6000-" and in_folder(models) == ["tiny"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a/b/config.json": b"{}"}, "in one folder at most: it holds 'a/b/config.json'"),
        ({"../config.json": b"{}"}, "in one folder at most"),
        ({"a/config.json": b"{}", "b/config.json": b"{}"}, "two are called config.json"),
        ({"config.json": b"\0" * 2_000_000}, "more than 50 times its size"),
        ({"config.json": b"{}"}, "must be one of marian"),
        ({"config.json": b'{"model_type": "gpt2"}', "pytorch_model.bin": b"x"}, "has none"),
    ],
)
def test_archives_that_are_no_models_are_refused(web: Web, models: Path, files: dict[str, bytes], message: str) -> None:
    web.pages["/x.tar.gz"] = Page(tar_of(files))
    with pytest.raises(ModelError, match=message):
        bring(f"{web.url}/x.tar.gz")
    assert "x" not in in_folder(models)


@pytest.mark.parametrize(
    ("wanted", "options", "message"),
    [
        ("http://example.org/a.zip", {}, "must be an address https://"),
        ("teacher", {}, "an address https://…, hf:owner/name, or opus-mt: and a pair such as en-de: got 'teacher'"),
        ("https://example.org/a.zip", {"sha256": "12"}, "64 hexadecimal digits"),
        ("hf:a/b", {"sha256": "0" * 64}, "hf:owner/name@revision instead"),
    ],
)
def test_addresses_that_are_none(wanted: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        find_address(wanted, **options)

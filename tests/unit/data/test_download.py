"""A file of the web arrives whole and checked, or not at all, whatever the server does."""

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
from web_fixtures import Page, Web

from regard.data.download import ATTEMPTS, fetch
from regard.errors import DataError

BODY = random.Random(3).randbytes(200_003)
SHA256 = f"sha256:{hashlib.sha256(BODY).hexdigest()}"


def get(web: Web, path: Path, name: str = "/file", **options: Any) -> bytes:
    fetch(web.url + name, path, **{"checksum": SHA256, "pause": 0.0, **options})
    return path.read_bytes()


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_file_arrives_and_cut_connections_are_taken_up(web: Web, tmp_path: Path) -> None:
    web.pages["/file"] = Page(BODY, cut_after=[70_000, 50_000, 3])
    assert get(web, tmp_path / "file") == BODY
    assert [range for _, range in web.asked] == ["", "bytes=70000-", "bytes=120000-", "bytes=120003-"]
    web.pages["/file"] = Page(BODY)
    told: list[tuple[int, int | None]] = []
    path = tmp_path / "folder" / "file"
    assert get(web, path, progress=lambda done, total: told.append((done, total))) == BODY
    assert told[-1] == (len(BODY), len(BODY)) and told == sorted(told)
    assert left_behind(path.parent) == ["file"]
    md5 = f"md5:{hashlib.md5(BODY, usedforsecurity=False).hexdigest()}"
    assert get(web, tmp_path / "again", checksum=md5) == BODY


def test_the_next_call_goes_on_where_the_last_one_gave_up(web: Web, tmp_path: Path) -> None:
    web.pages["/file"] = page = Page(BODY, cut_after=[70_000] + [0] * ATTEMPTS)
    with pytest.raises(DataError, match="must be reachable.*go on where it stopped"):
        get(web, tmp_path / "file")
    assert not (tmp_path / "file").exists()
    page.cut_after.clear()
    web.asked.clear()
    assert get(web, tmp_path / "file") == BODY
    assert web.asked == [("/file", "bytes=70000-")] and left_behind(tmp_path) == ["file"]


def test_a_file_that_changed_in_between_is_not_patched_together(web: Web, tmp_path: Path) -> None:
    web.pages["/file"] = Page(b"x" * 99_991, etag='"old"', cut_after=[70_000] + [0] * ATTEMPTS)
    with pytest.raises(DataError):
        get(web, tmp_path / "file")
    web.pages["/file"] = Page(BODY, etag='"new"')
    assert get(web, tmp_path / "file") == BODY


def test_what_is_not_there_or_another_leaves_nothing(web: Web, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be there: its server answered 404 Not Found"):
        get(web, tmp_path / "file")
    assert len(web.asked) == 1 and left_behind(tmp_path) == []
    web.pages["/file"] = Page(BODY[:-1] + b"?")
    with pytest.raises(DataError, match="must have the sha256 .*: got .*--accept"):
        get(web, tmp_path / "file")
    assert left_behind(tmp_path) == []


def test_a_redirect_is_followed_but_not_out_of_the_web(web: Web, tmp_path: Path) -> None:
    web.pages["/old"] = Page(b"", location="file:///etc/passwd")
    with pytest.raises(DataError, match="it leads to|must be there"):
        get(web, tmp_path / "file", name="/old")
    assert left_behind(tmp_path) == []
    web.pages["/old"] = Page(b"", location=f"{web.url}/file")
    web.pages["/file"] = Page(BODY, cut_after=[70_000])
    assert get(web, tmp_path / "file", name="/old") == BODY
    assert web.asked[-1] == ("/file", "bytes=70000-")

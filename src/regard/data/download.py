"""Download of one file: resumed where it was cut off, checked, and named only when it is complete."""

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import DataError
from regard.files import digest, sync

ATTEMPTS = 5  # attempts in a row that bring nothing
TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16

Progress = Callable[[int, int | None], None]
"""called with the bytes so far and, if the server says so, the total"""


class Advice(NamedTuple):
    """What an error says to do about a file that is missing or changed."""

    if_gone: str
    if_changed: str


OF_A_CORPUS = Advice(
    "its publisher may have moved it: get it by hand, and name its folder with --data",
    "its publisher has changed it: take it as it is with --accept",
)


def fetch(
    url: str,
    path: Path,
    *,
    checksum: str = "",
    advice: Advice = OF_A_CORPUS,
    progress: Progress = lambda done, total: None,
    pause: float = 1.0,
    timeout: float = TIMEOUT,
) -> None:
    """Fetch a file; `checksum` is such as sha256:0a1b…, empty where none is known.

    What has arrived stays beside it as NAME.part, and the next call resumes from it if the file is still the same:
    NAME.part.tag holds what its server calls it.
    """
    assert url.startswith(("http://", "https://")), url
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    tag = path.with_name(f"{path.name}.part.tag")
    failures = 0
    while True:
        before = _size(part)
        try:
            _transfer(url, part, tag, progress, timeout)
            break
        except (OSError, http.client.HTTPException) as error:
            problem = _problem_to_retry(error, url, part, advice)
            failures = 1 if _size(part) > before else failures + 1
            if failures == ATTEMPTS:
                raise DataError(
                    f"{url} must be reachable: {problem}, {ATTEMPTS} times in a row; "
                    "check the connection, then run the same again to go on where it stopped"
                ) from error
        time.sleep(pause * 2 ** (failures - 1))
    algorithm, _, expected = checksum.partition(":")
    if checksum and (found := digest(part, algorithm)) != expected:
        part.unlink()
        tag.unlink(missing_ok=True)
        raise DataError(
            f"{url} must have the {algorithm} {expected}: got {found}; run the same again, and if it stays so "
            f"{advice.if_changed}"
        )
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(part, path)
    tag.unlink(missing_ok=True)
    sync(path.parent)


def _transfer(url: str, part: Path, tag: Path, progress: Progress, timeout: float) -> None:
    """Append what is missing to the part, or write it anew if the server cannot resume."""
    have = _size(part) if tag.exists() else 0
    headers = {"User-Agent": "regard"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": tag.read_text("utf-8")}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.build_opener(_Redirects).open(request, timeout=timeout) as answer:
        content_range = answer.headers.get("Content-Range", "")
        if answer.status != 206 or not content_range.startswith(f"bytes {have}-"):
            have = 0
        # What tells this file from a later one of the same name; without it nothing can be resumed.
        etag = answer.headers.get("ETag", "")
        known = etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified")
        if known:
            tag.write_text(known, "utf-8")
        else:
            tag.unlink(missing_ok=True)
        length = answer.headers.get("Content-Length", "")
        total = have + int(length) if length.isdigit() else None
        with part.open("ab" if have else "wb") as file:
            while block := answer.read(_CHUNK):
                file.write(block)
                have += len(block)
                progress(have, total)
    if total is not None and have < total:
        raise ConnectionError(f"it ended after {have:,} of {total:,} bytes")


def _problem_to_retry(error: Exception, url: str, part: Path, advice: Advice) -> str:
    """What failed, if another attempt may mend it."""
    if not isinstance(error, urllib.error.HTTPError):
        return f"the connection failed ({getattr(error, 'reason', error)})"
    with error:
        answer = f"its server answered {error.code} {error.reason}"
    if error.code == 416:  # the part is not the beginning of this file
        part.unlink(missing_ok=True)
    if error.code in (408, 416, 429) or error.code >= 500:
        return answer
    raise DataError(f"{url} must be there: {answer}; {advice.if_gone}") from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, never from https to http."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        allowed = ("https://",) if req.type == "https" else ("http://", "https://")
        if not newurl.startswith(allowed):
            raise DataError(
                f"{req.full_url} must not redirect from https to http: it redirects to {newurl}; get the file by hand"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0

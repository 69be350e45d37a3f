"""Where a model is got from: a name of the list, an address of the web, or a repository of the hub.

The list is `assets/gettable.json`: a name, and for each the url of an archive, its sha256 and its bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from regard.errors import UsageError, suggest
from regard.folder.catalogue import BUNDLED

ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar", ".zip")
HUB = "hf:"
GETTABLE = BUNDLED / "gettable.json"
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_NAME = re.compile(r"\w[\w.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Address:
    """A model elsewhere, and what it is to be called here."""

    name: str
    url: str = ""
    """of an archive, or of a folder that has a list of its files and their checksums"""
    sha256: str = ""
    repository: str = ""
    """on the hub, as owner/name"""
    revision: str = ""

    @property
    def is_archive(self) -> bool:
        return self.url.endswith(ARCHIVES)


def gettable() -> dict[str, dict[str, object]]:
    """The models that can be got by their names."""
    listed: dict[str, dict[str, object]] = json.loads(GETTABLE.read_bytes())
    return listed


def find_address(wanted: str, *, name: str = "", sha256: str = "") -> Address:
    """What a user's word stands for; `name` and `sha256` are added to it."""
    sha256 = sha256.lower().removeprefix("sha256:")
    if sha256 and not _SHA256.fullmatch(sha256):
        raise UsageError(f"--sha256 must be 64 hexadecimal digits: got {sha256!r}; copy all of it")
    if name and not _NAME.fullmatch(name):
        raise UsageError(f"a model's name must be letters, digits, . _ and -: got {name!r}")
    if wanted.startswith(HUB):
        if sha256:
            raise UsageError(
                "--sha256 is of one file, and a repository has many: pin it as hf:owner/name@revision instead"
            )
        repository, revision = split_repository(wanted)
        return Address(
            name or PurePosixPath(repository).name, repository=repository, revision=revision
        )
    if "://" in wanted:
        return _of_the_web(wanted, name, sha256)
    listed = gettable()
    if wanted not in listed:
        known = f"one of {', '.join(listed)}, " if listed else ""
        raise UsageError(
            f"a model to get must be {known}an address https://… or hf:owner/name: got {wanted!r}"
            f"{suggest(wanted, listed)}"
        )
    entry = listed[wanted]
    return Address(name or wanted, str(entry["url"]), sha256 or str(entry["sha256"]))


def split_repository(wanted: str) -> tuple[str, str]:
    """Repository and revision of hf:owner/name@revision.

    >>> split_repository("hf:some/model@v1.0"), split_repository("hf:some/model")
    (('some/model', 'v1.0'), ('some/model', ''))
    """
    repository, _, revision = wanted.removeprefix(HUB).partition("@")
    if not wanted.startswith(HUB) or not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"a repository is written hf:owner/name: got {wanted!r}; write it so")
    return repository, revision


def _of_the_web(url: str, name: str, sha256: str) -> Address:
    parts = urlsplit(url)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise UsageError(
            f"a model is got over https://, or http:// from this machine: got {url}; use another address"
        )
    last = PurePosixPath(unquote(parts.path)).name
    stem = next((last.removesuffix(end) for end in ARCHIVES if last.endswith(end)), last)
    if not name and not _NAME.fullmatch(stem):
        raise UsageError(f"the model needs a name, which {url} does not give it: add --name NAME")
    address = Address(name or stem, url, sha256)
    return address if address.is_archive else Address(name or stem, url.rstrip("/") + "/", sha256)

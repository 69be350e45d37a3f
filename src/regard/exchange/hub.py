"""Models from elsewhere, put into the user's models folder: whole and checked, or not at all.

models/NAME/            the model; its origin.json says where it came from, with checksums
models/.NAME.getting/   files of an unfinished transfer, which the next call continues
"""

from __future__ import annotations

import datetime
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from regard.data.download import Advice, Progress, digest, fetch
from regard.errors import ModelError, UsageError
from regard.exchange import formats
from regard.exchange.hub_transfer import ARCHIVES, PICKLES, download_repository, unpack
from regard.exchange.huggingface import ImportOptions
from regard.exchange.huggingface_weights import read_json
from regard.files import fresh_folder, replace_files, try_lock, write_file
from regard.folder.catalogue import user_folder
from regard.folder.checkpoint import SUMS, check_weights, open_tokenizers
from regard.folder.manifest import CONFIG, read_manifest

HUB = "hf:"
ORIGIN = "origin.json"
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_NAME = re.compile(r"\w[\w.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_LIST = 1 << 20
"""bytes of a list of checksums"""
_ADVICE = Advice(
    "check the address, or ask its publisher",
    "it is another model than the one that was named: ask its publisher",
)

ProgressOf = Callable[[str], Progress]
"""from a file's name to what is told about its transfer"""


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """A model elsewhere, and its name here."""

    name: str
    url: str = ""
    """an archive, or a folder with a list of its files and their checksums"""
    checksum: str = ""
    """of the archive or the list, such as sha256:0a1b…"""
    repository: str = ""
    """owner/name on the hub"""
    revision: str = ""


def find_address(wanted: str, *, name: str = "", sha256: str = "") -> ModelAddress:
    """The address that a user names: https://…, or hf:owner/name."""
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
        name = name or PurePosixPath(repository).name
        return ModelAddress(name, repository=repository, revision=revision)
    if "://" not in wanted:
        raise UsageError(
            f"a model to get must be an address https://… or hf:owner/name: got {wanted!r}; "
            "regard models lists those that are here"
        )
    return _web_address(wanted, name, sha256)


def split_repository(wanted: str) -> tuple[str, str]:
    """Repository and revision of hf:owner/name@revision.

    >>> split_repository("hf:some/model@v1.0"), split_repository("hf:some/model")
    (('some/model', 'v1.0'), ('some/model', ''))
    """
    repository, _, revision = wanted.removeprefix(HUB).partition("@")
    if not wanted.startswith(HUB) or not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"a repository is written hf:owner/name: got {wanted!r}; write it so")
    return repository, revision


def _web_address(url: str, name: str, sha256: str) -> ModelAddress:
    parts = urlsplit(url)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        raise UsageError(
            f"a model is got over https://, or http:// from this machine: got {url}; use another address"
        )
    last = PurePosixPath(unquote(parts.path)).name
    stem = next((last.removesuffix(end) for end in ARCHIVES if last.endswith(end)), last)
    if not name and not _NAME.fullmatch(stem):
        raise UsageError(f"the model needs a name, which {url} does not give it: add --name NAME")
    if not url.endswith(ARCHIVES):
        url = url.rstrip("/") + "/"
    return ModelAddress(name or stem, url, f"sha256:{sha256}" if sha256 else "")


def get(
    address: ModelAddress,
    options: ImportOptions,
    *,
    folder: Path | None = None,
    progress: ProgressOf = lambda name: lambda done, total: None,
) -> Path:
    """The new folder of a model; a foreign model is imported with these options."""
    models = folder or user_folder()
    place = models / address.name
    models.mkdir(parents=True, exist_ok=True)
    with try_lock(models / f".{address.name}.lock") as is_mine:
        if not is_mine:
            raise UsageError(
                f"one process at a time gets a model: another is getting {address.name}; wait for it"
            )
        if place.exists():
            raise UsageError(
                f"a model is got under a new name: {place} is there; remove it, or give another --name"
            )
        work = models / f".{address.name}.getting"
        work.mkdir(exist_ok=True)
        origin = _fetch(address, work / "files", options, progress)
        _install(work / "files", place, options, origin)
        shutil.rmtree(work)
    return place


def _fetch(
    address: ModelAddress, files: Path, options: ImportOptions, progress: ProgressOf
) -> dict[str, Any]:
    """Fill the folder `files`; returns what origin.json says of it."""
    if address.repository:
        return download_repository(
            address.repository, address.revision, files, wants_pickle=options.convert_pickle
        )
    if not address.url.endswith(ARCHIVES):
        return _fetch_folder(address, files, options, progress)
    archive = files.with_name(address.url.rpartition("/")[2])
    if not archive.exists():
        told = progress(archive.name)
        fetch(address.url, archive, checksum=address.checksum, advice=_ADVICE, progress=told)
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    unpack(archive, files, wants_pickle=options.convert_pickle)
    return {"from": address.url, "sha256": digest(archive)}


def _fetch_folder(
    address: ModelAddress, files: Path, options: ImportOptions, progress: ProgressOf
) -> dict[str, Any]:
    """Every file that the folder's own list names, each with its checksum."""
    sums = files.with_name(SUMS)
    sums.unlink(missing_ok=True)
    fetch(address.url + SUMS, sums, checksum=address.checksum, advice=_ADVICE)
    listed = _read_list(sums)
    files.mkdir(exist_ok=True)
    for name, sha256 in listed.items():
        if Path(name).suffix in PICKLES and not options.convert_pickle:
            continue
        file, checksum = files / name, f"sha256:{sha256}"
        if not file.exists() or digest(file) != sha256:
            told = progress(name)
            fetch(address.url + name, file, checksum=checksum, advice=_ADVICE, progress=told)
    for file in files.iterdir():
        if file.name not in listed:  # from an earlier call, when the folder had other files
            file.unlink()
    shutil.copyfile(sums, files / SUMS)
    return {"from": address.url, "sha256": digest(sums), "files": listed}


def _read_list(sums: Path) -> dict[str, str]:
    """The checksum of each file."""
    found = {}
    for line in sums.read_bytes()[:_MAX_LIST].decode(errors="replace").splitlines():
        sha256, _, name = line.partition(" ")
        name = name.strip().removeprefix("*").removeprefix("./")
        if len(sha256) != 64 or not name or Path(name).name != name:
            raise ModelError(
                f"{SUMS} must be lines of a checksum and a plain file name, as sha256sum writes them: got {line!r}"
            )
        found[name] = sha256
    if CONFIG not in found:
        raise ModelError(
            f"{SUMS} must list every file of a model, {CONFIG} among them: it does not; let its publisher run  "
            f"sha256sum * > {SUMS}  in the folder"
        )
    return found


def _install(files: Path, place: Path, options: ImportOptions, origin: dict[str, Any]) -> None:
    """Check a model of ours and copy it; import any other."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with fresh_folder(place) as fresh:
        if "format_version" in read_json(files, CONFIG):
            manifest = read_manifest(files)
            check_weights(files, manifest)
            open_tokenizers(files, manifest.tokenizer)
            for file in files.iterdir():
                if file.is_file() and file.suffix not in PICKLES:
                    shutil.copyfile(file, fresh / file.name)
        else:
            fresh.rmdir()
            formats.read(files, fresh, options)
        write_file(fresh / ORIGIN, json.dumps({**origin, "date": date}, indent=1).encode())
        replace_files(fresh, place, last=CONFIG)

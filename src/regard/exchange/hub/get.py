"""A model from elsewhere into the user's models folder: there whole and checked, or not at all.

models/NAME/            the model; origin.json in it says where it came from, and the checksums it came with
models/.NAME.getting/   what is on its way, gone on with by the next call
"""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.data.download import Advice, Progress, digest, fetch
from regard.errors import ModelError, UsageError
from regard.exchange import formats
from regard.exchange.hub.address import Address
from regard.exchange.hub.unpack import PICKLES, unpack
from regard.exchange.huggingface import Wanted, read_json
from regard.files import fresh_folder, holding, put_in_place, write_file
from regard.folder.catalogue import user_folder
from regard.folder.checkpoint import SUMS, check_weights, open_tokenizers
from regard.folder.manifest import CONFIG, read_manifest

ORIGIN = "origin.json"
OF_A_MODEL = Advice(
    "check the address, or ask its publisher",
    "it is another model than the one that was named: ask its publisher",
)
_MOST_LISTED = 1 << 20


def get(
    address: Address,
    wanted: Wanted,
    *,
    folder: Path | None = None,
    progress: Callable[[str], Progress] = lambda name: lambda done, total: None,
) -> Path:
    """The folder of the model, which is new; a foreign one is imported as `wanted` says."""
    models = folder or user_folder()
    place = models / address.name
    if place.exists():
        raise UsageError(
            f"a model is got under a new name: {place} is there; remove it, or give another --name"
        )
    work = models / f".{address.name}.getting"
    work.mkdir(parents=True, exist_ok=True)
    with holding(models / f".{address.name}.lock") as is_mine:
        if not is_mine:
            raise UsageError(
                f"one process at a time gets a model: another is getting {address.name}; wait for it"
            )
        if place.exists():  # by the one that has just let go of the lock
            raise UsageError(f"{place} is there; remove it, or give another --name")
        came, origin = _bring(address, work, wanted, progress)
        _install(came, place, wanted, origin)
        shutil.rmtree(work)
    return place


def _bring(
    address: Address, work: Path, wanted: Wanted, progress: Callable[[str], Progress]
) -> tuple[Path, dict[str, Any]]:
    """A folder of the files as they come, and where they come from."""
    if address.repository:
        from regard.exchange.hub.huggingface import download

        return download(address, work, wants_pickle=wanted.convert_pickle)
    if address.is_archive:
        archive = work / address.url.rpartition("/")[2]
        checksum = f"sha256:{address.sha256}" if address.sha256 else ""
        if not archive.exists():
            fetch(
                address.url,
                archive,
                checksum=checksum,
                advice=OF_A_MODEL,
                progress=progress(archive.name),
            )
        came = work / "files"
        shutil.rmtree(came, ignore_errors=True)
        came.mkdir()
        unpack(archive, came, wants_pickle=wanted.convert_pickle)
        return came, {"from": address.url, "sha256": digest(archive)}
    return _bring_folder(address, work / "files", wanted, progress)


def _bring_folder(
    address: Address, came: Path, wanted: Wanted, progress: Callable[[str], Progress]
) -> tuple[Path, dict[str, Any]]:
    """Every file that the folder's own list names, each with its checksum."""
    sums = came.with_name(SUMS)
    checksum = f"sha256:{address.sha256}" if address.sha256 else ""
    sums.unlink(missing_ok=True)
    fetch(address.url + SUMS, sums, checksum=checksum, advice=OF_A_MODEL)
    listed = _listed(sums)
    came.mkdir(exist_ok=True)
    for name, sha256 in listed.items():
        if Path(name).suffix in PICKLES and not wanted.convert_pickle:
            continue
        file = came / name
        if file.exists() and digest(file) == sha256:
            continue
        fetch(
            address.url + name,
            file,
            checksum=f"sha256:{sha256}",
            advice=OF_A_MODEL,
            progress=progress(name),
        )
    for file in came.iterdir():  # of an earlier call, when the folder held others
        if file.name not in listed:
            file.unlink()
    shutil.copyfile(sums, came / SUMS)
    return came, {"from": address.url, "sha256": digest(sums), "files": listed}


def _listed(sums: Path) -> dict[str, str]:
    content = sums.read_bytes()[:_MOST_LISTED].decode(errors="replace")
    found = {}
    for line in content.splitlines():
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


def _install(came: Path, place: Path, wanted: Wanted, origin: dict[str, Any]) -> None:
    """A model of ours as it is, once it has been looked through; any other is imported."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    described = json.dumps({**origin, "date": date}, indent=1).encode()
    with fresh_folder(place) as fresh:
        if "format_version" in read_json(came, CONFIG):
            manifest = read_manifest(came)
            check_weights(came, manifest)
            open_tokenizers(came, manifest.tokenizer)
            for file in came.iterdir():
                if file.is_file() and file.suffix not in PICKLES:
                    shutil.copyfile(file, fresh / file.name)
        else:
            fresh.rmdir()
            formats.read(came, fresh, wanted)
        write_file(fresh / ORIGIN, described)
        put_in_place(fresh, place, last=CONFIG)

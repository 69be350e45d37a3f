"""Models from elsewhere, put into the user's models folder: whole and checked, or not at all; and models for the hub.

models/NAME/            the model; its origin.json says where it came from, with checksums
models/.NAME.getting/   files of an unfinished transfer, which the next call continues

An archive gives plain files under plain names: nothing is written outside the folder, no link is followed, and a file
that may hold a program (a pickle) is left out unless the user asks for it.
"""

import fnmatch
import hashlib
import json
import lzma
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from regard.data.download import Advice, Progress, fetch
from regard.errors import ModelError, UsageError, needs_extra
from regard.exchange import formats
from regard.exchange.huggingface import ImportOptions
from regard.exchange.huggingface_files import PICKLED, read_json
from regard.files import digest, fresh_folder, replace_files, try_lock, write_file
from regard.folder.catalogue import HUB, OPUS, OPUS_REPOSITORY, ORIGIN, user_folder
from regard.folder.checkpoint import CARD, SUMS, WEIGHTS, check_weights, open_tokenizers
from regard.folder.manifest import CONFIG, read_manifest

_NAME = r"\w[\w.-]*"
_ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar", ".zip")
_PLACE = r"(\d_Pooling/)?[^/\\]+"  # of a file in a repository; another folder holds other forms of the model
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack")  # may hold a program
_MAX_EXPANSION = 50  # times the archive's size; weights hardly shrink when they are packed
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_MODEL_FILES = (
    "*.json *.safetensors *.model *.spm *.txt *.jinja *.onnx tokenizer* vocab* merges*".split()
)  # of a repository
_ADVICE = Advice("check the address, or ask its publisher", "it is another model: ask its publisher")
ProgressOf = Callable[[str], Progress]  # from a file's name to what is told about its transfer


class ModelAddress(NamedTuple):
    """A model elsewhere, and its name here."""

    name: str
    url: str  # an archive, a folder with a list of its files and their checksums, or hf:owner/name
    pin: str  # sha256 of the archive or the list, or a revision on the hub; or empty
    languages: tuple[str, str] = ("", "")  # source and target, where the user named them


def find_address(wanted: str, *, name: str = "", sha256: str = "") -> ModelAddress:
    """The address that a user names: https://…, hf:owner/name, or opus-mt:en-de for a model of that pair."""
    if wanted.startswith(OPUS):
        found = find_address(wanted.replace(OPUS, OPUS_REPOSITORY, 1), name=name, sha256=sha256)
        pair = wanted.partition("@")[0].removeprefix(OPUS).split("-")
        if len(pair) < 2:
            raise UsageError(f"a pair of languages is written opus-mt:en-de: got {wanted!r}; write it so")
        return found._replace(languages=(pair[-2], pair[-1]))
    pin = sha256.lower().removeprefix("sha256:")
    if pin and not re.fullmatch(r"[0-9a-f]{64}", pin):
        raise UsageError(f"--sha256 must be 64 hexadecimal digits: got {sha256!r}; copy all of it")
    parts = urlsplit(wanted)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if wanted.startswith(HUB):
        if sha256:
            raise UsageError("--sha256 is of one file: pin a repository as hf:owner/name@revision instead")
        repository, pin = split_repository(wanted)
        url, stem = HUB + repository, PurePosixPath(repository).name
    elif parts.scheme == "https" or (parts.scheme == "http" and is_local):
        last = PurePosixPath(unquote(parts.path)).name
        stem = next((last.removesuffix(end) for end in _ARCHIVES if last.endswith(end)), last)
        url = wanted if wanted.endswith(_ARCHIVES) else wanted.rstrip("/") + "/"
    else:
        known = "an address https://…, hf:owner/name, or opus-mt: and a pair such as en-de"
        raise UsageError(f"a model to get must be {known}: got {wanted!r}; give one")
    if not re.fullmatch(_NAME, name or stem):
        raise UsageError(
            f"a model's name must be letters, digits, . _ and -: got {name or stem!r}; give another --name"
        )
    return ModelAddress(name or stem, url, pin)


def split_repository(wanted: str) -> tuple[str, str]:
    """Repository and revision of hf:owner/name@revision.

    >>> split_repository("hf:some/model@v1.0"), split_repository("hf:some/model")
    (('some/model', 'v1.0'), ('some/model', ''))
    """
    repository, _, revision = wanted.removeprefix(HUB).partition("@")
    if not wanted.startswith(HUB) or not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise UsageError(f"a repository is written hf:owner/name: got {wanted!r}; write it so")
    return repository, revision


def get(
    address: ModelAddress, options: ImportOptions, progress: ProgressOf = lambda name: lambda done, total: None
) -> Path:
    """The new folder of a model; a foreign model is imported with these options."""
    if any(address.languages):  # most OPUS-MT models have their weights in no other file
        source, target = address.languages
        options = replace(options, source_language=source, target_language=target, convert_pickle=True)
    models = user_folder()
    place, work = models / address.name, models / f".{address.name}.getting"
    files, wants_pickle = work / "files", options.convert_pickle
    models.mkdir(parents=True, exist_ok=True)
    with try_lock(models / f".{address.name}.lock") as is_mine:
        if not is_mine:
            raise UsageError(f"another process is getting {address.name}; wait for it")
        if place.exists():
            raise UsageError(f"{place} is there: remove it, or give another --name")
        work.mkdir(exist_ok=True)
        if address.url.startswith(HUB):
            origin = _download_repository(address, files, wants_pickle)
        elif address.url.endswith(_ARCHIVES):
            origin = _fetch_archive(address, files, wants_pickle, progress)
        else:
            origin = _fetch_folder(address, files, wants_pickle, progress)
        _install(files, place, options, origin)
        shutil.rmtree(work)
    return place


def _fetch(url: str, file: Path, sha256: str, progress: ProgressOf) -> None:
    checksum = f"sha256:{sha256}" if sha256 else ""
    fetch(url, file, checksum=checksum, advice=_ADVICE, progress=progress(file.name))


def _fetch_archive(address: ModelAddress, files: Path, wants_pickle: bool, progress: ProgressOf) -> dict[str, Any]:
    """Fill the folder `files`; what origin.json says of it."""
    archive = files.with_name(address.url.rpartition("/")[2])
    if not archive.exists():
        _fetch(address.url, archive, address.pin, progress)
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    try:
        _unpack(archive, files, wants_pickle)
    except _BROKEN as error:
        raise ModelError(f"{archive.name} must be intact: {error}; get it again") from error
    return {"from": address.url, "sha256": digest(archive)}


def _unpack(archive: Path, folder: Path, wants_pickle: bool) -> None:
    """The files of an archive, all at its top or all in one folder of it."""
    room = _MAX_EXPANSION * archive.stat().st_size
    for name, size, content in _members(archive):
        path = PurePosixPath(name)
        room -= size
        if room < 0:
            wrong = f"must not hold more than {_MAX_EXPANSION} times its size: it does"
        elif len([part for part in path.parts if part != "."]) > 2 or ".." in path.parts:
            wrong = f"must hold a model's files, in one folder at most: it holds {name!r}"
        elif (folder / path.name).exists():
            wrong = f"must hold a file once: two are called {path.name}"
        else:
            if path.suffix not in _PICKLES or wants_pickle:
                with (folder / path.name).open("xb") as file:
                    shutil.copyfileobj(content, file)
            continue
        raise ModelError(f"{archive.name} {wrong}; get another")


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size and content of each plain file: neither a link nor a device."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            for member in zipped.infolist():
                if not member.is_dir() and member.external_attr >> 28 in (0, 8):
                    yield member.filename, member.file_size, zipped.open(member)
    else:
        with tarfile.open(archive) as tar:
            for info in tar:
                if info.isfile() and (content := tar.extractfile(info)) is not None:
                    yield info.name, info.size, content


def _fetch_folder(address: ModelAddress, files: Path, wants_pickle: bool, progress: ProgressOf) -> dict[str, Any]:
    """Every file that the folder's own list names, each with its checksum."""
    sums = files.with_name(SUMS)
    sums.unlink(missing_ok=True)
    _fetch(address.url + SUMS, sums, address.pin, progress)
    listed: dict[str, str] = {}
    for line in sums.read_text("utf-8", "replace").splitlines():
        sha256, _, name = line.partition(" ")
        name = name.strip().removeprefix("*").removeprefix("./")
        if len(sha256) != 64 or not name or Path(name).name != name:
            raise ModelError(f"{SUMS} must be lines of a checksum and a plain file name: got {line!r}")
        listed[name] = sha256
    files.mkdir(exist_ok=True)
    for file in files.iterdir():
        if file.name not in listed:  # from an earlier call, when the folder had other files
            file.unlink()
    for name, sha256 in listed.items():
        file = files / name
        is_wanted = wants_pickle or file.suffix not in _PICKLES
        if is_wanted and (not file.exists() or digest(file) != sha256):
            _fetch(address.url + name, file, sha256, progress)
    shutil.copyfile(sums, files / SUMS)
    return {"from": address.url, "sha256": digest(sums), "files": listed}


@contextmanager
def _client(address: str, remedy: str) -> Iterator[Any]:
    """The hub's own client; what goes wrong with it is one sentence."""
    with needs_extra("hub", "reaching the Hugging Face hub"):
        import huggingface_hub as client
    try:
        yield client
    except (OSError, ValueError, *client.errors.HfHubHTTPError.__bases__) as error:  # type: ignore[misc]
        reason = next(filter(None, map(str.strip, str(error).splitlines())), "no reason given")
        raise ModelError(f"{address} must be reachable on the hub: {reason}; {remedy}") from error


def _download_repository(address: ModelAddress, folder: Path, wants_pickle: bool) -> dict[str, Any]:
    """Download a revision, each file with the hub's checksum."""
    repository = address.url.removeprefix(HUB)
    patterns = [*_MODEL_FILES, CARD, SUMS]
    where = f"{address.url}@{address.pin}" if address.pin else address.url
    remedy = "check the name and the connection, then run the same again to go on"
    with _client(where, remedy) as client:
        info = client.HfApi().model_info(repository, revision=address.pin or None, files_metadata=True)
        if wants_pickle and not any(each.rfilename.endswith(".safetensors") for each in info.siblings):
            patterns.append(PICKLED)
        files = {
            each.rfilename: each
            for each in info.siblings
            if re.fullmatch(_PLACE, each.rfilename) and any(fnmatch.fnmatch(each.rfilename, one) for one in patterns)
        }
        client.snapshot_download(repository, revision=info.sha, local_dir=folder, allow_patterns=[*files])
    checksums = {name: _checked(folder / name, each) for name, each in files.items() if (folder / name).is_file()}
    return {"from": address.url, "revision": info.sha, "files": checksums}


def _checked(file: Path, sibling: Any) -> str:
    """The sha256 of a file; it must have the hub's sha256, or the hub's git hash for a small file."""
    sha256 = digest(file)
    if sibling.lfs is not None:
        expected, found = sibling.lfs.sha256, sha256
    else:
        blob = f"blob {file.stat().st_size}\0".encode() + file.read_bytes()
        expected, found = sibling.blob_id, hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    if expected != found:
        file.unlink()
        raise ModelError(f"{file.name} must have the hub's checksum {expected}: got {found}; run the same again")
    return sha256


def _install(files: Path, place: Path, options: ImportOptions, origin: dict[str, Any]) -> None:
    """Check a model of ours and copy it; import any other."""
    with fresh_folder(place) as fresh:
        if "format_version" in read_json(files, CONFIG):
            manifest = read_manifest(files)
            check_weights(files, manifest)
            open_tokenizers(files, manifest.tokenizer)
            for file in files.iterdir():
                if file.is_file() and file.suffix not in _PICKLES:
                    shutil.copyfile(file, fresh / file.name)
        else:
            fresh.rmdir()
            formats.import_model(files, fresh, **asdict(options))
        write_file(fresh / ORIGIN, json.dumps(origin, indent=1).encode())
        replace_files(fresh, place, last=CONFIG)


def push(folder: Path, repository: str, *, revision: str = "", private: bool = False) -> str:
    """Put a model folder into a repository, which is made if needed; returns the commit's address."""
    check_weights(folder, manifest := read_manifest(folder))
    with _client(HUB + repository, "log in with  hf auth login, or check the name") as client:
        api = client.HfApi()
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository,
            folder_path=folder,
            revision=revision or None,
            allow_patterns=[CONFIG, WEIGHTS, CARD, SUMS, *manifest.tokenizer.names, "*.onnx", "*.png"],
            commit_message=f"{folder.resolve().name}, a model of regard",
        )
    return str(commit.commit_url)

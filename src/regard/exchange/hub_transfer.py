"""Archives of models, and repositories of the Hugging Face hub through its own client.

An archive gives plain files under plain names. Nothing is written outside the folder, no link is followed, and a file
that may hold a program (a pickle) is left out unless the user asks for it.
"""

from __future__ import annotations

import hashlib
import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from regard.data.download import digest
from regard.errors import MissingExtra, ModelError
from regard.exchange.huggingface_weights import PICKLED
from regard.folder.checkpoint import CARD, SUMS, WEIGHTS, check_weights
from regard.folder.manifest import CONFIG, read_manifest

ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar", ".zip")
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack")
"""suffixes of files that may hold a program"""
_MAX_EXPANSION = 50
"""times the archive's size; weights hardly shrink when they are packed"""
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_MODEL_FILES = (
    *("*.json", "*.safetensors", "*.model", "*.spm", "*.txt", "*.onnx", CARD, SUMS),
    *("tokenizer*", "vocab*", "merges*"),
)
"""patterns of the files that are downloaded from a repository"""


def unpack(archive: Path, folder: Path, *, wants_pickle: bool = False) -> None:
    """The files of an archive, all at its top or all in one folder of it, into an empty folder."""
    room = _MAX_EXPANSION * archive.stat().st_size
    try:
        with _members(archive) as members:
            for name, size, content in members:
                path = PurePosixPath(name)
                if len([part for part in path.parts if part != "."]) > 2 or ".." in path.parts:
                    raise ModelError(
                        f"{archive.name} must hold a model's files, in one folder at most: it holds "
                        f"{name!r}; get another"
                    )
                if path.suffix in PICKLES and not wants_pickle:
                    continue
                room -= size
                if room < 0:
                    raise ModelError(
                        f"{archive.name} must not hold more than {_MAX_EXPANSION} times its size: it does; "
                        "get another"
                    )
                with (folder / path.name).open("xb") as file:
                    shutil.copyfileobj(content, file)
    except _BROKEN as error:
        raise ModelError(
            f"{archive.name} must be an intact archive: {error}; get it again"
        ) from error
    except FileExistsError as error:
        raise ModelError(
            f"{archive.name} must hold a file once: two are called {Path(str(error.filename)).name}; get another"
        ) from error


@contextmanager
def _members(archive: Path) -> Iterator[Iterator[tuple[str, int, IO[bytes]]]]:
    """Name, size and content of each plain file."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            yield (
                (info.filename, info.file_size, zipped.open(info))
                for info in zipped.infolist()
                # neither a link nor a device
                if not info.is_dir() and info.external_attr >> 28 in (0, 8)
            )
    else:
        with tarfile.open(archive) as tar:
            yield (
                (info.name, info.size, content)
                for info in tar
                if info.isfile() and (content := tar.extractfile(info)) is not None
            )


def _client() -> Any:
    try:
        import huggingface_hub
    except ModuleNotFoundError as error:
        raise MissingExtra("huggingface-hub", "hub", "reaching the Hugging Face hub") from error
    return huggingface_hub


def download_repository(
    repository: str, revision: str, folder: Path, *, wants_pickle: bool = False
) -> dict[str, Any]:
    """Download a revision, each file with the hub's checksum; returns where it came from."""
    client = _client()
    patterns = [*_MODEL_FILES, *([PICKLED] if wants_pickle else [])]
    try:
        info = client.HfApi().model_info(repository, revision=revision or None, files_metadata=True)
        options: dict[str, Any] = dict(local_dir=folder, allow_patterns=patterns)
        client.snapshot_download(repository, revision=info.sha, **options)
    except (client.errors.HfHubHTTPError, client.errors.LocalEntryNotFoundError, OSError) as error:
        where = f"{repository}@{revision}" if revision else repository
        raise ModelError(
            f"hf:{where} must be reachable on the hub: {_first_line(error)}; check the name and the connection, "
            "then run the same again to go on"
        ) from error
    except client.errors.HFValidationError as error:
        raise ModelError(f"hf:{repository} must be a repository: {error}") from error
    files = [(folder / sibling.rfilename, sibling) for sibling in info.siblings]
    got = [(file, sibling) for file, sibling in files if file.parent == folder and file.is_file()]
    checksums = {file.name: _checked(file, sibling) for file, sibling in got}
    return {"from": f"hf:{repository}", "revision": info.sha, "files": checksums}


def _first_line(error: Exception) -> str:
    return next(filter(None, map(str.strip, str(error).splitlines())), "no reason given")


def _checked(file: Path, sibling: Any) -> str:
    """The sha256 of a file; it must have the hub's sha256, or the hub's git hash for a small file."""
    sha256 = digest(file)
    if sibling.lfs is not None:
        expected, found = sibling.lfs.sha256, sha256
    else:
        blob = f"blob {file.stat().st_size}\0".encode() + file.read_bytes()
        found = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
        expected = sibling.blob_id or found
    if expected != found:
        file.unlink()
        raise ModelError(
            f"{file.name} must have the checksum {expected} that the hub gives: got {found}; run the same again"
        )
    return sha256


def push(folder: Path, repository: str, *, revision: str = "", private: bool = False) -> str:
    """Put a model folder into a repository, which is made if needed; returns the commit's address."""
    client, manifest = _client(), read_manifest(folder)
    check_weights(folder, manifest)
    api = client.HfApi()
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository,
            folder_path=folder,
            revision=revision or None,
            allow_patterns=[CONFIG, WEIGHTS, CARD, SUMS, *manifest.tokenizer.names, "*.onnx"],
            commit_message=f"{folder.resolve().name}, a model of regard",
        )
    except (client.errors.HfHubHTTPError, OSError, ValueError) as error:
        raise ModelError(
            f"hf:{repository} must take the model: {_first_line(error)}; log in with  hf auth login, or check the name"
        ) from error
    return str(commit.commit_url)

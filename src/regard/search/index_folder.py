"""An index saved in a folder for the next search.

index/   index.json      the files that were read, their passages, the model's fingerprint, checksums
         vectors-….f32   a row for each passage, memory-mapped

The vectors get a new name, and index.json, which names them, is replaced last: an interrupted update changes nothing. A
damaged index is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError, RegardWarning, UsageError
from regard.files import sync, temporary_path, try_lock, write_file
from regard.search.encoder import OnProgress, TextEncoder
from regard.search.index import VECTORS, Index, IndexedFile, build
from regard.search.passages import Passage

FORMAT_VERSION = 3
INDEX = "index.json"
LOCK = ".lock"
_VECTORS_NAME = "vectors-"
_RETRY_SECONDS = 0.1
"""seconds between two tries to lock the index"""


def update(
    folder: Path,
    encoder: TextEncoder,
    named: Sequence[str | Path],
    *,
    encoding: str | None = None,
    progress: OnProgress = lambda done, total: None,
    say: Callable[[str], None] = lambda text: None,
) -> Index:
    """Update the index in a folder to these files, and save it."""
    _check_folder(folder)
    with locked(folder, say):
        try:
            known = load(folder)
        except DataError as error:
            warnings.warn(f"{error}; it is made anew", RegardWarning, stacklevel=3)
            known = None
        index = build(encoder, named, known, encoding=encoding, progress=progress)
        if known is None or index.num_read or index.entries != known.entries:
            save(folder, index)
            kept = load(folder) or index
            index = replace(kept, num_read=index.num_read, left_out=index.left_out)
    return index


def load(folder: Path) -> Index | None:
    """The index in a folder; None where there is none."""
    path = folder / INDEX
    for _ in range(3):
        try:
            described = json.loads(path.read_bytes())
            return _load(folder, described)
        except FileNotFoundError as error:
            if error.filename == str(path):
                return None
            # Another process has just replaced it.
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"the index in {folder} is damaged ({error})") from error
    raise DataError(f"the index in {folder} is damaged (a file of it is missing)")


def _load(folder: Path, described: dict[str, Any]) -> Index:
    if described["format_version"] != FORMAT_VERSION:
        raise ValueError(f"it has the format {described['format_version']!r}")
    rows, path = described["passages"], folder / Path(described["vectors"]).name
    if _checksum(rows, path) != described["checksum"]:
        raise ValueError("it is not what was written")
    shape = len(rows), described["width"]
    # An empty file cannot be mapped.
    vectors = np.memmap(path, "<f4", "r", shape=shape) if rows else np.zeros(shape)
    entries = [IndexedFile(**entry) for entry in described["files"]]
    return Index(entries, [Passage(*row) for row in rows], vectors, described["fingerprint"])


def save(folder: Path, index: Index) -> None:
    """Write the vectors, then index.json; then delete older vectors."""
    vectors = folder / f"{_VECTORS_NAME}{time.time_ns():x}{VECTORS}"
    fresh = temporary_path(vectors)
    with open(fresh, "wb") as file:
        file.write(
            np.ascontiguousarray(index.vectors, "<f4").data.cast("B") if index.passages else b""
        )
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, vectors)
    rows = [list(passage) for passage in index.passages]
    described = {
        "format_version": FORMAT_VERSION,
        "fingerprint": index.fingerprint,
        "width": index.vectors.shape[1],
        "vectors": vectors.name,
        "checksum": _checksum(rows, vectors),
        "files": [asdict(entry) for entry in index.entries],
        "passages": rows,
    }
    sync(folder)
    write_file(folder / INDEX, json.dumps(described).encode())
    sync(folder)
    for path in folder.iterdir():
        if path != vectors and path.name.lstrip(".").startswith(_VECTORS_NAME):
            with contextlib.suppress(OSError):  # still being read
                path.unlink()


def _is_ours(name: str) -> bool:
    # index.json may be in writing by another process, or left by one that was killed.
    is_vectors = name.lstrip(".").startswith(_VECTORS_NAME)
    return is_vectors or name in (LOCK, INDEX, temporary_path(Path(INDEX)).name)


def _checksum(rows: list[list[Any]], vectors: Path) -> str:
    """Of the passages, each a line number and a text, and of the vectors."""
    found = zlib.crc32("\n".join(f"{line} {text}" for line, text in rows).encode())
    with open(vectors, "rb") as file:
        while data := file.read(1 << 22):
            found = zlib.crc32(data, found)
    return f"crc32:{found:08x}"


def _check_folder(folder: Path) -> None:
    """Refuse a folder with other files."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--index must be a folder: {folder} is a file; name another")
    if folder.is_dir() and not (folder / INDEX).exists():
        names = sorted(path.name for path in folder.iterdir())
        if foreign := [name for name in names if not _is_ours(name)]:
            raise UsageError(
                f"--index must be a new folder or an index: {folder} holds {foreign[0]}; name another"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--index must be a folder that can be written: {folder}: {error.strerror}; name another"
        ) from error


@contextmanager
def locked(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """A lock: one process updates an index, the others wait."""
    waits = False
    while True:
        try:
            with try_lock(folder / LOCK) as is_held:
                if is_held:
                    yield
                    return
        except PermissionError as error:
            raise UsageError(
                f"--index must be a folder that can be written: {folder}: {error.strerror}; name another"
            ) from error
        if not waits:
            say(f"another process updates {folder}: waiting for it")
            waits = True
        time.sleep(_RETRY_SECONDS)

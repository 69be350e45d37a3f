"""An index saved in a folder for the next search.

index/   index.json          the files that were read, the model's fingerprint, checksums of the other two
         passages-….jsonl    a line for each passage: its line number and its text
         vectors-….f32       a row for each passage, memory-mapped

The two large files get new names, and index.json, which names them, is replaced last: an interrupted update changes
nothing. A damaged index is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    paths = {kind: folder / Path(described[kind]["name"]).name for kind in ("passages", "vectors")}
    for kind, path in paths.items():
        if _checksum(path) != described[kind]["checksum"]:
            raise ValueError(f"{path.name} is not what was written")
    passages = [Passage(*json.loads(line)) for line in paths["passages"].read_bytes().splitlines()]
    shape = len(passages), described["width"]
    if paths["vectors"].stat().st_size != 4 * shape[0] * shape[1]:
        raise ValueError("there is not a vector for each passage")
    # An empty file cannot be mapped.
    vectors = np.memmap(paths["vectors"], "<f4", "r", shape=shape) if passages else np.zeros(shape)
    entries = [IndexedFile(**entry) for entry in described["files"]]
    return Index(entries, passages, vectors, described["fingerprint"])


def save(folder: Path, index: Index) -> None:
    """Write the two large files, then index.json; then delete older files."""
    name = f"{time.time_ns():x}"
    passages, vectors = folder / f"passages-{name}.jsonl", folder / f"vectors-{name}{VECTORS}"
    write_file(passages, _lines(index.passages))
    fresh = temporary_path(vectors)
    with open(fresh, "wb") as file:
        file.write(
            np.ascontiguousarray(index.vectors, "<f4").data.cast("B") if index.passages else b""
        )
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, vectors)
    described = {
        "format_version": FORMAT_VERSION,
        "fingerprint": index.fingerprint,
        "width": index.vectors.shape[1],
        "passages": {"name": passages.name, "checksum": _checksum(passages)},
        "vectors": {"name": vectors.name, "checksum": _checksum(vectors)},
        "files": [asdict(entry) for entry in index.entries],
    }
    sync(folder)
    write_file(folder / INDEX, json.dumps(described, ensure_ascii=False, indent=1).encode())
    sync(folder)
    for path in folder.iterdir():
        if _is_large(path.name) and path not in (passages, vectors):
            with contextlib.suppress(OSError):  # still being read
                path.unlink()


def _lines(passages: Iterable[Passage]) -> bytes:
    # ASCII, because some characters of a text would end a line.
    return "".join(json.dumps(list(passage)) + "\n" for passage in passages).encode()


def _is_large(name: str) -> bool:
    return name.lstrip(".").startswith(("passages-", "vectors-"))


def _is_ours(name: str) -> bool:
    # index.json may be in writing by another process, or left by one that was killed.
    return name in (LOCK, INDEX, temporary_path(Path(INDEX)).name) or _is_large(name)


def _checksum(path: Path) -> str:
    found = 0
    with open(path, "rb") as file:
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

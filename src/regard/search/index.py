"""The index of a search: the passages of files and folders, and their vectors, in memory or in a folder.

index/   index.json      the files that were read, their passages, the model's fingerprint, checksums
         vectors-….f32   a row for each passage, memory-mapped

The model reads only passages that the index does not have yet. The vectors get a new name, and index.json, which names
them, is replaced last: an interrupted update changes nothing. A damaged index is made anew.
"""

import contextlib
import json
import os
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError, RegardWarning, UsageError
from regard.files import sync, try_lock, write_file
from regard.search.encoder import OnProgress, TextEncoder
from regard.search.passages import MAX_TOKENS, Passage, read_passages

FORMAT_VERSION = 3
INDEX = "index.json"
MAX_BYTES = 1 << 26  # size of the largest file that is read
_LOCK = ".lock"
_VECTORS_PREFIX, _VECTORS_SUFFIX = "vectors-", ".f32"
_RETRY_SECONDS = 0.1  # seconds between two tries to lock the index

_NOT_TEXT = frozenset(Path(__file__).with_name("not_text.txt").read_text("utf-8").split())
_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules"))


@dataclass(frozen=True, slots=True)
class IndexedFile:
    path: str
    size: int
    modified: int  # modification time in nanoseconds
    encoding: str | None  # encoding given by the user
    start: int  # row of its first passage
    num_passages: int


@dataclass(frozen=True)
class Index:
    entries: list[IndexedFile]
    passages: list[Passage]
    vectors: np.ndarray  # [passages, features]
    fingerprint: str  # fingerprint of the model that made the vectors
    num_read: int = 0  # passages that the model read in this run
    left_out: list[str] = field(default_factory=list)  # files that could not be read, with the reason

    def path_of(self, row: int) -> str:
        """The file of a passage."""
        return next(each.path for each in self.entries if row < each.start + each.num_passages)


def build(
    encoder: TextEncoder,
    named: Sequence[str | Path],
    known: Index | None = None,
    *,
    encoding: str | None = None,
    progress: OnProgress = lambda done, total: None,
) -> Index:
    """The index of these files and folders; passages of `known` keep their vectors."""
    if known is None or known.fingerprint != encoder.fingerprint:
        none = np.zeros((0, encoder.width), np.float32)
        known = Index([], [], none, encoder.fingerprint)
    before = {each.path: each for each in known.entries}
    entries: list[IndexedFile] = []
    passages: list[Passage] = []
    left_out: list[str] = []
    for path in find_files(named):
        try:
            status = path.stat()
            file = IndexedFile(str(path), status.st_size, status.st_mtime_ns, encoding, len(passages), 0)
            earlier = before.get(file.path)
            if earlier and replace(earlier, start=file.start, num_passages=0) == file:
                found = known.passages[earlier.start : earlier.start + earlier.num_passages]
            else:
                found = _read(path, file, encoder)
        except (DataError, OSError) as error:
            left_out.append(f"{path}: {getattr(error, 'strerror', error)}")
            continue
        entries.append(replace(file, num_passages=len(found)))
        passages += found
    if passages == known.passages:
        return replace(known, entries=entries, num_read=0, left_out=left_out)
    rows = {passage.text: row for row, passage in enumerate(known.passages)}
    origins = np.array([rows.get(passage.text, -1) for passage in passages], np.int64)
    vectors = np.empty((len(passages), encoder.width), np.float32)
    [old], [new] = np.nonzero(origins >= 0), np.nonzero(origins < 0)
    vectors[old] = known.vectors[origins[old]]
    vectors[new] = encoder.vectors([passages[row].text for row in new], progress)
    return Index(entries, passages, vectors, known.fingerprint, len(new), left_out)


def _read(path: Path, file: IndexedFile, encoder: TextEncoder) -> list[Passage]:
    if file.size > MAX_BYTES:
        raise DataError(f"it must have at most {MAX_BYTES >> 20} MiB: it has {file.size >> 20}")
    data, suffix, most = path.read_bytes(), path.suffix.lower(), min(MAX_TOKENS, encoder.longest)
    language = encoder.manifest.source_language
    return read_passages(data, suffix, encoder.count, most, language=language, encoding=file.encoding)


def find_files(named: Sequence[str | Path]) -> list[Path]:
    """The files to read, each once, in a stable order.

    In folders, hidden files, indexes and files whose suffix is not of text are left out; a file that is named is read.
    """
    found: dict[Path, None] = {}
    for each in map(Path, named):
        if each.is_dir():
            found |= dict.fromkeys(_inside(each))
        elif each.is_file():
            found[each] = None
        else:
            raise UsageError(f"{each} must be a file or a folder: there is none; check its name")
    return list(found)


def _inside(folder: Path) -> Iterator[Path]:
    """Links to folders are not followed: they may be circular."""
    for parent, folders, names in os.walk(folder):
        if any(name.endswith(_VECTORS_SUFFIX) for name in names):
            folders.clear()  # an index, which repeats the passages
            continue
        folders[:] = sorted(each for each in folders if each[0] != "." and each not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(parent) / name
            if name[0] != "." and path.suffix.lower() not in _NOT_TEXT and path.is_file():
                yield path


def update(folder: Path, encoder: TextEncoder, named: Sequence[str | Path], **options: Any) -> Index:
    """Update the index in a folder to these files, and save it; the options are those of `build`."""
    with locked(folder):
        try:
            known = load(folder)
        except DataError as error:
            warnings.warn(f"{error}; it is made anew", RegardWarning, stacklevel=3)
            known = None
        index = build(encoder, named, known, **options)
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
            return _load(folder, json.loads(path.read_bytes()))
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
        raise ValueError("its checksum does not match")
    shape = len(rows), described["width"]
    # An empty file cannot be mapped.
    vectors = np.memmap(path, "<f4", "r", shape=shape) if rows else np.zeros(shape)
    entries = [IndexedFile(**entry) for entry in described["files"]]
    return Index(entries, [Passage(*row) for row in rows], vectors, described["fingerprint"])


def save(folder: Path, index: Index) -> None:
    """Write the vectors, then index.json; then delete older vectors."""
    vectors = folder / f"{_VECTORS_PREFIX}{time.time_ns():x}{_VECTORS_SUFFIX}"
    # Not as bytes, which would be a copy of them all.
    write_file(vectors, np.ascontiguousarray(index.vectors, "<f4").reshape(-1).data)
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
        if path != vectors and path.name.lstrip(".").startswith(_VECTORS_PREFIX):
            with contextlib.suppress(OSError):  # still being read
                path.unlink()


def _checksum(rows: list[list[Any]], vectors: Path) -> str:
    """Of the passages, each a line number and a text, and of the vectors."""
    found = zlib.crc32("\n".join(f"{line} {text}" for line, text in rows).encode())
    with open(vectors, "rb") as file:
        while data := file.read(1 << 22):
            found = zlib.crc32(data, found)
    return f"crc32:{found:08x}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A lock: one process updates an index, the others wait. A folder with other files is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
        (folder / _LOCK).touch()
    except OSError as error:
        problem = f"{folder}: {error.strerror}; name another"
        raise UsageError(f"--index must be a folder that can be written: {problem}") from error
    foreign = [name for name in names if not name.startswith((".", _VECTORS_PREFIX))]
    if foreign and INDEX not in foreign:
        (folder / _LOCK).unlink()
        raise UsageError(f"--index must be a new folder or an index: {folder} holds {foreign[0]}; name another")
    while True:
        with try_lock(folder / _LOCK) as is_held:
            if is_held:
                yield
                return
        time.sleep(_RETRY_SECONDS)

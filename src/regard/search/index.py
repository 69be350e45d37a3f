"""The index of a search: the passages of files and folders, and their vectors.

The model reads only passages that the index does not have yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from regard.errors import DataError, UsageError
from regard.search.encoder import OnProgress, TextEncoder
from regard.search.passages import Passage, read_passages

MOST_BYTES = 1 << 26
"""size of the largest file that is read"""

VECTORS = ".f32"
"""suffix of the vectors of an index folder"""

_NOT_TEXT = frozenset(
    ".7z .avi .bin .bmp .bz2 .class .dll .doc .docx .dylib .exe .flac .gif .gz .ico .jar .jpeg .jpg .lock .mkv .mo "
    ".mov .mp3 .mp4 .npy .npz .o .odp .ods .odt .ogg .onnx .otf .parquet .pdf .pickle .pkl .png .ppt .pptx .pt "
    ".pyc .rar .safetensors .so .sqlite .tar .tgz .tiff .ttf .wav .webm .webp .woff .woff2 .xls .xlsx .xz .zip "
    ".zst".split()
)
_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules"))


@dataclass(frozen=True, slots=True)
class IndexedFile:
    path: str
    size: int
    modified: int
    """modification time in nanoseconds"""
    encoding: str | None
    """encoding given by the user"""
    start: int
    """row of its first passage"""
    num_passages: int


@dataclass(frozen=True)
class Index:
    entries: list[IndexedFile]
    passages: list[Passage]
    vectors: np.ndarray
    """[passages, features]"""
    fingerprint: str
    """fingerprint of the model that made the vectors"""
    num_read: int = 0
    """passages that the model read in this run"""
    left_out: list[str] = field(default_factory=list)
    """files that could not be read, with the reason"""

    def entry_of(self, number: int) -> IndexedFile:
        """The file of a passage."""
        return next(each for each in self.entries if number < each.start + each.num_passages)


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
            file = IndexedFile(
                str(path), status.st_size, status.st_mtime_ns, encoding, len(passages), 0
            )
            earlier = before.get(file.path)
            if earlier and replace(earlier, start=file.start, num_passages=0) == file:
                found = known.passages[earlier.start : earlier.start + earlier.num_passages]
            else:
                found = _read(path, file, encoder)
        except (DataError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            left_out.append(f"{path}: {reason}")
            continue
        entries.append(replace(file, num_passages=len(found)))
        passages += found
    if passages == known.passages:
        return Index(entries, passages, known.vectors, known.fingerprint, 0, left_out)
    rows = {passage.text: row for row, passage in enumerate(known.passages)}
    origins = np.array([rows.get(passage.text, -1) for passage in passages], np.int64)
    vectors = np.empty((len(passages), encoder.width), np.float32)
    [old], [new] = np.nonzero(origins >= 0), np.nonzero(origins < 0)
    vectors[old] = known.vectors[origins[old]]
    vectors[new] = encoder.vectors([passages[row].text for row in new], progress)
    return Index(entries, passages, vectors, known.fingerprint, len(new), left_out)


def _read(path: Path, file: IndexedFile, encoder: TextEncoder) -> list[Passage]:
    if file.size > MOST_BYTES:
        raise DataError(f"it must have at most {MOST_BYTES >> 20} MiB: it has {file.size >> 20}")
    return read_passages(
        path.read_bytes(),
        path.suffix.lower(),
        encoder.count,
        encoder.max_passage,
        language=encoder.manifest.source_language,
        encoding=file.encoding,
    )


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
        if any(name.endswith(VECTORS) for name in names):
            folders.clear()  # an index, which repeats the passages
            continue
        folders[:] = sorted(
            each for each in folders if each[0] != "." and each not in _SKIPPED_FOLDERS
        )
        for name in sorted(names):
            path = Path(parent) / name
            if name[0] != "." and path.suffix.lower() not in _NOT_TEXT and path.is_file():
                yield path

"""The passages of some files, and their vectors.

A file that has not changed is not read by the model again, wherever it lies now; what a file no longer holds is gone
from the index.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from regard.errors import DataError
from regard.search.files import MOST_BYTES, find_files
from regard.search.passages import Passage, read_passages
from regard.search.reading import Progress, Reader


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that was read."""

    path: str
    size: int
    modified: int
    """nanoseconds"""
    sha256: str
    encoding: str | None
    """that the user said it has"""
    start: int
    """number of its first passage"""
    num_passages: int


@dataclass(frozen=True)
class Index:
    """What can be searched."""

    entries: list[Entry]
    passages: list[Passage]
    vectors: np.ndarray
    fingerprint: str
    """of the model that made the vectors"""
    num_read: int = 0
    """passages that the model had to read for it"""
    left_out: list[str] = field(default_factory=list)
    """files that could not be read, with the reason"""

    def entry_of(self, number: int) -> Entry:
        """The file that a passage stands in."""
        return next(
            entry
            for entry in self.entries
            if entry.start <= number < entry.start + entry.num_passages
        )


def build(
    reader: Reader,
    named: Sequence[str | Path],
    known: Index | None = None,
    *,
    encoding: str | None = None,
    progress: Progress = lambda done, total: None,
) -> Index:
    """The index of these files and folders; what `known` has of them is not read again."""
    fingerprint = reader.fingerprint
    if known is not None and known.fingerprint != fingerprint:
        known = None
    entries: list[Entry] = []
    passages: list[Passage] = []
    origins: list[int] = []
    left_out: list[str] = []
    by_path, by_content = _tables(known)
    for path in find_files(named):
        try:
            entry, found = _read(path, reader, by_path, by_content, encoding)
        except (DataError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            left_out.append(f"{path}: {reason}")
            continue
        if found is None:
            assert known is not None
            earlier = by_content[entry.sha256]
            numbers = range(earlier.start, earlier.start + earlier.num_passages)
            found = [known.passages[number] for number in numbers]
            origins += numbers
        else:
            origins += [-1] * len(found)
        entries.append(replace(entry, start=len(passages), num_passages=len(found)))
        passages += found
    vectors, num_read = _vectors(reader, passages, origins, known, progress)
    return Index(entries, passages, vectors, fingerprint, num_read, left_out)


def _vectors(
    reader: Reader,
    passages: Sequence[Passage],
    origins: Sequence[int],
    known: Index | None,
    progress: Progress,
) -> tuple[np.ndarray, int]:
    """A vector for each passage, and how many the model had to read; `origins` are their numbers in the known."""
    if known is not None and list(origins) == list(range(len(known.passages))):
        return known.vectors, 0
    new = [place for place, origin in enumerate(origins) if origin < 0]
    kept = [place for place, origin in enumerate(origins) if origin >= 0]
    vectors = np.empty((len(passages), reader.width), np.float32)
    vectors[new] = reader.vectors([passages[place].text for place in new], progress)
    if kept:
        assert known is not None
        vectors[kept] = known.vectors[[origins[place] for place in kept]]
    return vectors, len(new)


def _tables(known: Index | None) -> tuple[dict[str, Entry], dict[str, Entry]]:
    entries = [] if known is None else known.entries
    return {each.path: each for each in entries}, {each.sha256: each for each in entries}


def _read(
    path: Path,
    reader: Reader,
    by_path: dict[str, Entry],
    by_content: dict[str, Entry],
    encoding: str | None,
) -> tuple[Entry, list[Passage] | None]:
    """What is known of a file as it is now, and its passages unless they are known as well."""
    status = path.stat()
    before = by_path.get(str(path))
    now = (status.st_size, status.st_mtime_ns, encoding)
    if before and (before.size, before.modified, before.encoding) == now:
        return before, None
    if status.st_size > MOST_BYTES:
        raise DataError(
            f"it must have at most {MOST_BYTES >> 20} MiB: it has {status.st_size >> 20}"
        )
    data = path.read_bytes()
    # How a file is read depends on its name and on the encoding, not on its bytes alone.
    suffix = path.suffix.lower()
    digest = hashlib.sha256(f"{suffix} {encoding}\n".encode() + data).hexdigest()
    entry = Entry(str(path), status.st_size, status.st_mtime_ns, digest, encoding, 0, 0)
    if digest in by_content:
        return entry, None
    language = reader.manifest.source_language
    return entry, read_passages(
        data, suffix, reader.count, reader.most_pieces, language=language, encoding=encoding
    )

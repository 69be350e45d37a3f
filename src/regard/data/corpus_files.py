"""The files of a public corpus: fetched, checked and unpacked into a data folder, each whole or not at all.

data/multi30k/train.de.gz …   the files
data/checksums.json           their checksums, and those of the downloads: recorded once, then compared
data/.fetched/                downloads

Only the wanted members of an archive are read, as streams, and only regular files: nothing is written under a name that
an archive chooses.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import json
import lzma
import os
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from regard.data.download import Progress, digest, fetch
from regard.data.public_corpora import DataFile, PublicCorpus, Source
from regard.errors import DataError, UsageError
from regard.files import sync, temporary_path, write_file

CHECKSUMS = "checksums.json"
_FETCHED = ".fetched"


def obtain(
    corpus: PublicCorpus,
    folder: Path,
    *,
    accept: bool = False,
    say: Callable[[str], None] = lambda text: None,
    progress: Callable[[str], Progress] = lambda name: lambda done, total: None,
) -> list[Path]:
    """Fetch the files of a corpus; those that are there already are only checked.

    `accept` takes files whose checksum is not the known one. `progress` makes a progress bar for each download.
    """
    if not corpus.files:
        raise UsageError(
            f"{corpus.name} must be put together by hand from {corpus.home}: "
            "its publisher has no file of sentences; see what is there"
        )
    checksums = _Checksums(folder / CHECKSUMS, accept)
    for file in corpus.files:
        path = folder / file.path
        if path.exists():
            checksums.check(file.path, digest(path), f"{path}: remove it, and run the same again")
            say(f"{path} is there")
            continue
        for source in file.sources:
            _fetch(source, folder, checksums, progress)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = temporary_path(path)
        _make(file, folder, fresh)
        _check_text(file, fresh, accept)
        checksums.check(file.path, digest(fresh), f"{path}: its publisher has changed it")
        os.replace(fresh, path)
        sync(path.parent)
        say(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    for url in {source.url for file in corpus.files for source in file.sources}:
        _place_of(url, folder).unlink(missing_ok=True)
    if (folder / _FETCHED).is_dir() and not any((folder / _FETCHED).iterdir()):
        (folder / _FETCHED).rmdir()
    return [folder / file.path for file in corpus.files]


class _Checksums:
    """The checksums of earlier files, in a file."""

    def __init__(self, path: Path, accept: bool) -> None:
        self._path, self.accept = path, accept
        try:
            self.known: dict[str, str] = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            self.known = {}
        except ValueError as error:
            raise DataError(
                f"{path} must hold the checksums of earlier files: {error}; remove it"
            ) from error

    def check(self, name: str, found: str, otherwise: str) -> None:
        """Record a checksum, or compare it with the recorded one; `otherwise` explains a difference."""
        expected = self.known.get(name)
        if expected not in (None, found) and not self.accept:
            raise DataError(
                f"{name} must have the sha256 {expected} that it had before: got {found}; "
                f"{otherwise}, or take it as it is with --accept"
            )
        if expected != found:
            self.known[name] = found
            write_file(self._path, json.dumps(self.known, indent=1, sort_keys=True).encode())


def _fetch(
    source: Source, folder: Path, checksums: _Checksums, progress: Callable[[str], Progress]
) -> None:
    place = _place_of(source.url, folder)
    if place.exists():
        return
    checksum = "" if checksums.accept else source.checksum
    fetch(source.url, place, checksum=checksum, progress=progress(Path(source.url).name))
    checksums.check(source.url, digest(place), "its publisher has changed it")


def _place_of(url: str, folder: Path) -> Path:
    mark = hashlib.sha256(url.encode()).hexdigest()[:8]
    return folder / _FETCHED / f"{mark}-{Path(url).name}"


def _make(file: DataFile, folder: Path, fresh: Path) -> None:
    """Write the file under the name `fresh`, safely on the disk."""
    places = [_place_of(source.url, folder) for source in file.sources]
    source = file.sources[0]
    as_it_is = len(places) == 1 and not source.member and source.column is None
    with fresh.open("wb") as raw:
        if as_it_is:
            with places[0].open("rb") as fetched:
                shutil.copyfileobj(fetched, raw)
        elif file.path.endswith(".gz"):
            # No name and no time inside: the same text gives the same bytes.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                _write_lines(file, places, packed)
        else:
            _write_lines(file, places, raw)
        raw.flush()
        os.fsync(raw.fileno())


def _write_lines(file: DataFile, places: list[Path], output: BinaryIO | gzip.GzipFile) -> None:
    sides = [lines_of(place, source) for place, source in zip(places, file.sources, strict=True)]
    for number, lines in enumerate(itertools.zip_longest(*sides), start=1):
        texts = [line for line in lines if line is not None]
        if len(texts) < len(lines):
            raise DataError(
                f"the sides of {file.path} must have as many lines: one ends before line {number}; "
                f"its publisher may have changed it: see {file.sources[0].url}"
            )
        if len(texts) > 1:
            texts = [text.replace(b"\t", b" ") for text in texts]
        output.write(b"\t".join(texts) + b"\n")


def _check_text(file: DataFile, fresh: Path, accept: bool) -> None:
    if not file.text_sha256 or accept:
        return
    with gzip.open(fresh) if file.path.endswith(".gz") else fresh.open("rb") as text:
        found = hashlib.file_digest(cast(io.BufferedIOBase, text), "sha256").hexdigest()
    if found != file.text_sha256:
        fresh.unlink()
        raise DataError(
            f"the text of {file.path} must have the sha256 {file.text_sha256}: got {found}; "
            f"{file.sources[0].url} has changed: take it as it is with --accept"
        )


MOST_BYTES = 1 << 24
"""maximum bytes of a line; a small archive can hold an endless one"""
_SEGMENT = re.compile(rb"<seg[^<>]*>((?:[^<]|<(?!/?seg))*+)</seg>")
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def lines_of(fetched: Path, source: Source) -> Iterator[bytes]:
    """The lines of a source without their ends."""
    try:
        with _opened(fetched, source) as file:
            while line := file.readline(MOST_BYTES):
                if len(line) >= MOST_BYTES:  # of a member of a zip there may come more
                    raise DataError(
                        f"{source.url} must hold lines of text: one has {MOST_BYTES:,} bytes or more; "
                        f"remove {fetched}, and tell its publisher"
                    )
                line = line.rstrip(b"\r\n")
                if source.member.endswith(".sgm"):
                    if found := _SEGMENT.search(line):
                        yield found[1].strip()
                elif source.column is None:
                    yield line
                else:
                    # A line with too few columns is an empty one.
                    yield (line.split(b"\t")[source.column : source.column + 1] or [b""])[0]
    except _BROKEN as error:
        raise DataError(
            f"{source.url} must be an intact file: {error}; remove {fetched} and run the same again"
        ) from error


@contextmanager
def _opened(fetched: Path, source: Source) -> Iterator[IO[bytes]]:
    if not source.member:
        packed = source.url.endswith(".gz")
        with gzip.open(fetched) if packed else fetched.open("rb") as text:
            yield cast(IO[bytes], text)
    elif source.url.endswith(".zip"):
        with zipfile.ZipFile(fetched) as archive:
            if source.member not in archive.namelist():
                raise _missing(source)
            with archive.open(source.member) as file:
                yield file
    else:
        with tarfile.open(fetched) as tar:
            try:
                member = tar.getmember(source.member)
            except KeyError:
                raise _missing(source) from None
            member_file = tar.extractfile(member) if member.isfile() else None
            if member_file is None:
                raise _missing(source)
            with member_file:
                yield member_file


def _missing(source: Source) -> DataError:
    return DataError(
        f"{source.url} must hold the file {source.member}: it has none; "
        "its publisher may have changed it: get it by hand, and name its folder with --data"
    )

"""The public corpora of public_corpora.toml: fetched, checked and unpacked into a data folder, and found there.

data/multi30k/train.de.gz …   the files, each whole or not at all
data/checksums.json           their checksums, and those of the downloads: recorded once, then compared
data/.fetched/                downloads

Only the wanted members of an archive are read, as streams, and only regular files: nothing is written under a name that
an archive chooses.
"""

import functools
import gzip
import hashlib
import io
import itertools
import json
import os
import re
import shutil
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from regard.data.download import Progress, fetch
from regard.data.lines import DAMAGED
from regard.errors import DataError, UsageError, suggest
from regard.files import digest, sync, temporary_path, write_file

DATA = "data"
"""the folder in the file names of recipes, and where `regard data get` puts files unless told otherwise"""
CHECKSUMS = "checksums.json"
MAX_ARCHIVED_LINE = 1 << 24  # maximum bytes of a line; a small archive can hold one that never ends
_FETCHED = ".fetched"
_PACKED = ("", ".gz", ".xz")
_SEGMENT = re.compile(rb"<seg[^<>]*>((?:[^<]|<(?!/?seg))*+)</seg>")


@dataclass(frozen=True)
class Source:
    """Where lines come from: a file of the web, a member of an archive, or a column of either."""

    url: str
    member: str = ""
    column: int | None = None
    checksum: str = ""  # checksum of the file as published, such as md5:0a1b…

    def path(self, folder: Path) -> Path:
        """Where the download lies."""
        mark = hashlib.sha256(self.url.encode()).hexdigest()[:8]
        return folder / _FETCHED / f"{mark}-{Path(self.url).name}"


@dataclass(frozen=True)
class DataFile:
    """A file of the data folder: one source as it is, or two side by side with a TAB between them."""

    path: str
    sources: tuple[Source, ...]
    text_sha256: str = ""  # checksum of the unpacked text


@dataclass(frozen=True)
class PublicCorpus:
    name: str
    what: str
    used_for: str
    licence: str
    home: str
    megabytes: float | None = None  # about the size of the download
    files: tuple[DataFile, ...] = ()  # empty: the corpus has to be put together by hand from its home


def _read_corpora() -> tuple[PublicCorpus, ...]:
    found = []
    for corpus in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["corpus"]:
        files = []
        for file in corpus.pop("files", ()):
            sources = tuple(Source(**source) for source in file.pop("sources"))
            files.append(DataFile(**file, sources=sources))
        found.append(PublicCorpus(**corpus, files=tuple(files)))
    return tuple(found)


CORPORA = _read_corpora()


def find_corpus(name: str) -> PublicCorpus:
    names = [corpus.name for corpus in CORPORA]
    if name not in names:
        raise UsageError(f"a corpus must be one of {', '.join(names)}: got {name!r}{suggest(name, names)}")
    return CORPORA[names.index(name)]


def corpus_of(path: str) -> PublicCorpus | None:
    """The corpus that a file of a data folder belongs to."""
    return next((corpus for corpus in CORPORA if any(file.path == path for file in corpus.files)), None)


def find_file(name: str, folder: Path) -> str:
    """The file `data/…` of a recipe below a folder: under its name, or packed in another way."""
    path = re.split("[#@]", name.removeprefix(f"{DATA}/"))[0]
    label = name.removeprefix(f"{DATA}/{path}")
    plain = path.removesuffix(".gz").removesuffix(".xz")
    for each in (path, *(plain + ending for ending in _PACKED)):
        if (folder / each).is_file():
            return f"{folder / each}{label}"
    advice = "put it there, or"
    if corpus := corpus_of(path):
        advice = f"run  regard data get {corpus.name}, or"
    elif path.startswith("prepared/fr-en/"):
        advice = "make it with  python recipes/text/prepare.py FILES, or"
    raise DataError(
        f"the recipe reads {folder / path}, which must be there: it is not; "
        f"{advice} name the folder that holds {path} with --data"
    )


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
    check = functools.partial(_check, path=folder / CHECKSUMS, accept=accept)
    for file in corpus.files:
        path = folder / file.path
        if path.exists():
            check(file.path, digest(path), otherwise=f"{path}: remove it, and run the same again")
            say(f"{path} is there")
            continue
        for source in file.sources:
            fetched = source.path(folder)
            if not fetched.exists():
                bar = progress(Path(source.url).name)
                fetch(source.url, fetched, checksum="" if accept else source.checksum, progress=bar)
                check(source.url, digest(fetched), otherwise="its publisher has changed it")
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = temporary_path(path)
        _write_file(file, folder, fresh, accept)
        check(file.path, digest(fresh), otherwise=f"{path}: its publisher has changed it")
        os.replace(fresh, path)
        sync(path.parent)
        say(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    for source in {source for file in corpus.files for source in file.sources}:
        source.path(folder).unlink(missing_ok=True)
    if (folder / _FETCHED).is_dir() and not any((folder / _FETCHED).iterdir()):
        (folder / _FETCHED).rmdir()
    return [folder / file.path for file in corpus.files]


def _check(name: str, found: str, path: Path, accept: bool, otherwise: str) -> None:
    """Record a checksum in a file, or compare it with the recorded one; `otherwise` explains a difference."""
    known: dict[str, str] = json.loads(path.read_bytes()) if path.exists() else {}
    expected = known.get(name)
    if expected not in (None, found) and not accept:
        raise DataError(
            f"{name} must have the sha256 {expected} that it had before: got {found}; "
            f"{otherwise}, or take it as it is with --accept"
        )
    if expected != found:
        write_file(path, json.dumps({**known, name: found}, indent=1, sort_keys=True).encode())


def _write_file(file: DataFile, folder: Path, fresh: Path, accept: bool) -> None:
    """Write the file under the name `fresh`, safely on the disk."""
    first = file.sources[0]
    is_packed = file.path.endswith(".gz")
    with fresh.open("wb") as raw:
        if len(file.sources) == 1 and not first.member and first.column is None:
            with first.path(folder).open("rb") as fetched:
                shutil.copyfileobj(fetched, raw)
        elif is_packed:
            # No name and no time inside: the same text gives the same bytes.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                _write_lines(file, folder, packed)
        else:
            _write_lines(file, folder, raw)
        raw.flush()
        os.fsync(raw.fileno())
    if not file.text_sha256 or accept:
        return
    with gzip.open(fresh) if is_packed else fresh.open("rb") as text:
        found = hashlib.file_digest(cast(io.BufferedIOBase, text), "sha256").hexdigest()
    if found != file.text_sha256:
        fresh.unlink()
        raise DataError(
            f"the text of {file.path} must have the sha256 {file.text_sha256}: got {found}; "
            f"{first.url} has changed: take it as it is with --accept"
        )


def _write_lines(file: DataFile, folder: Path, output: BinaryIO | gzip.GzipFile) -> None:
    sides = [_lines_of(source, folder) for source in file.sources]
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


def _lines_of(source: Source, folder: Path) -> Iterator[bytes]:
    """The lines of a source without their ends."""
    fetched = source.path(folder)
    try:
        with _opened(fetched, source) as file:
            while line := file.readline(MAX_ARCHIVED_LINE):
                if len(line) >= MAX_ARCHIVED_LINE:  # of a member of a zip there may come more
                    raise DataError(
                        f"{source.url} must hold lines of text: one has {MAX_ARCHIVED_LINE:,} bytes or more; "
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
    except (*DAMAGED, tarfile.TarError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{source.url} must be an intact file: {error}; remove {fetched} and run the same again"
        ) from error


@contextmanager
def _opened(fetched: Path, source: Source) -> Iterator[IO[bytes]]:
    try:
        if not source.member:
            with gzip.open(fetched) if source.url.endswith(".gz") else fetched.open("rb") as text:
                yield cast(IO[bytes], text)
        elif source.url.endswith(".zip"):
            with zipfile.ZipFile(fetched) as archive, archive.open(source.member) as file:
                yield file
        else:
            with tarfile.open(fetched) as tar:
                member = tar.getmember(source.member)
                content = tar.extractfile(member) if member.isfile() else None
                if content is None:
                    raise KeyError(source.member)
                with content:
                    yield content
    except KeyError:  # of both kinds of archives
        raise DataError(
            f"{source.url} must hold the file {source.member}: it has none; "
            "its publisher may have changed it: get it by hand, and name its folder with --data"
        ) from None

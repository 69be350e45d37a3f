"""The files of an archive of a model: plain files alone, under plain names, none larger than it can be.

Nothing is written outside the folder, no link is followed, and a file that may hold a program (a pickle) is left where
it is unless it was asked for.
"""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from regard.errors import ModelError

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack")
"""kinds of files that are left out"""
MOST_EXPANSION = 50
"""times the archive's size; weights hardly shrink when they are packed"""
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)

Member = tuple[str, int, IO[bytes]]


def unpack(archive: Path, folder: Path, *, wants_pickle: bool = False) -> None:
    """The files of an archive, all at its top or all in one folder of it, into an empty folder."""
    room = MOST_EXPANSION * archive.stat().st_size
    try:
        with _members(archive) as members:
            for name, size, content in members:
                place = PurePosixPath(name)
                if len([part for part in place.parts if part != "."]) > 2 or ".." in place.parts:
                    raise ModelError(
                        f"{archive.name} must hold a model's files, in one folder at most: it holds "
                        f"{name!r}; get another"
                    )
                if place.suffix in PICKLES and not wants_pickle:
                    continue
                room -= size
                if room < 0:
                    raise ModelError(
                        f"{archive.name} must not hold more than {MOST_EXPANSION} times its size: it does; "
                        "get another"
                    )
                with (folder / place.name).open("xb") as file:
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
def _members(archive: Path) -> Iterator[Iterator[Member]]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            yield _of_zip(zipped)
    else:
        with tarfile.open(archive) as tar:
            yield _of_tar(tar)


def _of_zip(zipped: zipfile.ZipFile) -> Iterator[Member]:
    for info in zipped.infolist():
        is_plain = (info.external_attr >> 28) in (0, 8)  # neither a link nor a device
        if not info.is_dir() and is_plain:
            with zipped.open(info) as content:
                yield info.filename, info.file_size, content


def _of_tar(tar: tarfile.TarFile) -> Iterator[Member]:
    for info in tar:
        if info.isfile():
            content = tar.extractfile(info)
            assert content is not None
            yield info.name, info.size, content

"""One trainer a folder: a lock that the system lets go of, however the process that holds it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from regard.errors import TrainingError

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or refuse where another process holds it."""
    path = folder / LOCK
    file = _take(path)
    while not _is_file_of(file, path):
        # Who held it has removed the file since it was opened here; the next one would lock a new file.
        file.close()
        file = _take(path)
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _take(path: Path) -> BinaryIO:
    try:
        file = path.open("a+b")
    except OSError as error:
        raise TrainingError(
            f"{path.parent} must be a folder that can be written: {error.strerror}; name another --output"
        ) from error
    try:
        _lock(file.fileno())
    except OSError as error:
        file.close()
        raise TrainingError(
            f"a run has one process at a time: another one trains in {path.parent}; "
            "wait for it, or name another --output"
        ) from error
    return file


def _is_file_of(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

"""A lock on a file that the system lets go of, however the process that holds it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def holding(path: Path) -> Iterator[bool]:
    """Hold the lock of this file within, which is removed at the end; or not, where another process holds it.

    An error of the system is one where the file cannot be written.
    """
    file = _take(path)
    while file is not None and not _is_file_of(file, path):
        # Who held it has removed the file since it was opened here; the next one would lock a new file.
        file.close()
        file = _take(path)
    if file is None:
        yield False
        return
    with file:
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)


def _take(path: Path) -> BinaryIO | None:
    file = path.open("a+b")
    try:
        _lock(file.fileno())
    except OSError:
        file.close()
        return None
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

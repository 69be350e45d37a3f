"""One trainer a folder: a lock that the system lets go of, however the process that holds it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import TrainingError

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or refuse where another process holds it."""
    path = folder / LOCK
    try:
        file = path.open("a+b")
    except OSError as error:
        raise TrainingError(
            f"{folder} must be a folder that can be written: {error.strerror}; name another --output"
        ) from error
    with file:
        try:
            _lock(file.fileno())
        except OSError as error:
            raise TrainingError(
                f"a run has one process at a time: another one trains in {folder}; "
                "wait for it, or name another --output"
            ) from error
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

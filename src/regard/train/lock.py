"""One trainer a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import TrainingError
from regard.files import holding

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or refuse where another process holds it."""
    lock = holding(folder / LOCK)
    try:
        is_held = lock.__enter__()
    except OSError as error:
        raise TrainingError(
            f"{folder} must be a folder that can be written: {error.strerror}; name another --output"
        ) from error
    try:
        if not is_held:
            raise TrainingError(
                f"a run has one process at a time: another one trains in {folder}; "
                "wait for it, or name another --output"
            )
        yield
    finally:
        lock.__exit__(None, None, None)

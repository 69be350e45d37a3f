"""Atomic files and folders, and a lock between processes.

A new folder is written beside its place and renamed. An existing folder stays where it is, since it may be the
current folder, a mount point, or hold other files: the new files are written into a subfolder and synced, then
renamed to their places, last the one without which the others do not count. The next writer finishes a
replacement that was interrupted. The system releases a lock however its process ends.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

UNFINISHED, COMPLETE = ".model.unfinished", ".model.complete"
_STALE = ".stale.json"


def temporary_path(path: Path) -> Path:
    """Where a file is written before it is renamed to `path`."""
    return path.with_name(f".{path.name}.new")


@contextmanager
def writing(path: Path, *, synced: bool = True) -> Iterator[BinaryIO]:
    """Write one file atomically: under a temporary name, synced, then renamed."""
    fresh = temporary_path(path)
    with open(fresh, "wb") as file:
        yield file
        if synced:
            file.flush()
            os.fsync(file.fileno())
    os.replace(fresh, path)


def write_file(path: Path, content: bytes | memoryview) -> None:
    """The same with content that is there."""
    with writing(path) as file:
        file.write(content)


def digest(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


@contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder for the files that `replace_files` then moves into `folder`; removed on an error."""
    if folder.exists():
        fresh = folder / UNFINISHED
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
    else:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".new", dir=folder.parent))
        os.chmod(fresh, 0o755)
    try:
        yield fresh
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def replace_files(fresh: Path, folder: Path, *, last: str, stale: Iterable[str] = ()) -> None:
    """Move the files of a temporary folder into `folder`, and remove the `stale` ones."""
    if fresh.parent != folder:
        sync(fresh)
        os.rename(fresh, folder)
        sync(folder.parent)
        return
    write_file(fresh / _STALE, json.dumps(sorted(stale)).encode())
    sync(fresh)
    os.rename(fresh, folder / COMPLETE)
    sync(folder)
    finish_replacing(folder, last=last)


def finish_replacing(folder: Path, *, last: str) -> None:
    """Finish a replacement, also one that an earlier process did not finish."""
    complete = folder / COMPLETE
    if not complete.is_dir():
        return
    if (complete / last).exists():
        stale: list[str] = json.loads((complete / _STALE).read_bytes())
        for name in (last, *stale):
            (folder / Path(name).name).unlink(missing_ok=True)
        sync(folder)
        for path in complete.iterdir():
            if path.name not in (last, _STALE):
                os.replace(path, folder / path.name)
        sync(folder)
        os.replace(complete / last, folder / last)
        sync(folder)
    shutil.rmtree(complete)


def sync(folder: Path) -> None:
    """Make renames in a folder survive a power cut, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Try to hold the lock of this file; False where another process holds it. Removes the file at the end.

    An OSError means that the file cannot be written.
    """
    while True:
        with path.open("a+b") as file:
            try:
                _lock(file.fileno())
            except OSError:
                break
            # Else the holder has removed the file since it was opened here; the next process would lock a new file.
            if _is_file_of(file, path):
                try:
                    yield True
                finally:
                    path.unlink(missing_ok=True)
                return
    yield False


def _is_file_of(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False

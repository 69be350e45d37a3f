"""Files that appear whole or not at all, and a lock that the system releases however its process ends.

A folder that is not there yet is written beside its place and renamed. One that is there stays where it is: it may
be the current folder, a mount point, or hold the files of a run. The new files are written below it, and when they
are all on the disk they are renamed to their places, last the one without which the others do not count. Renaming
that was interrupted is taken up again by the next who writes there.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


UNFINISHED, COMPLETE = ".model.unfinished", ".model.complete"
_STALE = ".stale.json"


def unfinished(path: Path) -> Path:
    """The name under which a file is written before it takes its place."""
    return path.with_name(f".{path.name}.new")


def write_file(path: Path, content: bytes) -> None:
    """Write one file whole: under another name first, on the disk, then renamed."""
    fresh = unfinished(path)
    with open(fresh, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


@contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to write what `put_in_place` then puts into `folder`; gone again if that fails."""
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


def put_in_place(fresh: Path, folder: Path, *, last: str, stale: Iterable[str] = ()) -> None:
    """Give the files of a fresh folder their places; the `stale` ones, which they replace, are removed."""
    if fresh.parent != folder:
        sync(fresh)
        os.rename(fresh, folder)
        sync(folder.parent)
        return
    write_file(fresh / _STALE, json.dumps(sorted(stale)).encode())
    sync(fresh)
    os.rename(fresh, folder / COMPLETE)
    sync(folder)
    finish_placing(folder, last=last)


def finish_placing(folder: Path, *, last: str) -> None:
    """Put into place what is complete, here or where an earlier program was stopped while it did so."""
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

"""Files that appear in a folder together: all of them, or none.

A folder that is not there yet is written beside its place and renamed. One that is there stays where it is: it may
be the current folder, a mount point, or hold the files of a run. The new files are written below it, and when they
are all on the disk they are renamed to their places, last the one without which the others do not count. Renaming
that was interrupted is taken up again by the next who writes there.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

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

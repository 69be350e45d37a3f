"""The folder of a run: free at the start, locked during the run, cleaned up after a refused one."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import TrainingError, UsageError
from regard.files import temporary_path, try_lock
from regard.train.checkpoints import BEST, CHECKPOINTS, room_left
from regard.train.corpora import TEXT
from regard.train.plan import RUN_FILE, Plan
from regard.train.report import METRICS
from regard.train.tokenizers import TOKENIZERS

LOCK = ".lock"
_FIRST_FILES = (LOCK, temporary_path(Path(RUN_FILE)).name)
"""Files that a run writes before its plan."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_folder(output: Path, resume: bool) -> None:
    """Refuse a folder where a run can neither start nor resume."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"--output must be a folder: {output} is a file; name another place")
    if resume:
        Plan.load(output / RUN_FILE)
        return
    if output.exists():
        _remove_first_files(output)
        if any(output.iterdir()):
            content = f"files and no training run (no {RUN_FILE}); name another"
            if (output / RUN_FILE).exists():
                content = "a training run; name another, or continue that run with --resume"
            raise UsageError(f"--output must be a new or empty folder: {output} holds {content}")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--output must be a folder that can be written: {output}: {error.strerror}; "
            "name another"
        ) from error


def remove_refused(output: Path) -> None:
    """Remove the files of a run that was refused before its first checkpoint, so that it can be repeated."""
    if not output.exists() or (output / CHECKPOINTS).exists() or (output / LOCK).exists():
        return
    for name in (RUN_FILE, METRICS):
        (output / name).unlink(missing_ok=True)
    for name in ("tensorboard", BEST, TEXT):
        shutil.rmtree(output / name, ignore_errors=True)
    _remove_first_files(output)
    if not any(output.iterdir()):
        output.rmdir()


def _remove_first_files(output: Path) -> None:
    """Remove what a run that was killed before its plan has left."""
    if {path.name for path in output.iterdir()} <= {*_FIRST_FILES, TOKENIZERS, TEXT}:
        for name in _FIRST_FILES:
            (output / name).unlink(missing_ok=True)
        for name in (TOKENIZERS, TEXT):
            shutil.rmtree(output / name, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; refuse where another process holds it. Name the folder where its disk is full."""
    lock = try_lock(folder / LOCK)
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
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise TrainingError(
            f"{folder} must have room for the run and its text: {error.strerror}{room_left(folder)}; "
            "make room and give the command again, with --resume where there is a checkpoint"
        ) from error
    finally:
        lock.__exit__(None, None, None)

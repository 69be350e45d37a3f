"""The folder of a run before and after it: free to begin in, left as it was where the run was refused."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import TrainingError, UsageError
from regard.files import unfinished
from regard.train.checkpoints import BEST, CHECKPOINTS, room_left
from regard.train.lock import LOCK
from regard.train.prepare import TEXT, TOKENIZERS
from regard.train.report import METRICS
from regard.train.request import RUN_FILE, Plan

_BEGINNINGS = (LOCK, unfinished(Path(RUN_FILE)).name)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_folder(output: Path, resume: bool) -> None:
    """Refuse a place where a run can neither begin nor go on."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"--output must be a folder: {output} is a file; name another place")
    if resume:
        Plan.load(output / RUN_FILE)
        return
    if output.exists():
        _remove_beginnings(output)
        if any(output.iterdir()):
            raise UsageError(
                f"--output must be a new or empty folder: {output} holds files; "
                "name another, or continue that run with --resume"
            )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--output must be a folder that can be written: {output}: {error.strerror}; "
            "name another"
        ) from error


def forget(output: Path) -> None:
    """Leave no trace of a run that was refused before its first checkpoint, so that it can be repeated."""
    if not output.exists() or (output / CHECKPOINTS).exists() or (output / LOCK).exists():
        return
    for name in (RUN_FILE, METRICS):
        (output / name).unlink(missing_ok=True)
    for name in ("tensorboard", BEST, TEXT):
        shutil.rmtree(output / name, ignore_errors=True)
    _remove_beginnings(output)
    if not any(output.iterdir()):
        output.rmdir()


@contextmanager
def telling_of_room(output: Path) -> Iterator[None]:
    """Name the folder and what is left where something of the run could not be written for want of room."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise TrainingError(
            f"{output} must have room for the run and its text: {error.strerror}{room_left(output)}; "
            "make room and give the command again, with --resume where there is a checkpoint"
        ) from error


def _remove_beginnings(output: Path) -> None:
    """What stands in a folder before a run has its plan: one that was killed then has left it."""
    if {path.name for path in output.iterdir()} <= {*_BEGINNINGS, TOKENIZERS, TEXT}:
        for name in _BEGINNINGS:
            (output / name).unlink(missing_ok=True)
        for name in (TOKENIZERS, TEXT):
            shutil.rmtree(output / name, ignore_errors=True)

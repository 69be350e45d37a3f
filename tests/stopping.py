"""Work that is stopped at one of the calls that change a disk, as by a kill or for want of room."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Killed(BaseException):
    """As a dead process, which does nothing more: not even what stands in `except` and `finally`."""


@contextmanager
def stopped_at(number: int, *functions: str, error: Callable[[], BaseException] = Killed) -> Iterator[list[str]]:
    """Lets so many calls of these functions happen, and none after them; what was called is noted."""
    calls: list[str] = []

    def watched(module: str, name: str) -> Any:
        real = getattr(sys.modules[module], name)

        def call(*args: Any, **kwargs: Any) -> Any:
            what = os.readlink(f"/proc/self/fd/{args[0]}") if name == "fsync" else str(args[0])
            calls.append(f"{name} {Path(what).name}")
            if len(calls) > number:
                raise error()
            return real(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for function in functions:
            patch.setattr(function, watched(*function.split(".")))
        yield calls

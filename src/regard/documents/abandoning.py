"""A long document can be given up midway, when nobody waits for it any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Abandoned(Exception):
    """Nobody waits for the document any more."""


def never() -> bool:
    return False


# Of the thread that reads: to hand it to every piece of text would be most of what the readers hand on.
_is_abandoned: ContextVar[Callable[[], bool]] = ContextVar("is_abandoned", default=never)


@contextmanager
def abandoned_when(is_abandoned: Callable[[], bool]) -> Iterator[None]:
    """What is read and written inside asks this again and again."""
    token = _is_abandoned.set(is_abandoned)
    try:
        yield
    finally:
        _is_abandoned.reset(token)


def check() -> None:
    if _is_abandoned.get()():
        raise Abandoned

"""What a user can cause, as one small tree.

    RegardError            every message says what was expected, what came, and what to do
    ├── UsageError         the request itself is wrong: an option, a recipe key (exit 2)
    ├── DataError          a text or corpus file is wrong: line counts, bytes, emptiness
    ├── ModelError         a model folder is wrong: not one, corrupt, or of another version
    ├── TrainingError      a run cannot start or go on
    └── MissingExtra       a package this command needs is not installed

What only a programmer can cause is an `assert`, never one of these.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class RegardError(Exception):
    """Base of everything a user can cause; the command line prints it without a traceback."""

    exit_code = 1


class UsageError(RegardError):
    exit_code = 2


class DataError(RegardError):
    pass


class ModelError(RegardError):
    pass


class TrainingError(RegardError):
    pass


def how_to_install(extra: str) -> str:
    """What to run for one of the optional extras; as the README says it, since regard comes as its source.

    >>> how_to_install("torch")
    "run  pip install -c constraints.txt '.[torch]'  where regard's source is"
    """
    return f"run  pip install -c constraints.txt '.[{extra}]'  where regard's source is"


class MissingExtra(RegardError):
    """A package of one of the optional extras is missing."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package}, which is not installed: {how_to_install(extra)}")


@contextmanager
def needs_extra(extra: str, purpose: str) -> Iterator[None]:
    """A package that the block cannot import is a missing extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or extra, extra, purpose) from error


class RegardWarning(UserWarning):
    """What a user should know, though the work goes on."""


def suggest(word: object, known: Iterable[object]) -> str:
    """What the user may have meant, to be put into a message; empty when nothing is near.

    >>> suggest("bem", ["beam", "seed"])
    " (did you mean 'beam'?)"
    """
    close = difflib.get_close_matches(str(word), [str(name) for name in known], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""

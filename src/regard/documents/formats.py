"""Which format a file's name says it has."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from regard.documents.segments import Slot
from regard.errors import UsageError, suggest

Languages = tuple[str, str]
"""the codes of the source and of the target"""

Reader = Callable[[str, Languages], tuple[list[Slot], list[str]]]
"""from a file's text to the places to be written anew, in order, and to warnings"""

_MODULES = {
    ".txt": "plain",
    ".text": "plain",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    ".po": "gettext",
    ".pot": "gettext",
    ".xliff": "xliff",
    ".xlf": "xliff",
    ".tmx": "tmx",
}

SUFFIXES = tuple(_MODULES)


def reader_of(suffix: str) -> Reader:
    if suffix not in _MODULES:
        raise UsageError(
            f"a document must be one of {' '.join(SUFFIXES)}: got {suffix or 'a name without suffix'}"
            f"{suggest(suffix, SUFFIXES)}; translate it line by line with --input"
        )
    reader: Reader = import_module(f"regard.documents.{_MODULES[suffix]}").read
    return reader

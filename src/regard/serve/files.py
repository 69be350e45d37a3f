"""Translated files until they are fetched: in memory only, for an hour, and not more than fits.

Their names are random, so that nobody can guess one and none is ever a path.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_KEPT_FOR = 3600.0
_MOST_BYTES = 64 << 20
_MOST_NAME = 100


@dataclass(frozen=True, slots=True)
class Kept:
    name: str
    data: bytes
    until: float


class Files:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._clock = clock

    def keep(self, name: str, data: bytes) -> str:
        """The name under which the file can be fetched."""
        key = f"{secrets.token_hex(16)}.{plain_name(name)}"
        self._kept[key] = Kept(plain_name(name), data, self._clock() + _KEPT_FOR)
        self._tidy()
        return key

    def get(self, key: str) -> Kept | None:
        self._tidy()
        return self._kept.get(key)

    def _tidy(self) -> None:
        while self._kept:
            oldest = next(iter(self._kept.values()))
            if oldest.until > self._clock() and self._num_bytes <= _MOST_BYTES:
                break
            self._kept.popitem(last=False)

    @property
    def _num_bytes(self) -> int:
        return sum(len(each.data) for each in self._kept.values())


def plain_name(name: str) -> str:
    """A file's own name without folders, of letters, digits and a few signs.

    >>> plain_name("../../my letter.txt"), plain_name("…"), plain_name("C:\\\\x\\\\a.po")
    ('my_letter.txt', 'file', 'a.po')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    safe = "".join(
        each if each.isascii() and (each.isalnum() or each in "-_.") else "_" for each in last
    )
    return safe.strip("._")[-_MOST_NAME:] or "file"

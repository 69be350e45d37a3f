"""Uploaded files: translated in threads of their own, and kept until they are fetched.

Translated files stay in memory for an hour, up to a total size. Their names are random, so that nobody can guess one
and none is ever a path.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from regard.documents import translate_document
from regard.serve.answers import TextsJob
from regard.serve.jobs import ModelJob
from regard.serve.models import ServedModel
from regard.translate.translation import Translation

_KEEP_SECONDS = 3600.0
_MAX_BYTES = 64 << 20
_MAX_NAME = 100
_MAX_DOCUMENTS = 16
"""documents translated at the same time; more wait"""


class TranslatedFile(NamedTuple):
    name: str
    data: bytes
    expires: float


class FileStore:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._files: OrderedDict[str, TranslatedFile] = OrderedDict()
        self._clock = clock

    def add(self, name: str, data: bytes) -> str:
        """The key under which the file can be fetched."""
        name = plain_name(name)
        key = f"{secrets.token_hex(16)}.{name}"
        self._files[key] = TranslatedFile(name, data, self._clock() + _KEEP_SECONDS)
        self._expire()
        return key

    def get(self, key: str) -> TranslatedFile | None:
        self._expire()
        return self._files.get(key)

    def _expire(self) -> None:
        while self._files:
            oldest = next(iter(self._files.values()))
            num_bytes = sum(len(each.data) for each in self._files.values())
            if oldest.expires > self._clock() and num_bytes <= _MAX_BYTES:
                break
            self._files.popitem(last=False)


def plain_name(name: str) -> str:
    """A file's own name without folders, of letters, digits and a few signs.

    >>> plain_name("../../my letter.txt"), plain_name("…"), plain_name("C:\\\\x\\\\a.po")
    ('my_letter.txt', 'file', 'a.po')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    safe = "".join(
        each if each.isascii() and (each.isalnum() or each in "-_.") else "_" for each in last
    )
    return safe.strip("._")[-_MAX_NAME:] or "file"


class DocumentTranslator:
    """Translates documents, each in a thread that hands its texts to the model's thread."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_MAX_DOCUMENTS, "regard-document")

    async def translate(
        self,
        served: ServedModel,
        data: bytes,
        suffix: str,
        languages: tuple[str, str],
        encoding: str | None = None,
    ) -> bytes:
        """The translated document; cancelling this stops its thread and its work for the model."""
        is_cancelled = threading.Event()
        running: list[ModelJob] = []

        def translate_texts(texts: list[str]) -> list[Translation]:
            job = TextsJob(served, texts, alignment=True)
            running[:] = [job.submit()]
            if is_cancelled.is_set():
                running[0].cancel()
            return job.join([future.result() for future in running[0].futures])

        work = partial(translate_document, data, suffix, translate_texts, languages=languages)
        work = partial(work, encoding=encoding, is_cancelled=is_cancelled.is_set)
        try:
            done = await asyncio.get_running_loop().run_in_executor(self._threads, work)
            return done.data
        except asyncio.CancelledError:
            is_cancelled.set()
            for job in running:
                job.cancel()
            raise

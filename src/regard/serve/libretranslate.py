"""LibreTranslate's interface, as its clients use it, errors included."""

import asyncio
import re
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.documents.document import SUFFIXES, segment_texts
from regard.documents.plain import declared_languages
from regard.serve.answers import document_threads, translate, translate_file
from regard.serve.models import AUTO, Models, Translators
from regard.serve.request import BadField, Fields, RequestError, fields_of, integer, json_response, text_of, valid_text
from regard.serve.settings import MAX_ALTERNATIVES, MAX_TEXTS, ServerSettings
from regard.text import language
from regard.text.language import LANGUAGE_NAMES, LanguageGuess

_MAX_DETECTED = 5
_MIN_PROBABILITY = 0.01
"""languages that /detect lists, and the probability below which it lists none"""
_KEEP_SECONDS = 3600.0
_MAX_BYTES = 64 << 20
"""translated files that are kept for their clients"""


class LibreTranslate:
    def __init__(self, models: Models, settings: ServerSettings) -> None:
        self._models, self._settings, self._files = models, settings, FileStore()

    async def translate(self, request: Request) -> Response:
        fields = await fields_of(request)
        texts, is_list = self._texts(fields)
        alternatives = integer(fields, "alternatives", 0, 0, MAX_ALTERNATIVES)
        kind = text_of(fields, "format", "text")
        if kind not in ("text", "html"):
            raise BadField("format", f"Invalid request: {kind} format is not supported")
        source, target = self._models.direction(fields)
        is_auto = source == AUTO
        found = {text: self._models.detect(text, target) if is_auto else LanguageGuess(source, 1.0) for text in texts}
        by_code = {each.language: self._models.translators(each.language, target) for each in found.values()}
        answers: dict[str, tuple[str, list[str]]] = {}
        for code, translators in by_code.items():
            some = [text for text in found if found[text].language == code]
            answers |= zip(some, await _answers(translators, some, kind, alternatives), strict=True)
        shown: dict[str, list[Any]] = {"translatedText": [answers[text][0] for text in texts]}
        if is_auto:
            shown["detectedLanguage"] = [_confidence(found[text]) for text in texts]
        if alternatives:
            shown["alternatives"] = [answers[text][1] for text in texts]
        return json_response({name: each if is_list else each[0] for name, each in shown.items()})

    async def detect(self, request: Request) -> Response:
        texts, _ = self._texts(await fields_of(request))
        ranked = [LanguageGuess(*each) for each in language.rank(" ".join(texts))[:_MAX_DETECTED]]
        found = [_confidence(each) for each in ranked if each.probability >= _MIN_PROBABILITY]
        return json_response(found or [{"confidence": 0.0, "language": "en"}])

    async def languages(self, request: Request) -> Response:
        """Each language, and what it can be translated into, itself among them."""
        listed = []
        for code in self._models.languages:
            targets = {code, *(target for source, target in self._models.pairs if source == code)}
            listed.append({"code": code, "name": LANGUAGE_NAMES.get(code, code), "targets": sorted(targets)})
        return json_response(listed)

    async def frontend_settings(self, request: Request) -> Response:
        _, target = next(iter(self._models.pairs), ("", ""))
        source = {"code": AUTO, "name": "Auto Detect"}
        settings = {
            "charLimit": self._settings.characters,
            "frontendTimeout": 500,
            "apiKeys": bool(self._settings.keys),
            "keyRequired": bool(self._settings.keys),
            "suggestions": False,
            "filesTranslation": True,
            "supportedFilesFormat": list(SUFFIXES),
            "language": {"source": source, "target": {"code": target, "name": LANGUAGE_NAMES.get(target, target)}},
        }
        return json_response(settings)

    async def translate_file(self, request: Request) -> Response:
        fields = await fields_of(request)
        if not isinstance(fields.get("file"), tuple):
            raise BadField("file", "Invalid request: missing file parameter")
        name, data = fields["file"]
        stem, _, ending = plain_name(name).rpartition(".")
        suffix = f".{ending.lower()}"
        if suffix not in SUFFIXES:
            raise BadField("file", f"Invalid request: file format not supported, only {' '.join(SUFFIXES)}")
        encoding = text_of(fields, "encoding", "") or None
        source, target = self._models.direction(fields)
        shown: dict[str, Any] = {}
        if source == AUTO:
            work = partial(self._language_of_file, data, suffix, encoding, target)
            found = await asyncio.get_running_loop().run_in_executor(document_threads, work)
            source, shown["detectedLanguage"] = found.language, _confidence(found)
        if translators := self._models.translators(source, target):
            data = await translate_file(translators, data, suffix, (source, target), encoding)
        key = self._files.add(f"{stem}_{target}{suffix}", data)
        is_proxied = request.client and request.client.host in self._settings.proxies
        is_secure = is_proxied and request.headers.get("x-forwarded-proto") == "https"
        base = f"{'https' if is_secure else 'http'}://{request.headers['host']}"
        return json_response({"translatedFileUrl": f"{base}/download_file/{key}", **shown})

    def _language_of_file(self, data: bytes, suffix: str, encoding: str | None, target: str) -> LanguageGuess:
        if declared := declared_languages(data, suffix, encoding)[0]:
            return LanguageGuess(language.known_language(declared, self._models.languages) or declared, 1.0)
        return self._models.detect(" ".join(segment_texts(data, suffix, encoding)), target)

    async def download(self, request: Request) -> Response:
        key = request.path_params["name"]
        if (data := self._files.get(key)) is None:
            raise RequestError(404, "there is no such file, or it was deleted after an hour")
        headers = {"Content-Disposition": f'attachment; filename="{key.partition(".")[2]}"'}
        return Response(data, 200, headers, media_type="application/octet-stream")

    async def suggest(self, request: Request) -> Response:
        raise RequestError(403, "Suggestions are disabled on this server.")

    def _texts(self, fields: Fields) -> tuple[list[str], bool]:
        """The texts of a request, and whether they came as a list."""
        given = fields.get("q")
        if given is None:
            raise BadField("q", "Invalid request: missing q parameter")
        texts = [valid_text(text, "q") for text in (given if isinstance(given, list) else [given])]
        counts = {"batch": (len(texts), MAX_TEXTS), "text": (sum(map(len, texts)), self._settings.characters)}
        for what, (count, most) in counts.items():
            if count > most:
                raise BadField("q", f"Invalid request: request ({count}) exceeds {what} limit ({most})")
        return texts, isinstance(given, list)


async def _answers(translators: Translators, texts: list[str], kind: str, alternatives: int) -> list[Any]:
    """Each translation with its alternatives."""
    if not translators:
        return [(text, []) for text in texts]
    if kind == "text":
        found = await translate(translators, texts, alternatives)
        return [(each.text, each.alternatives[1:]) for each in found]
    languages = translators[0].manifest.source_language, translators[-1].manifest.target_language
    pages = [await translate_file(translators, text.encode(), ".html", languages, "utf-8") for text in texts]
    return [(page.decode(), []) for page in pages]


def _confidence(found: LanguageGuess) -> dict[str, Any]:
    shown = {"confidence": round(100 * found.probability, 1), "language": found.language}
    if found.is_sure:
        return shown
    told = f"the language of the text is not sure: it is read as {LANGUAGE_NAMES.get(found.language, found.language)}"
    return {**shown, "warning": told}


class FileStore:
    """Translated files, in memory for an hour, up to a total size.

    Their keys are random, so that nobody can guess one, and none is ever a path: digits, a dot and a plain name.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._files: dict[str, tuple[bytes, float]] = {}
        """data, and the time until which they are kept; the oldest first"""
        self._clock = clock

    def add(self, name: str, data: bytes) -> str:
        """The key under which the file can be fetched."""
        key = f"{secrets.token_hex(16)}.{plain_name(name)}"
        self._files[key] = data, self._clock() + _KEEP_SECONDS
        self._expire()
        return key

    def get(self, key: str) -> bytes | None:
        self._expire()
        return self._files[key][0] if key in self._files else None

    def _expire(self) -> None:
        num_bytes = sum(len(data) for data, _ in self._files.values())
        for key, (data, expires) in list(self._files.items()):
            if num_bytes > _MAX_BYTES or expires <= self._clock():
                num_bytes -= len(data)
                del self._files[key]


def plain_name(name: str) -> str:
    """A file's own name without folders, of letters, digits and a few signs.

    >>> plain_name("../../my letter.txt"), plain_name("…"), plain_name("C:\\\\x\\\\a.po")
    ('my_letter.txt', 'file', 'a.po')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9_.-]", "_", last).strip("._")[-100:] or "file"

"""LibreTranslate's interface: what its clients send and read, errors included."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.documents import SUFFIXES, translate_document
from regard.serve import reading
from regard.serve.files import Files, plain_name
from regard.serve.languages import name_of
from regard.serve.models import Models, Served
from regard.serve.reading import Fields
from regard.serve.refusal import Refusal, json_response
from regard.serve.settings import MOST_ALTERNATIVES, MOST_TEXTS, Settings
from regard.serve.ticket import Dead
from regard.serve.translating import Detected, Work, detect, refusal_of, translate
from regard.text import language
from regard.translate.translation import Translation

AUTO = "auto"
_MOST_DETECTED = 5
_LEAST_DETECTED = 0.01
_MOST_DOCUMENTS = 16
"""at the same time; more wait"""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    alternatives: list[str]


class LibreTranslate:
    def __init__(self, models: Models, settings: Settings, files: Files) -> None:
        self._models, self._settings, self._files = models, settings, files
        self._documents = _Documents()

    async def translate(self, request: Request) -> Response:
        fields = await reading.fields_of(request)
        texts, is_list = self._texts(fields)
        alternatives = reading.whole(fields, "alternatives", 0, 0, MOST_ALTERNATIVES)
        kind = reading.text_of(fields, "format", "text")
        if kind not in ("text", "html"):
            raise Refusal(400, f"Invalid request: {kind} format is not supported", param="format")
        source, target = self._languages(fields)
        texts_in = list(dict.fromkeys(texts))
        found = {text: self._language(text, source) for text in texts_in}
        served = {each.language: self._served(each.language, target) for each in found.values()}
        answers: dict[str, Answer] = {}
        for code, model in served.items():
            some = [text for text in texts_in if found[text].language == code]
            if model is None:
                translated = [Answer(text, []) for text in some]
            elif kind == "html":
                translated = await self._html(model, some)
            else:
                translated = await _plain(model, some, alternatives)
            answers |= zip(some, translated, strict=True)
        shown: dict[str, list[Any]] = {"translatedText": [answers[text].text for text in texts]}
        if source == AUTO:
            shown["detectedLanguage"] = [_confidence(found[text]) for text in texts]
        if alternatives:
            shown["alternatives"] = [answers[text].alternatives for text in texts]
        return json_response({name: each if is_list else each[0] for name, each in shown.items()})

    async def detect(self, request: Request) -> Response:
        fields = await reading.fields_of(request)
        texts, _ = self._texts(fields)
        ranked = language.rank(" ".join(texts))[:_MOST_DETECTED]
        found = [_confidence(Detected(*each)) for each in ranked if each[1] >= _LEAST_DETECTED]
        return json_response(found or [{"confidence": 0.0, "language": "en"}])

    async def languages(self, request: Request) -> Response:
        models = self._models
        return json_response(
            [
                {"code": code, "name": name_of(code), "targets": models.targets(code)}
                for code in models.languages
            ]
        )

    async def frontend_settings(self, request: Request) -> Response:
        source, target = next(iter(self._models.pairs), ("", ""))
        return json_response(
            {
                "charLimit": self._settings.characters,
                "frontendTimeout": 500,
                "apiKeys": bool(self._settings.keys),
                "keyRequired": bool(self._settings.keys),
                "suggestions": False,
                "filesTranslation": True,
                "supportedFilesFormat": list(SUFFIXES),
                "language": {
                    "source": {"code": AUTO, "name": "Auto Detect"}
                    if source
                    else {"code": "", "name": ""},
                    "target": {"code": target, "name": name_of(target)},
                },
            }
        )

    async def translate_file(self, request: Request) -> Response:
        fields = await reading.fields_of(request)
        if not isinstance(fields.get("file"), tuple):
            raise Refusal(400, "Invalid request: missing file parameter", param="file")
        name, data = fields["file"]
        name = plain_name(name)
        suffix = f".{name.rpartition('.')[2].lower()}"
        if suffix not in SUFFIXES:
            raise Refusal(
                400, f"Invalid request: file format not supported, only {' '.join(SUFFIXES)}"
            )
        source, target = self._languages(fields)
        if source == AUTO:
            source = detect(self._models, data[:4000].decode("utf-8", "ignore")).language
        served = self._served(source, target)
        if served is not None:
            data = await self._documents.translate(served, data, suffix, (source, target))
        stem = name.rpartition(".")[0]
        key = self._files.keep(f"{stem}_{target}{suffix}", data)
        return json_response({"translatedFileUrl": f"{self._base(request)}/download_file/{key}"})

    async def download(self, request: Request) -> Response:
        kept = self._files.get(request.path_params["name"])
        if kept is None:
            raise Refusal(404, "there is no such file, or its hour is over")
        headers = {"Content-Disposition": f'attachment; filename="{kept.name}"'}
        return Response(kept.data, 200, headers, media_type="application/octet-stream")

    async def suggest(self, request: Request) -> Response:
        raise Refusal(403, "Suggestions are disabled on this server.")

    def _texts(self, fields: Fields) -> tuple[list[str], bool]:
        given = fields.get("q")
        if given is None:
            raise Refusal(400, "Invalid request: missing q parameter", param="q")
        texts = given if isinstance(given, list) else [given]
        if len(texts) > MOST_TEXTS:
            raise Refusal(
                400,
                f"Invalid request: request ({len(texts)}) exceeds batch limit ({MOST_TEXTS})",
                param="q",
            )
        if not all(isinstance(text, str) for text in texts):
            raise Refusal(400, "Invalid request: q must be a text or a list of texts", param="q")
        length = sum(map(len, texts))
        if length > self._settings.characters:
            raise Refusal(
                400,
                f"Invalid request: request ({length}) exceeds text limit ({self._settings.characters})",
                param="q",
            )
        return [reading.clean(text, "q") for text in texts], isinstance(given, list)

    def _languages(self, fields: Fields) -> tuple[str, str]:
        """The source, which may be auto, and the target, as our models name them."""
        source = reading.text_of(fields, "source").strip()
        target = reading.text_of(fields, "target").strip()
        known_source = AUTO if source.lower() == AUTO else self._models.known(source)
        known_target = self._models.known(target)
        for name, code, known in (
            ("source", source, known_source),
            ("target", target, known_target),
        ):
            if known is None:
                codes = ", ".join(self._models.languages)
                raise Refusal(400, f"{code[:20]} is not supported, only {codes}", param=name)
        assert known_source is not None and known_target is not None
        if known_source != AUTO:
            self._served(known_source, known_target)
        return known_source, known_target

    def _served(self, source: str, target: str) -> Served | None:
        """The model from one language to another; None where they are the same."""
        if source == target:
            return None
        if (source, target) not in self._models.pairs:
            raise Refusal(
                400,
                f"{name_of(target)} ({target}) is not available as a target of {name_of(source)} ({source})",
            )
        return self._models.pairs[source, target]

    def _language(self, text: str, source: str) -> Detected:
        return detect(self._models, text) if source == AUTO else Detected(source, 1.0)

    async def _html(self, served: Served, texts: list[str]) -> list[Answer]:
        written = [
            await self._documents.translate(
                served, text.encode(), ".html", served.languages, "utf-8"
            )
            for text in texts
        ]
        return [Answer(each.decode(), []) for each in written]

    def _base(self, request: Request) -> str:
        scheme = "http"
        if request.client and request.client.host in self._settings.proxies:
            said = request.headers.get("x-forwarded-proto", "http")
            scheme = said if said in ("http", "https") else "http"
        return f"{scheme}://{request.headers['host']}"


async def _plain(served: Served, texts: list[str], alternatives: int) -> list[Answer]:
    found = await translate(served, texts, alternatives)
    return [Answer(each.text, each.alternatives[1:] if alternatives else []) for each in found]


def _confidence(found: Detected) -> dict[str, Any]:
    return {"confidence": round(100 * found.probability, 1), "language": found.language}


class _Documents:
    """Files, each in a thread of its own, which gives its sentences to the model's; cancelled, both stop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_MOST_DOCUMENTS, "regard-document")

    async def translate(
        self,
        served: Served,
        data: bytes,
        suffix: str,
        languages: tuple[str, str],
        encoding: str | None = None,
    ) -> bytes:
        begun = _Begun(served)

        def work() -> bytes:
            return translate_document(
                data,
                suffix,
                begun.translate,
                languages=languages,
                encoding=encoding,
                is_cancelled=lambda: begun.is_cancelled,
            ).data

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except asyncio.CancelledError:
            begun.cancel()
            raise


class _Begun:
    """What a thread waits for, so that it can be told to stop."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._future: Future[list[Translation]] | None = None
        self.is_cancelled = False

    def translate(self, texts: list[str]) -> list[Translation]:
        work = Work(self._served, texts, alignment=True)
        self._future = work.submit()
        if self.is_cancelled:
            self._future.cancel()
        try:
            return work.put_together(self._future.result())
        except Dead as error:
            raise refusal_of(error) from error

    def cancel(self) -> None:
        self.is_cancelled = True
        if self._future is not None:
            self._future.cancel()

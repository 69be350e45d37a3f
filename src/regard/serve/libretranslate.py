"""LibreTranslate's interface, as its clients use it, errors included."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from regard.documents import SUFFIXES
from regard.serve.answers import translate
from regard.serve.files import DocumentTranslator, FileStore, plain_name
from regard.serve.models import Detected, Models, ServedModel, language_name
from regard.serve.request import (
    BadField,
    Fields,
    RequestError,
    fields_of,
    integer,
    json_response,
    text_of,
    valid_text,
)
from regard.serve.settings import MAX_ALTERNATIVES, MAX_TEXTS, Settings
from regard.text import language

AUTO = "auto"
_MAX_DETECTED = 5
_MIN_PROBABILITY = 0.01
"""languages that /detect lists, and the probability below which it lists none"""


class _Translated(NamedTuple):
    text: str
    alternatives: list[str]


class LibreTranslate:
    def __init__(self, models: Models, settings: Settings) -> None:
        self._models, self._settings = models, settings
        self._files, self._documents = FileStore(), DocumentTranslator()

    async def translate(self, request: Request) -> Response:
        fields = await fields_of(request)
        texts, is_list = self._texts(fields)
        alternatives = integer(fields, "alternatives", 0, 0, MAX_ALTERNATIVES)
        kind = text_of(fields, "format", "text")
        if kind not in ("text", "html"):
            raise BadField("format", f"Invalid request: {kind} format is not supported")
        source, target = self._languages(fields)
        unique = list(dict.fromkeys(texts))
        is_auto = source == AUTO
        found = {
            text: self._models.detect(text) if is_auto else Detected(source, 1.0) for text in unique
        }
        served = {each.language: self._served(each.language, target) for each in found.values()}
        answers: dict[str, _Translated] = {}
        for code, model in served.items():
            some = [text for text in unique if found[text].language == code]
            answers |= zip(some, await self._answers(model, some, kind, alternatives), strict=True)
        shown: dict[str, list[Any]] = {"translatedText": [answers[text].text for text in texts]}
        if is_auto:
            shown["detectedLanguage"] = [_confidence(found[text]) for text in texts]
        if alternatives:
            shown["alternatives"] = [answers[text].alternatives for text in texts]
        return json_response({name: each if is_list else each[0] for name, each in shown.items()})

    async def _answers(
        self, served: ServedModel | None, texts: list[str], kind: str, alternatives: int
    ) -> list[_Translated]:
        if served is None:
            return [_Translated(text, []) for text in texts]
        if kind == "text":
            found = await translate(served, texts, alternatives)
            return [_Translated(each.text, each.alternatives[1:]) for each in found]
        answers = []
        for text in texts:
            written = await self._documents.translate(
                served, text.encode(), ".html", served.languages, "utf-8"
            )
            answers.append(_Translated(written.decode(), []))
        return answers

    async def detect(self, request: Request) -> Response:
        texts, _ = self._texts(await fields_of(request))
        ranked = [Detected(*each) for each in language.rank(" ".join(texts))[:_MAX_DETECTED]]
        found = [_confidence(each) for each in ranked if each.probability >= _MIN_PROBABILITY]
        return json_response(found or [{"confidence": 0.0, "language": "en"}])

    async def languages(self, request: Request) -> Response:
        listed = [
            {"code": code, "name": language_name(code), "targets": self._models.targets(code)}
            for code in self._models.languages
        ]
        return json_response(listed)

    async def frontend_settings(self, request: Request) -> Response:
        source, target = next(iter(self._models.pairs), ("", ""))
        auto = {"code": AUTO, "name": "Auto Detect"}
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
                    "source": auto if source else {"code": "", "name": ""},
                    "target": {"code": target, "name": language_name(target)},
                },
            }
        )

    async def translate_file(self, request: Request) -> Response:
        fields = await fields_of(request)
        if not isinstance(fields.get("file"), tuple):
            raise BadField("file", "Invalid request: missing file parameter")
        name, data = fields["file"]
        stem, _, ending = plain_name(name).rpartition(".")
        suffix = f".{ending.lower()}"
        if suffix not in SUFFIXES:
            known = " ".join(SUFFIXES)
            raise RequestError(400, f"Invalid request: file format not supported, only {known}")
        source, target = self._languages(fields)
        if source == AUTO:
            source = self._models.detect(data[:4000].decode("utf-8", "ignore")).language
        served = self._served(source, target)
        if served is not None:
            data = await self._documents.translate(served, data, suffix, (source, target))
        key = self._files.add(f"{stem}_{target}{suffix}", data)
        return json_response({"translatedFileUrl": f"{self._base(request)}/download_file/{key}"})

    async def download(self, request: Request) -> Response:
        file = self._files.get(request.path_params["name"])
        if file is None:
            raise RequestError(404, "there is no such file, or its hour is over")
        headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
        return Response(file.data, 200, headers, media_type="application/octet-stream")

    async def suggest(self, request: Request) -> Response:
        raise RequestError(403, "Suggestions are disabled on this server.")

    def _texts(self, fields: Fields) -> tuple[list[str], bool]:
        """The texts of a request, and whether they came as a list."""
        given = fields.get("q")
        if given is None:
            raise BadField("q", "Invalid request: missing q parameter")
        texts = given if isinstance(given, list) else [given]
        problem = ""
        if len(texts) > MAX_TEXTS:
            problem = f"request ({len(texts)}) exceeds batch limit ({MAX_TEXTS})"
        elif not all(isinstance(text, str) for text in texts):
            problem = "q must be a text or a list of texts"
        elif (length := sum(map(len, texts))) > self._settings.characters:
            problem = f"request ({length}) exceeds text limit ({self._settings.characters})"
        if problem:
            raise BadField("q", f"Invalid request: {problem}")
        return [valid_text(text, "q") for text in texts], isinstance(given, list)

    def _languages(self, fields: Fields) -> tuple[str, str]:
        """The source, which may be auto, and the target, as our models name them."""
        codes = []
        for name in ("source", "target"):
            code = text_of(fields, name).strip()
            is_auto = name == "source" and code.lower() == AUTO
            known = AUTO if is_auto else self._models.match(code)
            if known is None:
                message = f"{code[:20]} is not supported, only {', '.join(self._models.languages)}"
                raise BadField(name, message)
            codes.append(known)
        source, target = codes
        if source != AUTO:
            self._served(source, target)
        return source, target

    def _served(self, source: str, target: str) -> ServedModel | None:
        """The model from one language to another; None where they are the same."""
        if source == target:
            return None
        if (source, target) not in self._models.pairs:
            wanted, of = (f"{language_name(code)} ({code})" for code in (target, source))
            raise RequestError(400, f"{wanted} is not available as a target of {of}")
        return self._models.pairs[source, target]

    def _base(self, request: Request) -> str:
        is_proxied = request.client and request.client.host in self._settings.proxies
        is_secure = is_proxied and request.headers.get("x-forwarded-proto") == "https"
        return f"{'https' if is_secure else 'http'}://{request.headers['host']}"


def _confidence(found: Detected) -> dict[str, Any]:
    return {"confidence": round(100 * found.probability, 1), "language": found.language}

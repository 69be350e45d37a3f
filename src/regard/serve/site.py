"""The web page: its files, what it asks of the server, and its *Look inside*."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response

from regard.documents import SUFFIXES
from regard.errors import UsageError, how_to_install
from regard.serve.answers import translate
from regard.serve.models import Models, ServedModel, language_name
from regard.serve.openai_request import find_model
from regard.serve.request import (
    BadField,
    Fields,
    RequestError,
    integer,
    json_response,
    parse_object,
    text_of,
)
from regard.serve.settings import MAX_ALTERNATIVES, Settings
from regard.translate.translation import Sentence, Translation

if TYPE_CHECKING:
    from regard.look.view import Look

LOOK = "/look/"
_PASS = "regard_look"
"""name of the cookie that opens pages of look without a key"""
_MAX_LOOKS = 4
"""open pages of look; each keeps every value of a pass in memory"""
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_TYPES |= {".ico": "image/x-icon"}
_FOLDER = resources.files("regard.serve") / "page"


def page_names() -> list[str]:
    return sorted(each.name for each in _FOLDER.iterdir() if Path(each.name).suffix in _TYPES)


class Site:
    def __init__(self, models: Models, settings: Settings) -> None:
        self._models, self._settings = models, settings
        self._looks: OrderedDict[str, Look] = OrderedDict()
        self._pass = secrets.token_urlsafe(24)
        self._one_at_a_time = asyncio.Lock()

    def file(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint that sends a file of the page."""
        data = (_FOLDER / name).read_bytes()

        async def send(request: Request) -> Response:
            return Response(data, media_type=_TYPES[Path(name).suffix])

        return send

    async def state(self, request: Request) -> Response:
        """What the page can offer."""
        models = self._models
        tasks = {name: each.manifest.task for name, each in models.all.items()}
        return json_response(
            {
                "pairs": [
                    {"source": source, "target": target, "model": served.name}
                    for (source, target), served in models.pairs.items()
                ],
                "languages": {code: language_name(code) for code in models.languages},
                "chat": [name for name, task in tasks.items() if task == "chat"],
                "write": [name for name, task in tasks.items() if task == "write"],
                "look": can_look(),
                "characters": self._settings.characters,
                "files": list(SUFFIXES),
            }
        )

    async def translate(self, request: Request) -> Response:
        """A translation sentence by sentence, with alternatives and word links."""
        fields = parse_object(await request.body())
        text = self._text(fields)
        alternatives = integer(fields, "alternatives", 0, 0, MAX_ALTERNATIVES)
        source, target = text_of(fields, "source"), text_of(fields, "target")
        found = self._models.detect(text) if source == "auto" else None
        code = source if found is None else found.language
        if code == target:
            answer = Translation(text, text, [text], [])
        else:
            served = self._pair(code, target)
            [answer] = await translate(served, [text], alternatives, alignment=True)
        return json_response(
            {
                "source": code,
                "probability": None if found is None else found.probability,
                "text": answer.text,
                "sentences": [_sentence(each, answer) for each in answer.sentences],
            }
        )

    async def open_look(self, request: Request) -> Response:
        """Open a text in look, by the model's name or languages, and answer where. Needs torch."""
        fields = parse_object(await request.body())
        text = self._text(fields).strip()
        if "model" in fields:
            served = find_model(self._models, text_of(fields, "model"))
        else:
            served = self._pair(text_of(fields, "source"), text_of(fields, "target"))
        if not can_look():
            raise RequestError(501, f"looking into a model needs torch: {how_to_install('torch')}")
        from regard.look.view import look_at

        async with self._one_at_a_time:
            look = await asyncio.to_thread(look_at, served.folder, text)
        name = secrets.token_urlsafe(16)
        self._looks[name] = look
        while len(self._looks) > _MAX_LOOKS:
            self._looks.popitem(last=False)
        response = json_response({"url": f"{LOOK}{name}/"})
        response.set_cookie(_PASS, self._pass, path=LOOK, httponly=True, samesite="strict")
        return response

    async def look(self, request: Request) -> Response:
        """A file or a value of a page of look."""
        from regard.look.server import NotFound, get, post

        look = self._looks.get(request.path_params["look"])
        if look is None:
            raise RequestError(404, "this sentence is no longer open: open it again")
        path = request.path_params["path"]
        try:
            if request.method == "POST":
                if request.headers.get("content-type", "").partition(";")[0] != "application/json":
                    raise UsageError("a change must come as application/json: got something else")
                asked: Any = (post, look.session, path, await request.body())
            else:
                asked = (get, look.session, path, dict(request.query_params))
            content, kind = await asyncio.to_thread(*asked)
        except NotFound as error:
            raise RequestError(404, str(error)) from error
        return Response(content, media_type=kind)

    def has_pass(self, path: str, headers: Headers) -> bool:
        """Whether a page of look asks that was opened by someone with a key."""
        if not path.startswith(LOOK):
            return False
        given = cookie_parser(headers.get("cookie", "")).get(_PASS, "")
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._pass.encode())

    def _text(self, fields: Fields) -> str:
        text, most = text_of(fields, "text"), self._settings.characters
        if len(text) > most:
            raise BadField("text", f"a text must have at most {most} characters")
        return text

    def _pair(self, source: str, target: str) -> ServedModel:
        served = self._models.pairs.get((source, target))
        if served is None:
            names = f"{language_name(source[:20])} into {language_name(target[:20])}"
            raise BadField("target", f"no model here translates {names}")
        return served


def can_look() -> bool:
    return find_spec("torch") is not None


def _sentence(sentence: Sentence, answer: Translation) -> dict[str, Any]:
    """Where a sentence stands in the source and in the text, and its candidates with their word links."""
    [source_start] = _utf16_offsets(answer.source, [sentence.source_start])
    [start] = _utf16_offsets(answer.text, [sentence.start])
    targets = []
    for candidate in sentence.candidates:
        links = [
            _utf16_offsets(sentence.source, link.source)
            + _utf16_offsets(candidate.text, link.target)
            for link in candidate.alignment or ()
        ]
        targets.append({"text": candidate.text, "links": links})
    about = {"source": sentence.source, "source_start": source_start, "start": start}
    return {**about, "targets": targets}


def _utf16_offsets(text: str, places: Iterable[int]) -> list[int]:
    """Places in a text as JavaScript counts them, in units of UTF-16: 😀 is two."""
    return [len(text[:place].encode("utf-16-le")) // 2 for place in places]

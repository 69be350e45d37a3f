"""The web page: its files, what it asks of the server, and the door into look."""

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
from regard.serve import reading
from regard.serve.asking import named
from regard.serve.languages import name_of
from regard.serve.models import Models, Served
from regard.serve.refusal import Refusal, json_response
from regard.serve.settings import MOST_ALTERNATIVES, Settings
from regard.serve.translating import detect, translate
from regard.translate.translation import Sentence, Translation

if TYPE_CHECKING:
    from regard.look.view import Look

LOOK = "/look/"
_PASS = "regard_look"
_MOST_LOOKS = 4
"""sentences that stay open; each keeps every value of a pass in memory"""
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".ico": "image/x-icon",
}


class Site:
    def __init__(self, models: Models, settings: Settings) -> None:
        self._models, self._settings = models, settings
        self._looks: OrderedDict[str, Look] = OrderedDict()
        self._pass = secrets.token_urlsafe(24)
        self._one_at_a_time = asyncio.Lock()

    def file(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        """What answers with a file of the page."""
        data = (resources.files("regard.serve") / "page" / name).read_bytes()

        async def send(request: Request) -> Response:
            return Response(data, media_type=_TYPES[Path(name).suffix])

        return send

    async def state(self, request: Request) -> Response:
        """What the page can offer."""
        models = self._models
        return json_response(
            {
                "pairs": [
                    {"source": source, "target": target, "model": served.name}
                    for (source, target), served in models.pairs.items()
                ],
                "languages": {code: name_of(code) for code in models.languages},
                "chat": [n for n, each in models.all.items() if each.manifest.task == "chat"],
                "write": [n for n, each in models.all.items() if each.manifest.task == "write"],
                "look": can_look(),
                "characters": self._settings.characters,
                "files": list(SUFFIXES),
            }
        )

    async def translate(self, request: Request) -> Response:
        """Like LibreTranslate's, but sentence by sentence: what each became, and what else it could become."""
        fields = reading.parse_object(await request.body())
        text = reading.text_of(fields, "text")
        self._check_length(text)
        alternatives = reading.whole(fields, "alternatives", 0, 0, MOST_ALTERNATIVES)
        source, target = reading.text_of(fields, "source"), reading.text_of(fields, "target")
        found = detect(self._models, text) if source == "auto" else None
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
        """What a model reads, opened in look: where the page is. Needs torch.

        The model goes by its name, or by the languages it translates.
        """
        fields = reading.parse_object(await request.body())
        text = reading.text_of(fields, "text").strip()
        self._check_length(text)
        if "model" in fields:
            served = named(self._models, reading.text_of(fields, "model"))
        else:
            served = self._pair(
                reading.text_of(fields, "source"), reading.text_of(fields, "target")
            )
        if not can_look():
            raise Refusal(501, f"looking into a model needs torch: {how_to_install('torch')}")
        async with self._one_at_a_time:
            look = await asyncio.to_thread(_look_at, served, text)
        name = secrets.token_urlsafe(16)
        self._looks[name] = look
        while len(self._looks) > _MOST_LOOKS:
            self._looks.popitem(last=False)
        response = json_response({"url": f"{LOOK}{name}/"})
        response.set_cookie(_PASS, self._pass, path=LOOK, httponly=True, samesite="strict")
        return response

    async def look(self, request: Request) -> Response:
        """A file or a value of a page of look."""
        from regard.look.server import NotFound, get, post

        look = self._looks.get(request.path_params["look"])
        if look is None:
            raise Refusal(404, "this sentence is no longer open: open it again")
        path = request.path_params["path"]
        try:
            if request.method == "POST":
                if request.headers.get("content-type", "").partition(";")[0] != "application/json":
                    raise UsageError("a change must come as application/json: got something else")
                body = await request.body()
                content, kind = await asyncio.to_thread(post, look.session, path, body)
            else:
                query = dict(request.query_params)
                content, kind = await asyncio.to_thread(get, look.session, path, query)
        except NotFound as error:
            raise Refusal(404, str(error)) from error
        return Response(content, media_type=kind)

    def has_pass(self, path: str, headers: Headers) -> bool:
        """Whether a page of look may ask for its values: it was opened by someone with a key."""
        if not path.startswith(LOOK):
            return False
        given = cookie_parser(headers.get("cookie", "")).get(_PASS, "")
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._pass.encode())

    def _check_length(self, text: str) -> None:
        if len(text) > self._settings.characters:
            raise Refusal(
                400,
                f"a text must have at most {self._settings.characters} characters",
                param="text",
            )

    def _pair(self, source: str, target: str) -> Served:
        served = self._models.pairs.get((source, target))
        if served is None:
            names = f"{name_of(source[:20])} into {name_of(target[:20])}"
            raise Refusal(400, f"no model here translates {names}", param="target")
        return served


def can_look() -> bool:
    return find_spec("torch") is not None


def page_names() -> list[str]:
    folder = resources.files("regard.serve") / "page"
    return sorted(each.name for each in folder.iterdir() if Path(each.name).suffix in _TYPES)


def _look_at(served: Served, text: str) -> Any:
    from regard.look.view import look_at

    return look_at(served.folder, text)


def _sentence(sentence: Sentence, answer: Translation) -> dict[str, Any]:
    """Where it stands in the source and in the text, and every way to write it with its links."""
    [source_start] = _as_javascript_counts(answer.source, [sentence.source_start])
    [start] = _as_javascript_counts(answer.text, [sentence.start])
    return {
        "source": sentence.source,
        "source_start": source_start,
        "start": start,
        "targets": [
            {
                "text": candidate.text,
                "links": [
                    [
                        *_as_javascript_counts(sentence.source, link.source),
                        *_as_javascript_counts(candidate.text, link.target),
                    ]
                    for link in candidate.alignment or ()
                ],
            }
            for candidate in sentence.candidates
        ],
    }


def _as_javascript_counts(text: str, places: Iterable[int]) -> list[int]:
    """Places in a text, in units of UTF-16: a sign such as 😀 is two."""
    return [len(text[:place].encode("utf-16-le")) // 2 for place in places]

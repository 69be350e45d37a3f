"""All routes in one application: the two interfaces, the web page with its *Look inside*, and what watchers ask."""

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib import resources
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.documents.document import SUFFIXES
from regard.errors import how_to_install
from regard.serve import settings as limits
from regard.serve.answers import translate
from regard.serve.guard import RequestGuard
from regard.serve.libretranslate import LibreTranslate
from regard.serve.models import AUTO, Models, Translators
from regard.serve.monitoring import Log, Metrics
from regard.serve.openai import OpenAI
from regard.serve.request import BadField, RequestError, check_length, integer, json_response, parse_object, text_of
from regard.serve.settings import ServerSettings
from regard.text.language import LANGUAGE_NAMES
from regard.translate.search import TranslateOptions
from regard.translate.translation import Sentence, Translation

if TYPE_CHECKING:
    from regard.look.view import Look

_LOOK = "/look/"
_PASS = "regard_look"  # name of the cookie that opens pages of look without a key
_MAX_LOOKS = 4  # open pages of look; each keeps every value of a pass in memory
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".ico": "image/x-icon"}
_FILES = [each for each in (resources.files("regard.serve") / "page").iterdir() if Path(each.name).suffix in _TYPES]
PAGE = {f"/{each.name}".replace("/index.html", "/"): each.read_bytes() for each in _FILES}
"""files of the page, by path"""


class App:
    def __init__(self, models: Models, settings: ServerSettings, metrics: Metrics, log: Log) -> None:
        self.models, self._settings, self._metrics = models, settings, metrics
        self._looks: OrderedDict[str, Look] = OrderedDict()
        self._pass = secrets.token_urlsafe(24)
        self._one_at_a_time = asyncio.Lock()
        self.routes = self._routes(log)
        self._router = Router(self.routes, redirect_slashes=False, lifespan=self._lifespan)
        self.asgi: ASGIApp = RequestGuard(self._dispatch, settings, metrics, log, self._route_of, self._has_pass)
        workers = {name: each.worker for name, each in models.all.items()}
        metrics.gauges = {
            "regard_waiting": lambda: {name: each.num_waiting for name, each in workers.items()},
            "regard_model_up": lambda: {name: each.is_alive for name, each in workers.items()},
        }

    def _routes(self, log: Log) -> list[Route]:
        libre = LibreTranslate(self.models, self._settings)
        openai = OpenAI(self.models, self._settings, log)
        table: list[tuple[str, str, Any]] = [
            ("POST", "/translate", libre.translate),
            ("POST", "/detect", libre.detect),
            ("GET", "/languages", libre.languages),
            ("GET", "/frontend/settings", libre.frontend_settings),
            ("POST", "/translate_file", libre.translate_file),
            ("GET", "/download_file/{name}", libre.download),
            ("POST", "/suggest", libre.suggest),
            ("GET", "/v1/models", openai.models),
            ("GET", "/v1/models/{name}", openai.model),
            ("POST", "/v1/chat/completions", openai.chat),
            ("POST", "/v1/completions", openai.completions),
            ("POST", "/v1/embeddings", openai.embeddings),
            ("GET", "/health", self._health),
            ("GET", "/metrics", self._show_metrics),
            ("GET", "/spec", self._spec),
            ("GET", "/page/state", self._page_state),
            ("POST", "/page/translate", self._page_translate),
            ("POST", "/page/look", self._open_look),
            ("GET", "/look/{look}/{path:path}", self._look),
            ("POST", "/look/{look}/{path:path}", self._look),
            *(("GET", path, _page_file) for path in PAGE),
        ]
        return [Route(path, endpoint, methods=[method]) for method, path, endpoint in table]

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        # With an app in its scope the router raises HTTPException, and the guard answers.
        scope["app"] = self
        await self._router(scope, receive, send)

    def _route_of(self, path: str) -> tuple[str, bool]:
        """A path's route and whether its use is limited, by keys and by a rate."""
        scope = {"type": "http", "path": path, "method": "GET", "root_path": ""}
        route = next((each.path for each in self.routes if each.matches(scope)[0] != Match.NONE), "none")
        return route, route != "/health" and route not in PAGE

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        workers = [each.worker for each in self.models.all.values()]
        for worker in workers:
            worker.start()
        yield
        for worker in workers:
            await asyncio.to_thread(worker.stop)

    async def _health(self, request: Request) -> Response:
        if failing := self.models.failing:
            return json_response({"status": "unwell", "error": "a model does not answer", "models": failing}, 503)
        return json_response({"status": "ok"})

    async def _show_metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _spec(self, request: Request) -> Response:
        """The interface as OpenAPI: spec.json describes it, with the limits left open."""
        values: dict[str, Any] = {
            "version": version("regard"),
            "security": [{"bearer": []}] if self._settings.keys else [],
            "characters": self._settings.characters,
            "sources": ["auto", *self.models.languages],
            "targets": self.models.languages or [""],
            "models": list(self.models.all),
            **{name: value for name, value in vars(limits).items() if name.startswith("MAX_")},
        }
        text = (resources.files("regard.serve") / "spec.json").read_text(encoding="utf-8")
        for name, value in values.items():
            text = text.replace(f'"@{name}@"', json.dumps(value))
        return json_response(json.loads(text))

    async def _page_state(self, request: Request) -> Response:
        tasks = {name: each.manifest.task for name, each in self.models.all.items()}
        state = {
            "pairs": [{"source": source, "target": target} for source, target in self.models.pairs],
            "languages": {code: LANGUAGE_NAMES.get(code, code) for code in self.models.languages},
            "chat": [name for name, task in tasks.items() if task == "chat"],
            "write": [name for name, task in tasks.items() if task == "write"],
            "look": find_spec("torch") is not None,
            "characters": self._settings.characters,
            "files": list(SUFFIXES),
        }
        return json_response(state)

    async def _page_translate(self, request: Request) -> Response:
        """A translation sentence by sentence, with alternatives and word links."""
        fields = parse_object(await request.body())
        text = text_of(fields, "text")
        check_length([text], "text", self._settings.characters)
        alternatives = integer(fields, "alternatives", 0, 0, limits.MAX_ALTERNATIVES)
        source, target = self.models.direction(fields)
        found = self.models.detect(text, target) if source == AUTO else None
        code = source if found is None else found.language
        answer = Translation(text, text, [text], [])
        if translators := self.models.translators(code, target):
            [answer] = await translate(translators, [text], alternatives, alignment=True)
        sentences = [_page_sentence(each, answer) for each in answer.sentences]
        about = {"source": code, "probability": found and found.probability, "sure": not found or found.is_sure}
        return json_response({**about, "text": answer.text, "sentences": sentences})

    async def _open_look(self, request: Request) -> Response:
        """Open a text in look, by the model's name or languages, and answer where. Needs torch."""
        fields = parse_object(await request.body())
        text = text_of(fields, "text").strip()
        check_length([text], "text", self._settings.characters)
        if "model" in fields:
            translators: Translators = (self.models.find(text_of(fields, "model")),)
        else:
            translators = self.models.translators(*self.models.direction(fields))
        if not translators:
            raise BadField("target", "the target must be another language than the source")
        if find_spec("torch") is None:
            raise RequestError(501, f"looking into a model needs torch: {how_to_install('torch')}")
        from regard.look.view import look_at

        async with self._one_at_a_time:
            # The page sends one sentence.
            first = translators[0]
            options = TranslateOptions(split=False)
            look = await asyncio.to_thread(lambda: look_at(first.folder, text, engine=first.reopen(), options=options))
        name = secrets.token_urlsafe(16)
        self._looks[name] = look
        while len(self._looks) > _MAX_LOOKS:
            self._looks.popitem(last=False)
        response = json_response({"url": f"{_LOOK}{name}/"})
        response.set_cookie(_PASS, self._pass, path=_LOOK, httponly=True, samesite="strict")
        return response

    async def _look(self, request: Request) -> Response:
        """A file or a value of a page of look."""
        from regard.look.server import NotFound, get, post

        look = self._looks.get(request.path_params["look"])
        if look is None:
            raise RequestError(404, "this sentence is no longer open: open it again")
        is_change = request.method == "POST"
        if is_change and request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise RequestError(400, "a change must come as application/json: got something else")
        call: Any = post if is_change else get
        given: Any = await request.body() if is_change else dict(request.query_params)
        try:
            content, kind = await asyncio.to_thread(call, look.session, request.path_params["path"], given)
        except NotFound as error:
            raise RequestError(404, str(error)) from error
        return Response(content, media_type=kind)

    def _has_pass(self, path: str, headers: Headers) -> bool:
        """Whether a page of look asks that was opened by someone with a key."""
        if not path.startswith(_LOOK):
            return False
        given = cookie_parser(headers.get("cookie", "")).get(_PASS, "")
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._pass.encode())


async def _page_file(request: Request) -> Response:
    path = request.scope["path"]
    return Response(PAGE[path], media_type=_TYPES[Path(path).suffix or ".html"])


def _page_sentence(sentence: Sentence, answer: Translation) -> dict[str, Any]:
    """Where a sentence stands in the source and in the text, and its candidates with their word links."""
    targets = []
    for each in sentence.candidates:
        links = each.alignment or ()
        places = [_utf16(sentence.source, link.source) + _utf16(each.text, link.target) for link in links]
        targets.append({"text": each.text, "links": places})
    [source_start] = _utf16(answer.source, [sentence.source_start])
    [start] = _utf16(answer.text, [sentence.start])
    return {"source": sentence.source, "source_start": source_start, "start": start, "targets": targets}


def _utf16(text: str, places: Iterable[int]) -> list[int]:
    """Places in a text as JavaScript counts them, in units of UTF-16: 😀 is two."""
    return [len(text[:place].encode("utf-16-le")) // 2 for place in places]

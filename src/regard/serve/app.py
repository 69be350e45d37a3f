"""All routes in one application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.serve import guard
from regard.serve.files import Files
from regard.serve.guard import Guard
from regard.serve.libretranslate import LibreTranslate
from regard.serve.logs import Log
from regard.serve.metrics import Metrics
from regard.serve.models import Models
from regard.serve.openai import OpenAI
from regard.serve.refusal import json_response
from regard.serve.settings import Settings
from regard.serve.site import Site, page_names
from regard.serve.spec import specification

Endpoint = Callable[[Request], Awaitable[Response]]

_FILES = {"/": "index.html", **{f"/{name}": name for name in page_names()}}
"""of the page, by their paths"""
_OPEN = {"/health", *_FILES}
"""without a key"""
_TAKE_FILES = {"/translate_file"}


class App:
    """What is served, and the application that serves it."""

    def __init__(self, models: Models, settings: Settings, metrics: Metrics, log: Log) -> None:
        self.models, self.settings, self._metrics, self._log = models, settings, metrics, log
        self.routes = self._routes()
        self._router = Router(self.routes, redirect_slashes=False, lifespan=self._lifespan)
        self.asgi: ASGIApp = Guard(
            self._inside, settings, metrics, log, self._route_of, self._site.has_pass
        )
        metrics.gauge("regard_waiting", "Requests that wait for a model.", self._waiting, "model")
        metrics.gauge("regard_model_up", "Whether a model answers.", self._up, "model")

    async def _inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        # With an app in its scope the router raises what it does not know, and the guard answers.
        scope["app"] = self
        await self._router(scope, receive, send)

    def _routes(self) -> list[Route]:
        libre = LibreTranslate(self.models, self.settings, Files())
        openai = OpenAI(self.models, self.settings, self._log)
        self._site = site = Site(self.models, self.settings)
        table: list[tuple[str, str, Endpoint]] = [
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
            ("GET", "/health", self._health),
            ("GET", "/metrics", self._show_metrics),
            ("GET", "/spec", self._spec),
            ("GET", "/page/state", site.state),
            ("POST", "/page/translate", site.translate),
            ("POST", "/page/look", site.open_look),
            ("GET", "/look/{look}/{path:path}", site.look),
            ("POST", "/look/{look}/{path:path}", site.look),
            *(("GET", path, site.file(name)) for path, name in _FILES.items()),
        ]
        return [Route(path, endpoint, methods=[method]) for method, path, endpoint in table]

    def _route_of(self, path: str) -> guard.Route:
        scope = {"type": "http", "path": path, "method": "GET", "root_path": ""}
        for route in self.routes:
            if route.matches(scope)[0] != Match.NONE:
                name = route.path
                return guard.Route(name, name in _OPEN, name in _TAKE_FILES)
        return guard.Route("none")

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        self.models.start()
        yield
        await asyncio.to_thread(self.models.stop)

    async def _health(self, request: Request) -> Response:
        if unwell := self.models.unwell:
            return json_response(
                {"status": "unwell", "error": "a model does not answer", "models": unwell}, 503
            )
        return json_response({"status": "ok"})

    async def _show_metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _spec(self, request: Request) -> Response:
        models = self.models
        return json_response(specification(self.settings, models.languages, list(models.all)))

    def _waiting(self) -> dict[str, float]:
        return {name: each.worker.num_waiting for name, each in self.models.all.items()}

    def _up(self) -> dict[str, float]:
        return {name: float(each.worker.is_well) for name, each in self.models.all.items()}

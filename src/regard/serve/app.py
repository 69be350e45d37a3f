"""All routes in one application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.serve import settings as limits
from regard.serve.guard import RequestGuard, RouteRules
from regard.serve.libretranslate import LibreTranslate
from regard.serve.models import Models
from regard.serve.monitoring import Gauge, Log, Metrics
from regard.serve.openai import OpenAI
from regard.serve.request import json_response
from regard.serve.settings import Settings
from regard.serve.site import Site, page_names

Endpoint = Callable[[Request], Awaitable[Response]]

_PAGE = {"/": "index.html", **{f"/{name}": name for name in page_names()}}
"""files of the page, by path"""
_WITHOUT_KEY = {"/health", *_PAGE}
_WITH_FILE = {"/translate_file"}


class App:
    def __init__(self, models: Models, settings: Settings, metrics: Metrics, log: Log) -> None:
        self.models, self._settings, self._metrics = models, settings, metrics
        self._site = Site(models, settings)
        self.routes = self._routes(log)
        self._router = Router(self.routes, redirect_slashes=False, lifespan=self._lifespan)
        self.asgi: ASGIApp = RequestGuard(
            self._route, settings, metrics, log, self._rules_of, self._site.has_pass
        )

        def num_waiting() -> dict[str, float]:
            return {name: each.worker.num_waiting for name, each in models.all.items()}

        def is_up() -> dict[str, float]:
            return {name: each.worker.is_alive for name, each in models.all.items()}

        metrics.gauges += [
            Gauge("regard_waiting", "Requests that wait for a model.", num_waiting, "model"),
            Gauge("regard_model_up", "Whether a model answers.", is_up, "model"),
        ]

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        # With an app in its scope the router raises HTTPException, and the guard answers.
        scope["app"] = self
        await self._router(scope, receive, send)

    def _routes(self, log: Log) -> list[Route]:
        libre = LibreTranslate(self.models, self._settings)
        openai = OpenAI(self.models, self._settings, log)
        site = self._site
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
            *(("GET", path, site.file(name)) for path, name in _PAGE.items()),
        ]
        return [Route(path, endpoint, methods=[method]) for method, path, endpoint in table]

    def _rules_of(self, path: str) -> RouteRules:
        scope = {"type": "http", "path": path, "method": "GET", "root_path": ""}
        for route in self.routes:
            if route.matches(scope)[0] != Match.NONE:
                name = route.path
                return RouteRules(name, name not in _WITHOUT_KEY, name in _WITH_FILE)
        return RouteRules("none")

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        self.models.start()
        yield
        await asyncio.to_thread(self.models.stop)

    async def _health(self, request: Request) -> Response:
        if failing := self.models.failing:
            about = {"status": "unwell", "error": "a model does not answer", "models": failing}
            return json_response(about, 503)
        return json_response({"status": "ok"})

    async def _show_metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _spec(self, request: Request) -> Response:
        """The interface as OpenAPI: spec.json describes it, with the limits left open."""
        languages = self.models.languages
        values: dict[str, Any] = {
            "version": version("regard"),
            "security": [{"bearer": []}] if self._settings.keys else [],
            "characters": self._settings.characters,
            "sources": ["auto", *languages],
            "targets": languages or [""],
            "models": list(self.models.all),
            **{name: value for name, value in vars(limits).items() if name.startswith("MAX_")},
        }
        text = (resources.files("regard.serve") / "spec.json").read_text(encoding="utf-8")
        for name, value in values.items():
            text = text.replace(f'"@{name}@"', json.dumps(value))
        return json_response(json.loads(text))

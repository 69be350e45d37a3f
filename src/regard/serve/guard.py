"""What stands before every route: access, body size, time limits, safe headers, and the request log.

A body is read whole here, up to the route's limit and within a time, before anything looks at it. While a route works
the connection is watched: when the client leaves, the work is cancelled.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import RegardError
from regard.serve import settings as limits
from regard.serve.access import Keys, RateLimit, client_of, is_own_host
from regard.serve.monitoring import Log, Metrics
from regard.serve.request import RequestError, fields_of, speaks_openai
from regard.serve.settings import Settings

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Max-Age": "600",
}
_METHODS = ("GET", "HEAD", "POST", "OPTIONS")
_MAX_OPEN_REQUESTS = 512
"""requests being answered, those that wait for a model included"""
_CLIENT_LEFT = 499
"""status in the log when the client did not wait for its answer"""


@dataclass(frozen=True, slots=True)
class RouteRules:
    """How requests for a path are treated."""

    name: str
    """the route's pattern, for logs and metrics"""
    needs_key: bool = True
    takes_file: bool = False


class RequestGuard:
    """An ASGI application around another."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        metrics: Metrics,
        log: Log,
        rules_of: Callable[[str], RouteRules],
        has_pass: Callable[[str, Headers], bool],
    ) -> None:
        """rules_of: the rules for a path; has_pass: whether a request may see a page without a key."""
        self._app, self._settings, self._metrics, self._log = app, settings, metrics, log
        self._rules_of, self._has_pass = rules_of, has_pass
        self._keys, self._rate = Keys(settings.keys), RateLimit(settings.rate)
        self._num_open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        rules = self._rules_of(scope["path"])
        answer = _Answer(scope, send, self._settings.origins)
        began = time.monotonic()
        self._num_open += 1
        try:
            await self._answer(rules, scope, receive, answer)
        except RequestError as error:
            self._metrics.refused.add(reason=str(error.status))
            await answer.fail(error)
        except HTTPException as error:
            await answer.fail(_no_route(error, scope["method"]))
        except RegardError as error:
            await answer.fail(RequestError(400, str(error)))
        except Exception as error:
            self._log.fault("fault", error, id=answer.id, route=rules.name)
            await answer.fail(RequestError(500, "something went wrong here, not with your request"))
        finally:
            self._num_open -= 1
            self._record(rules.name, scope["method"], answer, time.monotonic() - began)

    def _record(self, route: str, method: str, answer: _Answer, seconds: float) -> None:
        status = answer.status or _CLIENT_LEFT
        method = method if method in _METHODS else "other"
        self._metrics.requests.add(route=route, method=method, status=str(status))
        self._metrics.seconds.observe(seconds, route=route)
        about = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
        self._log.write("request", id=answer.id, **about)

    async def _answer(
        self, rules: RouteRules, scope: Scope, receive: Receive, answer: _Answer
    ) -> None:
        headers = Headers(scope=scope)
        self._check_client(rules, scope, headers)
        if scope["method"] == "OPTIONS" and "origin" in headers:
            await Response(None, 204, _PREFLIGHT)(scope, receive, answer)
            return
        body = await self._read(rules, headers, receive)
        if self._keys and rules.needs_key:
            await self._check_key(scope, headers, body)
        seconds = self._settings.file_timeout if rules.takes_file else self._settings.timeout
        await self._run(self._app(scope, _replay(body), answer), receive, answer, seconds)

    def _check_client(self, rules: RouteRules, scope: Scope, headers: Headers) -> None:
        settings, host = self._settings, headers.getlist("host")
        if len(host) != 1 or not is_own_host(host[0], settings.hosts):
            message = "this server does not go by that name: allow it with --allow-host"
            raise RequestError(403, message, code="host")
        # Programs send no Origin; this server's own page and allowed sites may ask.
        own = (None, f"http://{host[0]}", f"https://{host[0]}", *settings.origins)
        if headers.get("origin") not in own:
            message = "pages of other sites may not ask: allow them with --allow-origin"
            raise RequestError(403, message, code="origin")
        if self._num_open > _MAX_OPEN_REQUESTS:
            message = "too many requests at once: come back"
            raise RequestError(503, message, retry_after=1, code="busy")
        address = scope["client"][0] if scope.get("client") else ""
        client = client_of(address, headers, settings.proxies)
        if rules.needs_key and (seconds := self._rate.wait(client)):
            message = f"Slowdown: at most {settings.rate} requests a minute"
            raise RequestError(429, message, retry_after=seconds, code="rate_limit_exceeded")

    async def _read(self, rules: RouteRules, headers: Headers, receive: Receive) -> bytes:
        most = self._settings.file_bytes if rules.takes_file else self._settings.body_bytes
        message = f"a request must have at most {most} bytes: send less at a time"
        too_large = RequestError(413, message)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestError(415, "a body must not be compressed: send it as it is")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 18:
            raise RequestError(400, "Content-Length must be a number")
        if int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(limits.BODY_TIMEOUT):
                while True:
                    part = await receive()
                    if part["type"] == "http.disconnect":
                        raise RequestError(400, "the request broke off")
                    body += part.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not part.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise RequestError(408, "the body did not arrive in time") from None

    async def _check_key(self, scope: Scope, headers: Headers, body: bytes) -> None:
        """A key is a bearer token, or LibreTranslate's field api_key; a pass opens a page of look."""
        path = scope["path"]
        if self._has_pass(path, headers):
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        key: object = token.strip() if scheme.lower() == "bearer" and token else None
        if key is None and not speaks_openai(path):
            key = QueryParams(scope["query_string"]).get("api_key")
            if key is None and body:
                try:
                    key = (await fields_of(Request(scope, _replay(body)))).get("api_key")
                except RequestError:
                    key = None
        if key is None or key not in self._keys:
            status = 401 if speaks_openai(path) else 403
            what = "needs an" if key is None else "does not know this"
            raise RequestError(status, f"this server {what} API key", code="invalid_api_key")

    async def _run(
        self, work: Awaitable[None], receive: Receive, answer: _Answer, seconds: float
    ) -> None:
        """Do the work while the client waits; the answer must begin within these seconds."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            done, _ = await asyncio.wait(
                {task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not done and answer.status is None:
                message = f"this took longer than {seconds:g} seconds: send less at a time"
                raise RequestError(504, message)
            if not done:
                await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
        finally:
            gone.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})


def _no_route(error: HTTPException, method: str) -> RequestError:
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "").replace("GET, HEAD", "GET")
        return RequestError(405, f"{method[:20]} is not taken here: use {allowed}", allow=allowed)
    message = "there is nothing here: a page is at / and what programs can ask at /spec"
    return RequestError(error.status_code, message)


class _Answer:
    """Sends the response, with safe headers, and remembers its status."""

    def __init__(self, scope: Scope, send: Send, origins: tuple[str, ...]) -> None:
        self._scope, self._send = scope, send
        self.id = uuid.uuid4().hex[:12]
        self.status: int | None = None
        origin = Headers(scope=scope).get("origin")
        self._origin = origin if origin in origins else None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-ID"] = self.id
            if self._origin is not None:
                headers["Access-Control-Allow-Origin"] = self._origin
                headers.add_vary_header("Origin")
            else:
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
        await self._send(message)

    async def fail(self, error: RequestError) -> None:
        if self.status is None:
            await error.response(self._scope["path"])(self._scope, _replay(b""), self)


def _replay(body: bytes) -> Receive:
    """Receives the body that was read already."""
    bodies = [body]

    async def receive() -> Message:
        if not bodies:
            # The guard watches the connection itself: a second call waits until it is cancelled.
            await asyncio.Event().wait()
        return {"type": "http.request", "body": bodies.pop(), "more_body": False}

    return receive


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

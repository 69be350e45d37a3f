"""What stands before every route: who asks, how much they send, how long it may take, and whether they still wait.

A body is read whole here, up to the route's cap and within a time, before anything looks at it. While a route works
the connection is watched: when the client goes, the work is cancelled.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import RegardError
from regard.serve import settings as limits
from regard.serve.logs import Log
from regard.serve.metrics import Metrics
from regard.serve.reading import fields_of
from regard.serve.refusal import Refusal, speaks_openai
from regard.serve.security import Keys, Rate, client_of, is_own_host, is_own_origin
from regard.serve.settings import Settings

POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_MOST_AT_ONCE = 512
"""requests being answered, those that wait for a model included"""
_GONE = 499
"""what is logged when the client did not wait for its answer"""


@dataclass(frozen=True, slots=True)
class Route:
    """How a request is treated, by its path."""

    name: str
    """for logs and counts: the pattern, not the path"""
    is_open: bool = False
    """without a key"""
    takes_file: bool = False


class Guard:
    """An ASGI application around another."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        metrics: Metrics,
        log: Log,
        route_of: Callable[[str], Route],
        has_pass: Callable[[str, Headers], bool],
    ) -> None:
        self._app, self._settings, self._metrics, self._log = app, settings, metrics, log
        self._route_of, self._has_pass = route_of, has_pass
        self._keys, self._rate = Keys(settings.keys), Rate(settings)
        self._num_open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = self._route_of(scope["path"])
        answer = _Answer(scope, send, self._settings.origins)
        began = time.monotonic()
        self._num_open += 1
        try:
            await self._answer(route, scope, receive, answer)
        except Refusal as refusal:
            self._metrics.refused.add(reason=str(refusal.status))
            await answer.fail(refusal)
        except HTTPException as error:
            await answer.fail(_no_route(error, scope["method"]))
        except RegardError as error:
            await answer.fail(Refusal(400, str(error)))
        except Exception as error:
            self._log.fault("fault", error, id=answer.id, route=route.name)
            await answer.fail(Refusal(500, "something went wrong here, not with your request"))
        finally:
            self._num_open -= 1
            seconds = time.monotonic() - began
            status = answer.status or _GONE
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.add(route=route.name, method=method, status=str(status))
            self._metrics.seconds.observe(seconds, route=route.name)
            self._log.write(
                "request",
                id=answer.id,
                method=method,
                route=route.name,
                status=status,
                seconds=round(seconds, 4),
            )

    async def _answer(self, route: Route, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = Headers(scope=scope)
        self._check_who(route, scope, headers)
        if scope["method"] == "OPTIONS" and "origin" in headers:
            await answer.preflight()
            return
        body = await self._read(route, headers, receive)
        replay = _Replay(body)
        if self._keys and not route.is_open:
            await self._check_key(scope, headers, body)
        seconds = self._settings.file_timeout if route.takes_file else self._settings.timeout
        await self._run(self._app(scope, replay, answer), receive, answer, seconds)

    def _check_who(self, route: Route, scope: Scope, headers: Headers) -> None:
        if len(headers.getlist("host")) != 1 or not is_own_host(
            headers["host"], self._settings.hosts
        ):
            raise Refusal(
                403, "this server does not go by that name: allow it with --allow-host", code="host"
            )
        if not is_own_origin(headers.get("origin"), headers["host"], self._settings.origins):
            raise Refusal(
                403,
                "pages of other sites may not ask: allow them with --allow-origin",
                code="origin",
            )
        if self._num_open > _MOST_AT_ONCE:
            raise Refusal(503, "too many requests at once: come back", retry_after=1, code="busy")
        address = scope["client"][0] if scope.get("client") else ""
        client = client_of(address, headers, self._settings.proxies)
        if not route.is_open and (seconds := self._rate.wait(client)):
            raise Refusal(
                429,
                f"Slowdown: at most {self._settings.rate} requests a minute",
                retry_after=seconds,
                code="rate_limit_exceeded",
            )

    async def _read(self, route: Route, headers: Headers, receive: Receive) -> bytes:
        most = self._settings.file_bytes if route.takes_file else self._settings.body_bytes
        too_large = Refusal(413, f"a request must have at most {most} bytes: send less at a time")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "a body must not be compressed: send it as it is")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 18:
            raise Refusal(400, "Content-Length must be a number")
        if int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(limits.MOST_WAIT_FOR_BODY):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "the request broke off")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise Refusal(408, "the body did not arrive in time") from None

    async def _check_key(self, scope: Scope, headers: Headers, body: bytes) -> None:
        """A key comes as a bearer token, or as LibreTranslate's field api_key; a pass opens one page."""
        path = scope["path"]
        if self._has_pass(path, headers):
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            key: object = token.strip()
        elif speaks_openai(path):
            key = None
        else:
            key = QueryParams(scope["query_string"]).get("api_key")
            if key is None and body:
                try:
                    key = (await fields_of(Request(scope, _Replay(body)))).get("api_key")
                except Refusal:
                    key = None
        if key is None or not self._keys.fit(key):
            status = 401 if speaks_openai(path) else 403
            what = "needs an" if key is None else "does not know this"
            raise Refusal(status, f"this server {what} API key", code="invalid_api_key")

    async def _run(
        self, work: Awaitable[None], receive: Receive, answer: _Answer, seconds: float
    ) -> None:
        """Do the work while the client waits, within the time until the answer begins."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            done, _ = await asyncio.wait(
                {task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not done and answer.status is None:
                raise Refusal(
                    504, f"this took longer than {seconds:g} seconds: send less at a time"
                )
            if not done:
                await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
        finally:
            gone.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})


def _no_route(error: HTTPException, method: str) -> Refusal:
    if error.status_code == 405:
        taken = (error.headers or {}).get("Allow", "").replace("GET, HEAD", "GET")
        return Refusal(405, f"{method[:20]} is not taken here: use {taken}", allow=taken)
    return Refusal(
        error.status_code,
        "there is nothing here: a page is at / and what programs can ask at /spec",
    )


_METHODS = ("GET", "HEAD", "POST", "OPTIONS")


class _Answer:
    """The way back to the client: safe headers on everything, and what the log wants to know."""

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

    async def fail(self, refusal: Refusal) -> None:
        if self.status is None:
            response = refusal.response(self._scope["path"])
            await response(self._scope, _nothing, self)

    async def preflight(self) -> None:
        headers = [
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"Authorization, Content-Type"),
            (b"access-control-max-age", b"600"),
        ]
        await self({"type": "http.response.start", "status": 204, "headers": headers})
        await self({"type": "http.response.body", "body": b""})


class _Replay:
    """The body that was read, handed on."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        # The guard watches the connection itself; who asks again waits until it is cancelled.
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _nothing() -> Any:
    return {"type": "http.disconnect"}

"""What stands before every route: access, body size, time limits, safe headers, and the request log.

A body is read whole here, up to the route's limit and within a time, before anything looks at it. While a route works
the connection is watched: when the client leaves, the work is cancelled.
"""

import asyncio
import hashlib
import hmac
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import RegardError
from regard.serve import settings as limits
from regard.serve.monitoring import Log, Metrics
from regard.serve.request import RequestError, fields_of, speaks_openai
from regard.serve.settings import ServerSettings

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
_FILE_ROUTE = "/translate_file"
_OPEN_ROUTES = ("/languages", "/frontend/settings")
"""routes that LibreTranslate's clients call without their key"""
_CLIENT_LEFT = 499  # status in the log when the client did not wait for its answer
_MAX_CLIENTS = 10_000  # clients whose rate is remembered


class RateLimit:
    """A token bucket for each client, refilled at `limit` requests a minute."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> int:
        """Seconds until the client may ask; 0 if it may now."""
        if not self._limit:
            return 0
        now = self._clock()
        left, then = self._clients.pop(client, (float(self._limit), now))
        left = min(left + (now - then) * self._limit / 60, float(self._limit))
        is_allowed = left >= 1
        self._clients[client] = (left - 1 if is_allowed else left, now)
        while len(self._clients) > _MAX_CLIENTS:
            self._clients.popitem(last=False)
        return 0 if is_allowed else max(1, round((1 - left) * 60 / self._limit))


def _replay(body: bytes) -> Receive:
    """Receives the body that was read already."""
    bodies = [body]

    async def receive() -> Message:
        if not bodies:
            # The guard watches the connection itself: a second call waits until it is cancelled.
            await asyncio.Event().wait()
        return {"type": "http.request", "body": bodies.pop(), "more_body": False}

    return receive


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


class RequestGuard:
    """An ASGI application around another."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        metrics: Metrics,
        log: Log,
        route_of: Callable[[str], tuple[str, bool]],
        has_pass: Callable[[str, Headers], bool],
    ) -> None:
        """route_of: a path's route and whether its use is limited; has_pass: whether a page may be seen without a key."""
        self._app, self._settings, self._metrics, self._log = app, settings, metrics, log
        self._route_of, self._has_pass = route_of, has_pass
        self._keys, self._rate = [_digest(key) for key in settings.keys], RateLimit(settings.rate)
        self._num_open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route, is_limited = self._route_of(scope["path"])
        method = scope["method"] if scope["method"] in _METHODS else "other"
        answer = _Answer(scope, send, self._settings.origins)
        began = time.monotonic()
        self._num_open += 1
        try:
            await self._answer(scope, receive, answer, route, is_limited)
        except RequestError as error:
            self._metrics.add("regard_refused_total", status=str(error.status))
            await answer.fail(error)
        except HTTPException as error:
            await answer.fail(_no_route(error, scope["method"]))
        except RegardError as error:
            await answer.fail(RequestError(400, str(error)))
        except Exception as error:
            self._log.fault(error, id=answer.id, route=route)
            await answer.fail(RequestError(500, "something went wrong here, not with your request"))
        finally:
            self._num_open -= 1
            seconds, status = time.monotonic() - began, answer.status or _CLIENT_LEFT
            self._metrics.add("regard_requests_total", method=method, route=route, status=str(status))
            self._metrics.observe("regard_request_seconds", seconds, route=route)
            about = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
            self._log.event("request", id=answer.id, **about)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer, route: str, is_limited: bool) -> None:
        settings, headers, is_file = self._settings, Headers(scope=scope), route == _FILE_ROUTE
        self._check_client(scope, headers, is_limited)
        if scope["method"] == "OPTIONS" and "origin" in headers:
            await Response(None, 204, _PREFLIGHT)(scope, receive, answer)
            return
        body = await _read(headers, receive, settings.file_bytes if is_file else settings.body_bytes)
        needs_key = is_limited and route not in _OPEN_ROUTES
        if self._keys and needs_key and not self._has_pass(scope["path"], headers):
            await self._check_key(scope, headers, body)
        seconds = settings.file_timeout if is_file else settings.timeout
        await _run(self._app(scope, _replay(body), answer), receive, answer, seconds)

    def _check_client(self, scope: Scope, headers: Headers, is_limited: bool) -> None:
        settings, host = self._settings, headers.getlist("host")
        if len(host) != 1 or not settings.is_own_host(host[0]):
            raise RequestError(403, "this server does not go by that name: allow it with --allow-host", code="host")
        # Programs send no Origin; this server's own page and allowed sites may ask.
        own = (None, f"http://{host[0]}", f"https://{host[0]}", *settings.origins)
        if headers.get("origin") not in own:
            raise RequestError(403, "pages of other sites may not ask: allow them with --allow-origin", code="origin")
        if self._num_open > limits.MAX_OPEN_REQUESTS:
            raise RequestError(503, "too many requests at once: come back", code="busy", retry_after=1)
        address = scope["client"][0] if scope.get("client") else ""
        if is_limited and (seconds := self._rate.wait(settings.client_of(address, headers))):
            message = f"Slowdown: at most {settings.rate} requests a minute"
            raise RequestError(429, message, code="rate_limit_exceeded", retry_after=seconds)

    async def _check_key(self, scope: Scope, headers: Headers, body: bytes) -> None:
        """A key is a bearer token, or LibreTranslate's field api_key."""
        is_openai = speaks_openai(scope["path"])
        scheme, _, token = headers.get("authorization", "").partition(" ")
        key: object = token.strip() if scheme.lower() == "bearer" and token else None
        if key is None and not is_openai:
            key = QueryParams(scope["query_string"]).get("api_key")
            if key is None and body:
                try:
                    key = (await fields_of(Request(scope, _replay(body)))).get("api_key")
                except RequestError:
                    key = None
        given = _digest(str(key))
        # A list, so that every key is compared.
        if key is None or not any([hmac.compare_digest(each, given) for each in self._keys]):
            what = "needs an" if key is None else "does not know this"
            raise RequestError(401 if is_openai else 403, f"this server {what} API key", code="invalid_api_key")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


async def _read(headers: Headers, receive: Receive, most: int) -> bytes:
    too_large = RequestError(413, f"a request must have at most {most} bytes: send less at a time")
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


async def _run(work: Awaitable[None], receive: Receive, answer: _Answer, seconds: float) -> None:
    """Do the work while the client waits; the answer must begin within these seconds."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        done, _ = await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done and answer.status is None:
            raise RequestError(504, f"this took longer than {seconds:g} seconds: send less at a time")
        if not done:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _no_route(error: HTTPException, method: str) -> RequestError:
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "").replace("GET, HEAD", "GET")
        return RequestError(405, f"{method[:20]} is not taken here: use {allowed}", allow=allowed)
    return RequestError(error.status_code, "there is nothing here: a page is at / and what programs can ask at /spec")

"""The server as a process: its socket, time limits of connections, a watch over the models, and shutdown."""

import asyncio
import logging
import signal
import socket
import sys
import time
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.errors import UsageError
from regard.serve import settings as limits
from regard.serve.app import App
from regard.serve.monitoring import Log
from regard.serve.request import json_bytes
from regard.serve.settings import ServerSettings

_SWITCH_INTERVAL = 0.001
"""Seconds for which a thread keeps the interpreter. With Python's 5 ms a model's thread would delay each request."""
_GIVE_UP_AFTER = 20.0
"""seconds for which a model may fail before the process ends, so that a supervisor can restart it"""


def _last_response(status: str, message: str) -> bytes:
    """An error in JSON like every other, for a connection that then ends."""
    body = json_bytes({"error": message})
    about = f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"HTTP/1.1 {status}\r\n{about}\r\n\r\n".encode() + body


def _max_connections() -> int:
    """The limit, or three quarters of the open files that the system allows."""
    try:
        import resource
    except ImportError:
        return limits.MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 2 * limits.MAX_CONNECTIONS:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (2 * limits.MAX_CONNECTIONS, hard))
        except (ValueError, OSError):  # more than the system allows
            return min(limits.MAX_CONNECTIONS, 3 * soft // 4)
    return limits.MAX_CONNECTIONS


MAX_CONNECTIONS = _max_connections()


class Connection(H11Protocol):
    """A connection that is cut when the client is too slow.

    uvicorn waits for ever for the head of a request, for a client that does not read its answer, and for the rest of
    a body that was refused.
    """

    _timeout: float | None = None
    _timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.write(_last_response("503 Service Unavailable\r\nRetry-After: 1", "too many connections here"))
            transport.close()
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._reader_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_timer = self.loop.call_later(limits.READER_TIMEOUT, self.transport.abort)

    def resume_writing(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_last_response("400 Bad Request", msg))
        self.transport.close()

    def _watch(self) -> None:
        """Start the timer when the client has something to send, and stop it when that has arrived."""
        timeout: float | None = None
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            timeout = limits.HEAD_TIMEOUT
        elif self.conn.their_state is h11.SEND_BODY and self.cycle and self.cycle.response_complete:
            timeout = limits.REFUSED_BODY_TIMEOUT
        if timeout == self._timeout:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timeout = timeout
        if timeout is not None and not self.transport.is_closing():
            self._timer = self.loop.call_later(timeout, self.transport.abort)


class HttpServer(uvicorn.Server):
    """uvicorn, ended by a signal without an error, and ended with one when a model stays broken."""

    def __init__(self, app: App, log: Log) -> None:
        self._app, self._log = app, log
        self.has_failed = False
        super().__init__(
            uvicorn.Config(
                app.asgi,
                http=Connection,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=limits.KEEP_ALIVE,
                timeout_graceful_shutdown=limits.SHUTDOWN_TIMEOUT,
            )
        )

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        watch = asyncio.ensure_future(self._watch_models())
        try:
            await super().serve(sockets)
        finally:
            watch.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._log.event("stop", signal=signal.Signals(sig).name)
        super().handle_exit(sig, frame)

    async def _watch_models(self) -> None:
        since: float | None = None
        while True:
            await asyncio.sleep(1)
            failing = self._app.models.failing
            if not failing:
                since = None
                continue
            if since is None:
                since = time.monotonic()
                self._log.event("unwell", models=failing)
                for name in failing:
                    if fault := self._app.models.all[name].worker.fault:
                        self._log.fault(fault, model=name)
            if time.monotonic() - since > _GIVE_UP_AFTER:
                self.has_failed = self.should_exit = self.force_exit = True
                return


def bind(settings: ServerSettings) -> socket.socket:
    """The listening socket, made before the models are loaded so that a taken port is reported at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; without it an answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"the address must be one of this machine with a free port: {settings.host} port "
            f"{settings.port} cannot be used ({error.strerror or error}); name another"
        ) from error
    listening.setblocking(False)
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: App, listening: socket.socket, log: Log) -> bool:
    """Serve until a signal comes; whether all was well."""
    logger = logging.getLogger("uvicorn.error")
    logger.handlers, logger.propagate = [log], False
    logger.setLevel(logging.WARNING)
    sys.setswitchinterval(_SWITCH_INTERVAL)
    server = HttpServer(app, log)
    # uvicorn handles both signals while it serves, and raises them again at the end: that must not be an error.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    server.run(sockets=[listening])
    return not server.has_failed

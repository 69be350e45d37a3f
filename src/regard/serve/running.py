"""The server as a process: one socket, a watch over the models, and a tidy end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

import uvicorn

from regard.errors import UsageError
from regard.serve.app import App
from regard.serve.connection import Connection
from regard.serve.logs import Forward, Log
from regard.serve.settings import KEEP_ALIVE, STOP_WITHIN, Settings

_SWITCH_AFTER = 0.001

_GIVE_UP_AFTER = 20.0
"""seconds for which a model may be unwell until the process ends, so that whoever started it can do so anew"""


class Server(uvicorn.Server):
    """A signal ends it without being raised again: to be told to stop is no failure."""

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
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=STOP_WITHIN,
            )
        )

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        watch = asyncio.ensure_future(self._watch())
        try:
            await super().serve(sockets)
        finally:
            watch.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in signals}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._log.write("stop", signal=signal.Signals(sig).name)
        super().handle_exit(sig, frame)

    async def _watch(self) -> None:
        """End with an error when a model stays unwell."""
        since: float | None = None
        while True:
            await asyncio.sleep(1)
            unwell = self._app.models.unwell
            if not unwell:
                since = None
                continue
            if since is None:
                since = time.monotonic()
                self._log.write("unwell", models=unwell)
                for name in unwell:
                    if fault := self._app.models.all[name].worker.fault:
                        self._log.fault("fault", fault, model=name)
            if time.monotonic() - since > _GIVE_UP_AFTER:
                self.has_failed = self.should_exit = self.force_exit = True
                return


def bind(settings: Settings) -> socket.socket:
    """The socket to listen on, so that a taken port is said before anything is loaded."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends small segments at once only where the protocol is named; else an answer waits 40 ms.
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
    logger.handlers, logger.propagate = [Forward(log)], False
    logger.setLevel(logging.WARNING)
    # A model's thread would otherwise keep the interpreter for 5 ms each time a request wants it.
    sys.setswitchinterval(_SWITCH_AFTER)
    server = Server(app, log)
    server.run(sockets=[listening])
    return not server.has_failed

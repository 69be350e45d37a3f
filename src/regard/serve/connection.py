"""One connection of the HTTP server, with an end to its patience.

uvicorn waits for ever for the head of a request, for a client that does not read its answer, and for the rest of a
body that was refused. Here each of these has a time after which the connection is cut.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.serve import settings

Awaited = Literal["head", "rest"]

_SECONDS: dict[Awaited, float] = {
    "head": settings.MOST_WAIT_FOR_HEAD,
    "rest": settings.MOST_WAIT_FOR_REST,
}


_NO_ROOM_BODY = b'{"error":"too many connections here"}'
_NO_ROOM = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(_NO_ROOM_BODY), _NO_ROOM_BODY)
)


def _most_connections() -> int:
    """As many as the system lets us have, and some left for files."""
    try:
        import resource
    except ImportError:
        return settings.MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * settings.MOST_CONNECTIONS
    if soft < wanted and (hard == resource.RLIM_INFINITY or hard >= wanted):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return settings.MOST_CONNECTIONS
    return (
        settings.MOST_CONNECTIONS
        if soft == resource.RLIM_INFINITY
        else min(settings.MOST_CONNECTIONS, 3 * soft // 4)
    )


MOST_CONNECTIONS = _most_connections()


class Connection(H11Protocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._awaited: Awaited | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.write(_NO_ROOM)
            transport.close()
            return
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
        self._reader_timer = self.loop.call_later(
            settings.MOST_WAIT_FOR_READER, self.transport.abort
        )

    def resume_writing(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Like every other error, in JSON."""
        body = json.dumps({"error": msg}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _watch(self) -> None:
        """Begin to count when the client owes us something, and stop when it has given it."""
        awaited: Awaited | None = None
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            awaited = "head"
        elif self.conn.their_state is h11.SEND_BODY and self.cycle and self.cycle.response_complete:
            awaited = "rest"
        if awaited == self._awaited:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._awaited = awaited
        if awaited is not None and not self.transport.is_closing():
            self._timer = self.loop.call_later(_SECONDS[awaited], self.transport.abort)

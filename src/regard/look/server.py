"""The page and its numbers over HTTP, for this machine alone.

Bound to loopback. A request that names another host is refused, so that no web page can reach it under
a name of its own (DNS rebinding), and a change is only taken as JSON from the page itself.
"""

from __future__ import annotations

import html
import json
import mimetypes
import sys
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from regard.errors import RegardError, UsageError
from regard.look.document import describe, document, neighbours, pca, probability
from regard.look.places import places, text_of
from regard.look.session import Run, Session
from regard.look.single_file import binary

ADDRESS = "127.0.0.1"
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_MAX_BODY = 1 << 20
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Query = dict[str, str]


class NotFound(Exception):
    """There is nothing under this address."""


class Server(ThreadingHTTPServer):
    """The page of one session."""

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"port must be free and from 0 to 65535: {port} cannot be used ({error}); name another"
            ) from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away before its answer is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(partial(get, self.server.session))

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the user's."""

    def _answer(self, respond: Callable[[str, Query], tuple[bytes, str]]) -> None:
        if not self._from_here():
            self._fail(HTTPStatus.FORBIDDEN, "only this machine may ask, under its own name")
            return
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        try:
            content, kind = respond(unquote(parts.path).removeprefix("/"), query)
        except NotFound as error:
            self._fail(HTTPStatus.NOT_FOUND, str(error))
        except RegardError as error:
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self._send(HTTPStatus.OK, content, kind)

    def _post(self, path: str, query: Query) -> tuple[bytes, str]:
        if self.headers.get_content_type() != "application/json":
            raise UsageError("a change must come as application/json: got something else")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            # What is not read would be taken for the next request.
            self.close_connection = True
            raise UsageError(f"a change must have a length of at most {_MAX_BODY} bytes")
        return post(self.server.session, path, self.rfile.read(int(length)))

    def _from_here(self) -> bool:
        """Any port will do: the user may have forwarded ours to another."""
        host = self.headers.get("Host", "")
        name, _, port = host.partition(":")
        if name not in (ADDRESS, "localhost") or not (port.isdecimal() or not port):
            return False
        return self.headers.get("Origin") in (None, f"http://{host}")

    def _fail(self, status: HTTPStatus, message: str) -> None:
        if self.command == "POST":
            self.close_connection = True
        self._send(status, *_json({"error": message}))

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), **_HEADERS}
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def get(session: Session, path: str, query: Query) -> tuple[bytes, str]:
    """A file of the page, or what it asks about a session, and its type."""
    if not path.startswith("api/"):
        return page_file(path or "index.html")
    if path == "api/document":
        return _json(document(session, _number(query, "run", 0)))
    if path == "api/sentence":
        run = session.sentence(_number(query, "number"), _number(query, "run", 0))
        return _json(describe(run))
    if path == "api/models":
        models = [{"run": run.number, **describe(run)["model"]} for run in session.unchanged]
        return _json(models)
    run = session.run(_number(query, "run", 0))
    if path.startswith("api/tensor/"):
        return _tensor(run, path.removeprefix("api/tensor/"), query), "application/octet-stream"
    if path == "api/probability":
        return _json(probability(run, _number(query, "step"), query.get("text", "")))
    if path == "api/neighbours":
        token, side = _number(query, "token"), query.get("side", "target")
        return _json(neighbours(run, token, side, _number(query, "count", 10)))
    if path.startswith("api/code/"):
        return code(run, path.removeprefix("api/code/")), "text/html; charset=utf-8"
    if path == "api/pca":
        return _json(pca(run))
    raise NotFound(f"there is nothing under {path!r}")


def post(session: Session, path: str, body: bytes) -> tuple[bytes, str]:
    """A change that the page asks for, as JSON: the run with it."""
    if path != "api/whatif":
        raise NotFound(f"there is nothing under {path!r}")
    try:
        asked = json.loads(body)
    except ValueError as error:
        raise UsageError(f"a change must be JSON: {error}") from error
    if not isinstance(asked, dict) or not isinstance(asked.get("edits"), list):
        raise UsageError('a change must be {"edits": [...]}: got something else')
    number = asked.get("run", 0)
    if not isinstance(number, int):
        raise UsageError(f"run must be a number: got {number!r}; name one of the page's")
    run = session.whatif(asked["edits"], number)
    return _json({"run": run.number, "document": document(session, run.number)})


def page_names() -> list[str]:
    """The files of the page."""
    folder = resources.files("regard.look") / "page"
    return sorted(each.name for each in folder.iterdir() if each.is_file())


def code(run: Run, box: str) -> bytes:
    """The file that computes a box, as a page with the line marked."""
    place = places(run.subject.config.is_recurrent).get(box)
    if place is None:
        raise NotFound(f"no box is called {box!r}")
    lines = [html.escape(line) for line in text_of(place).split("\n")]
    lines[place["line"] - 1] = f'<mark id="here">{lines[place["line"] - 1]}</mark>'
    name = html.escape(place["file"])
    text = "\n".join(lines)
    return f"<!doctype html><title>{name}</title><h1>{name}</h1><pre>{text}</pre>".encode()


def page_file(name: str) -> tuple[bytes, str]:
    """A file of the page and its type; only a name that is listed there is ever opened."""
    if name not in page_names():
        raise NotFound(f"there is nothing under {name!r}")
    suffix = name[name.rfind(".") :]
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return (resources.files("regard.look") / "page" / name).read_bytes(), kind


def _tensor(run: Run, name: str, query: Query) -> bytes:
    """The whole value, or one row of it: tables of a whole vocabulary are large."""
    value = run.tensor(name)
    if value is None:
        raise NotFound(f"no value is called {name!r}")
    if "row" not in query:
        return binary(value)
    row = _number(query, "row")
    if value.ndim == 0 or row >= len(value):
        raise UsageError(f"row must be one of the value's: got {row}")
    return binary(value[row])


def _number(query: Query, name: str, default: int | None = None) -> int:
    if name not in query and default is not None:
        return default
    text = query.get(name)
    if text is None or not text.isdecimal():
        raise UsageError(f"{name} must be a number from 0 up: got {text!r}")
    return int(text)


def _json(value: Any) -> tuple[bytes, str]:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode(), "application/json"

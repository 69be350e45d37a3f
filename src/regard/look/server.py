"""The page and its numbers over HTTP, for this machine alone.

Bound to loopback. A request that names another host is refused, so that no web page can reach it under
a name of its own (DNS rebinding), and a change is only taken as JSON from the page itself.
"""

import functools
import html
import json
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from regard.errors import RegardError, UsageError
from regard.look.chain_rule import ChainRule
from regard.look.document import Document, describe, document, places, source_file
from regard.look.effects import head_effects, nearest, neighbours, pca, probability, weights
from regard.look.run import Run
from regard.look.session import Session
from regard.look.single_file import binary

ADDRESS = "127.0.0.1"
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_MAX_BODY = 1 << 20
_PAGE = resources.files("regard.look") / "page"
_TEXT = "text/{}; charset=utf-8".format
_TYPES = {".js": _TEXT("javascript"), ".css": _TEXT("css"), ".html": _TEXT("html"), ".ico": "image/x-icon"}
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_CHANGES = {
    "api/text": '{"text": "...", "model": 0}',
    "api/training": '{"run": 0, "step": 8, "reference": "..."}',
    "api/nearest": '{"run": 0, "passages": "..."}',
    "api/whatif": '{"run": 0, "edits": [...]}',
}
Query = dict[str, str]
Answer = tuple[bytes, str]  # content and type


class NotFound(Exception):
    """There is nothing under this address."""


_STATUSES = {NotFound: HTTPStatus.NOT_FOUND, PermissionError: HTTPStatus.FORBIDDEN}


class Server(ThreadingHTTPServer):
    """The page of one session."""

    daemon_threads = True

    def __init__(
        self,
        session: Session | Callable[[], Session],
        port: int = 0,
        spend: Callable[[float, bool], object] | None = None,
    ) -> None:
        """session: or a function that begins it when somebody first looks. spend: is told what each answer took."""
        self._session, self._lock, self.spend = session, threading.Lock(), spend
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"port must be free and from 0 to 65535: {port} cannot be used ({error}); name another"
            ) from error

    @property
    def session(self) -> Session:
        with self._lock:
            if not isinstance(self._session, Session):
                self._session = self._session()
            return self._session

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
        began = time.thread_time()
        address, status = urlsplit(self.path), HTTPStatus.OK
        try:
            content, kind = self._answer(unquote(address.path).removeprefix("/"), dict(parse_qsl(address.query)))
        except (PermissionError, NotFound, RegardError) as error:
            status = _STATUSES.get(type(error), HTTPStatus.BAD_REQUEST)
            content, kind = _json({"error": str(error)})
            # What was not read would be taken for the next request.
            self.close_connection |= self.command == "POST"
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **_HEADERS}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        if self.server.spend:
            self.server.spend(time.thread_time() - began, self.command == "POST")

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the user's."""

    def _answer(self, path: str, query: Query) -> Answer:
        if not self._from_here():
            raise PermissionError("only this machine may ask, under its own name")
        if self.command == "GET":
            return get(self.server.session, path, query)
        if self.headers.get_content_type() != "application/json":
            raise UsageError("a change must come as application/json: got something else")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            raise UsageError(f"a change must have a length of at most {_MAX_BODY} bytes")
        return post(self.server.session, path, self.rfile.read(int(length)))

    def _from_here(self) -> bool:
        """Any port will do: the user may have forwarded ours to another."""
        host = self.headers.get("Host", "")
        name, _, port = host.partition(":")
        if name not in (ADDRESS, "localhost") or not (port.isdecimal() or not port):
            return False
        return self.headers.get("Origin") in (None, f"http://{host}")


def get(session: Session, path: str, query: Query) -> Answer:
    """A file of the page, or what it asks about a session."""
    if not path.startswith("api/"):
        return page_file(path or "index.html")
    question, _, name = path.removeprefix("api/").partition("/")
    number, training = _number(query, "run", 0), session.training
    run = functools.partial(session.run, number)
    if question == "tensor":
        return _tensor(run(), name, query), "application/octet-stream"
    if question == "code":
        return code(run(), name), _TYPES[".html"]
    answers: dict[str, Callable[[], Any]] = {
        "document": lambda: document(session, number),
        "models": lambda: [
            {"name": name, "task": each.task, "language": each.source_language or each.target_language}
            for name, _, each in session.models
        ],
        "training": lambda: training and training.describe(_number(query, "after", 0)),
        "sentence": lambda: describe(session.sentence(_number(query, "number"), number)),
        "probes": lambda: training and training.probes(run().subject.step, run().subject.network),
        "probability": lambda: probability(run(), _number(query, "step"), query.get("text", "")),
        "neighbours": lambda: neighbours(run(), _number(query, "token"), query.get("side", "target")),
        "pca": lambda: pca(run()),
        "weights": lambda: weights(run(), name, query.get("rows", ""), query.get("columns", "")),
        "chain": lambda: chain(run(), name, query.get("index", "")),
        "effects": lambda: head_effects(run(), name),
    }
    if question not in answers:
        raise NotFound(f"there is nothing under {path!r}")
    return _json(answers[question]())


def post(session: Session, path: str, body: bytes) -> Answer:
    """A change that the page asks for, as JSON: the run with it."""
    if path not in _CHANGES:
        raise NotFound(f"there is nothing under {path!r}")
    try:
        asked = json.loads(body)
    except ValueError as error:
        raise UsageError(f"a change must be JSON: {error}") from error
    asked = {"run": 0, "model": 0, "step": None, "reference": None, **(asked if isinstance(asked, dict) else {})}
    match path, asked:
        case "api/text", {"text": str(text), "model": int(model)}:
            return _json(describe(session.text(text, model)))
        case "api/training", {"run": int(number), "step": int() | None as step, "reference": str() | None as reference}:
            return _json(describe(session.learning(number, step, reference)))
        case "api/nearest", {"run": int(number), "passages": str(passages)}:
            return _json(nearest(session.run(number), passages.splitlines()))
        case "api/whatif", {"run": int(number), "edits": list(edits)}:
            run = session.whatif(edits, number)
            return _json({"run": run.number, "document": document(session, run.number)})
    raise UsageError(f"what is sent to {path} must be {_CHANGES[path]}: got something else")


@functools.cache
def page_names() -> list[str]:
    """The files of the page, and those that it needs of its own engine."""
    return [*sorted(each.name for each in _PAGE.iterdir() if each.is_file()), "engine/base64.js", "engine/client.js"]


def page_file(name: str) -> Answer:
    """A file of the page and its type; only a name that is listed there is ever opened."""
    if name not in page_names():
        raise NotFound(f"there is nothing under {name!r}")
    return (_PAGE / name).read_bytes(), _TYPES.get(name[name.rfind(".") :], "application/octet-stream")


def code(run: Run, box: str) -> bytes:
    """The file that computes a box, as a page with the line marked."""
    place = places(run.subject.config.is_recurrent).get(box)
    if place is None:
        raise NotFound(f"no box is called {box!r}")
    name: str = place["file"]
    lines = html.escape(source_file(name)).split("\n")
    lines[place["line"] - 1] = f'<mark id="here">{lines[place["line"] - 1]}</mark>'
    text = "\n".join(lines)
    return f"<!doctype html><title>{name}</title><h1>{name}</h1><pre>{text}</pre>".encode()


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


def chain(run: Run, name: str, index: str) -> Document:
    """The arithmetic of one gradient or updated weight of a training step."""
    places = index.split(",")
    if run.step is None or not all(place.isdecimal() for place in places):
        raise UsageError("gradients are those of a training step: take one apart, and name a cell as 0,1")
    return ChainRule(run.step, run.subject.config).derive(name, tuple(map(int, places)))


def _json(value: Any) -> Answer:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode(), "application/json"

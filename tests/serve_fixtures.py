"""A server with random models on a free port of this machine: two translate, one chats, one writes, one searches."""

import contextlib
import http.client
import io
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures import make_model_folder, make_random_folder

from regard.config import DecodeConfig
from regard.serve.app import App
from regard.serve.models import Models, load_models
from regard.serve.monitoring import Log, Metrics
from regard.serve.server import HttpServer, address_of, bind
from regard.serve.settings import ServerSettings

KEY = "a-key-of-twenty-three-c"
NAMES = ("fr-en", "en-fr", "chat", "story", "search")


def make_story_folder(folder: Path) -> Path:
    """A decoder-only model that goes on with a text."""
    shape = dict(architecture="decoder-only", num_decoder_layers=2, d_model=22, d_ff=31, num_heads=2, max_positions=601)
    decode = DecodeConfig(method="sample", temperature=0.9, top_k=50)
    about = dict(task="write", target_language="en", decode=decode)
    return make_random_folder(folder, shape, seed=5, **about)


def make_search_folder(folder: Path) -> Path:
    """An encoder alone."""
    shape = dict(architecture="encoder-only", num_encoder_layers=2, d_model=22, d_ff=31, num_heads=2, norm="rms")
    return make_random_folder(folder, shape, seed=5, task="search", longest=67)


def make_folders(parent: Path, names: Sequence[str] = NAMES) -> list[Path]:
    sampled = DecodeConfig(method="sample", max_length=7)
    made = {
        "fr-en": make_model_folder,
        "en-fr": lambda folder: make_model_folder(folder, source_language="en", target_language="fr"),
        "chat": lambda folder: make_model_folder(folder, task="chat", decode=sampled),
        "story": make_story_folder,
        "search": make_search_folder,
    }
    return [made[name](parent / name) for name in names]


def load(folders: Sequence[Path], queue: int = 64, pivot: str = "") -> tuple[Models, Metrics]:
    metrics = Metrics()
    models, _ = load_models([str(each) for each in folders], queue=queue, metrics=metrics, threads=1, pivot=pivot)
    return models, metrics


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(address: tuple[str, int], method: str, path: str, body: Any = None, headers: Any = None) -> Answer:
    with contextlib.closing(http.client.HTTPConnection(*address, timeout=30)) as connection:
        connection.request(method, path, body.encode() if isinstance(body, str) else body, headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())


@dataclass
class Running:
    """A server that answers, and a client for it."""

    app: App
    server: HttpServer
    url: str
    log: io.StringIO

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        return request(self.address, method, path, body, headers)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, content: Any, **headers: str) -> Answer:
        body = content if isinstance(content, bytes | str) else json.dumps(content)
        return self.ask("POST", path, body, {"Content-Type": "application/json", **headers})

    def form(self, path: str, content: str) -> Answer:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, content, kind)

    def upload(self, name: str, data: bytes, **fields: str) -> Answer:
        return self.ask("POST", "/translate_file", *multipart(name, data, fields))

    def connect(self, timeout: float = 30) -> socket.socket:
        return socket.create_connection(self.address, timeout=timeout)

    def worker(self, name: str = "fr-en") -> Any:
        return self.app.models.all[name].worker

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def multipart(name: str, data: bytes, fields: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    mark = "a2b3c5d7"
    begin = f"--{mark}\r\nContent-Disposition: form-data; name="
    parts = [f'{begin}"{key}"\r\n\r\n{value}\r\n'.encode() for key, value in fields.items()]
    head = f'{begin}"file"; filename="{name}"\r\n\r\n'
    body = b"".join(parts) + head.encode() + data + f"\r\n--{mark}--\r\n".encode()
    return body, {"Content-Type": f"multipart/form-data; boundary={mark}"}


@contextlib.contextmanager
def running(folders: Sequence[Path], pivot: str = "", **changes: Any) -> Iterator[Running]:
    """The server in a thread, until the block ends; without folders it serves every installed model."""
    settings = ServerSettings(**{"port": 0, **changes})
    models, metrics = load(folders, settings.queue, pivot)
    stream = io.StringIO()
    log = Log(stream)
    app = App(models, settings, metrics, log)
    listening = bind(settings)
    server = HttpServer(app, log)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield Running(app, server, address_of(listening), stream)
    finally:
        server.should_exit = True
        thread.join(timeout=60)
        assert not thread.is_alive()


def wait_until(condition: Any, seconds: float = 20.0) -> None:
    """For what another thread is about to do."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.005)

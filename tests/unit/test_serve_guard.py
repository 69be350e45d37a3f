"""What stands before every route: bodies, slow clients, deadlines, hosts, origins, keys, rates, logs."""

import gzip
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_fixtures import KEY, Running, make_folders, running, wait_until

from regard.serve import server as server_module
from regard.serve import settings as limits
from regard.serve.app import PAGE

SECRET = "Jane dort à Zanzibar"
ASK = {"q": SECRET, "source": "fr", "target": "en"}
STORY = {"model": "story", "prompt": "a", "max_tokens": 500}
CHAT = {"model": "fr-en", "messages": [{"role": "user", "content": SECRET}], "stream": True}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_folders(tmp_path_factory.mktemp("models"), ("fr-en", "story"))


@pytest.fixture(scope="module")
def server(folders: list[Path]) -> Iterator[Running]:
    with running(folders, body_bytes=50_000, file_bytes=70_000) as started:
        yield started


@pytest.fixture(scope="module")
def locked(folders: list[Path]) -> Iterator[Running]:
    with running(folders, keys=(KEY, "another-key-of-some-length")) as started:
        yield started


class Held:
    """The model stopped in the middle of its work, until it is let go."""

    def __init__(self, server: Running, monkeypatch: pytest.MonkeyPatch, name: str = "fr-en") -> None:
        engine: Any = server.app.models.all[name].translator.engine
        self.is_open, self.num_steps = threading.Event(), 0
        for name in ("step", "step_best"):
            if hasattr(engine, name):
                monkeypatch.setattr(engine, name, self._held(getattr(engine, name)))

    def _held(self, step: Any) -> Any:
        def held(*arguments: Any) -> Any:
            self.num_steps += 1
            assert self.is_open.wait(30)
            return step(*arguments)

        return held


def break_model(server: Running, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(server.app.models.all["fr-en"].translator.engine, "start", fails)


def asking(server: Running, answers: list[int]) -> threading.Thread:
    """A client that waits for its translation; the status goes into the list."""
    thread = threading.Thread(target=lambda: answers.append(server.post("/translate", ASK).status))
    thread.start()
    return thread


def response(client: socket.socket) -> tuple[int, bytes]:
    """The status and the body of the next answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(65536)
        assert part, data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += client.recv(65536)
    return int(head.split(b" ")[1]), body


def head(path: str, length: int, method: str = "POST") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_a_large_body_is_refused_before_it_is_read_and_the_connection_goes_on(server: Running) -> None:
    with server.connect() as client:
        client.sendall(head("/v1/chat/completions", 100_000_000))
        status, body = response(client)
    assert status == 413 and "error" in json.loads(body)
    chunk = b"2710\r\n" + b"a" * 10_000 + b"\r\n"
    with server.connect() as client:
        client.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.sendall(chunk * 6)
        assert response(client)[0] == 413
    with server.connect() as client:
        client.sendall(head("/translate", 60_000) + b"a" * 60_000)
        assert response(client)[0] == 413
        client.sendall(head("/health", 0, "GET"))
        assert response(client)[0] == 200
    fields = {"source": "fr", "target": "fr"}
    assert server.upload("a.txt", b"7 " * 30_000, **fields).status == 200
    answer = server.upload("a.txt", b"7 " * 40_000, **fields)
    assert answer.status == 413 and "70000 bytes" in answer.json["error"]
    bomb = gzip.compress(b"0" * 10_000_000)
    assert server.post("/translate", bomb, **{"Content-Encoding": "gzip"}).status == 415


def test_slow_heads_idle_connections_and_slow_bodies_are_cut(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEAD_TIMEOUT", "BODY_TIMEOUT", "REFUSED_BODY_TIMEOUT"):
        monkeypatch.setattr(limits, name, 0.2)
    with server.connect() as silent, server.connect() as client:
        client.sendall(b"POST /translate HTTP/1.1\r\nHost: loc")
        assert is_closed(silent) and is_closed(client)
    with server.connect() as client:
        client.sendall(head("/health", 0, "GET"))
        assert response(client)[0] == 200
        client.sendall(b"GET /hea")
        assert is_closed(client)
    with server.connect() as client:
        client.sendall(head("/translate", 99) + b"{")
        assert response(client)[0] == 408
        assert is_closed(client)


def test_more_connections_than_there_is_room_for(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 3)
    kept = [server.connect() for _ in range(3)]
    wait_until(lambda: len(server.server.server_state.connections) >= 3)
    with server.connect() as client:
        status, body = response(client)
    assert status == 503 and set(json.loads(body)) == {"error"}
    for each in kept:
        each.close()


def test_who_does_not_read_is_cut(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "READER_TIMEOUT", 0.2)
    with running(folders, file_bytes=30 << 20, file_timeout=60) as server:
        url = server.upload("a.txt", b"7 " * (5 << 20), source="fr", target="fr").json
        path = url["translatedFileUrl"].removeprefix(server.url)
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(server.address)
            client.sendall(head(path, 0, "GET"))
            wait_until(lambda: server.server.server_state.connections)
            wait_until(lambda: not server.server.server_state.connections)
        assert server.get("/health").status == 200


def test_more_than_can_wait_is_told_to_come_back(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with running(folders, queue=2) as server:
        held = Held(server, monkeypatch)
        answers: list[int] = []
        threads = [asking(server, answers)]
        wait_until(lambda: held.num_steps)
        threads += [asking(server, answers) for _ in range(2)]
        wait_until(lambda: server.worker().num_waiting == 2)
        refused = server.post("/translate", ASK)
        assert refused.status == 503 and refused.headers["Retry-After"] == "1"
        streamed = server.post("/v1/chat/completions", CHAT)
        assert streamed.status == 503 and streamed.json["error"]["type"] == "server_error"
        held.is_open.set()
        for thread in threads:
            thread.join()
        assert answers == [200, 200, 200]
        assert server.post("/translate", ASK).status == 200


def test_what_takes_too_long_is_given_up(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with running(folders, timeout=0.3) as server:
        held = Held(server, monkeypatch)
        answer = server.post("/translate", ASK)
        assert answer.status == 504 and "longer than 0.3 seconds" in answer.json["error"]
        assert server.post("/v1/chat/completions", CHAT).status == 504
        before = held.num_steps
        held.is_open.set()
        wait_until(lambda: server.worker().num_waiting == 0 and not server.worker()._lanes[0].batch)
        assert held.num_steps <= before + 1


def test_when_the_client_goes_the_work_stops_and_nothing_leaks(server, monkeypatch):
    body = json.dumps({**STORY, "stream": True}).encode()
    for _ in range(5):
        with server.connect() as client:
            client.sendall(head("/v1/completions", len(body)) + body)
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
    wait_until(lambda: server.worker("story").num_waiting == 0)
    wait_until(lambda: not server.server.server_state.tasks)
    assert server.get("/health").status == 200
    held = Held(server, monkeypatch)
    body = json.dumps({**ASK, "q": [SECRET] * 40}).encode()
    with server.connect() as client:
        client.sendall(head("/translate", len(body)) + body)
        wait_until(lambda: held.num_steps)
    wait_until(lambda: any(event.get("status") == 499 for event in server.logged()))
    before = held.num_steps
    held.is_open.set()
    wait_until(lambda: server.worker().num_waiting == 0 and not server.worker()._lanes[0].batch)
    assert held.num_steps == before


def test_health_tells_of_a_dead_model_and_one_that_stays_dead_ends_the_server(folders, monkeypatch):
    monkeypatch.setattr(server_module, "_GIVE_UP_AFTER", 1.0)
    with running(folders) as server:
        assert server.get("/health").json == {"status": "ok"}
        break_model(server, monkeypatch, SystemExit())
        first = server.post("/translate", ASK)
        assert first.status == 503 and "does not answer" in first.json["error"]
        assert server.get("/health").status == 503
        assert server.get("/health").json["models"] == ["fr-en"]
        assert server.post("/v1/completions", {**STORY, "max_tokens": 3}).status == 200
        wait_until(lambda: server.server.has_failed)
        assert {"unwell", "fault"} <= {event["event"] for event in server.logged()}


def test_at_shutdown_open_requests_are_finished_and_new_ones_refused(folders, monkeypatch):
    with running(folders) as server:
        held = Held(server, monkeypatch)
        answers: list[int] = []
        thread = asking(server, answers)
        wait_until(lambda: held.num_steps)
        server.server.should_exit = True

        def is_refused() -> bool:
            try:
                server.connect(timeout=1).close()
            except OSError:
                return True
            return False

        wait_until(is_refused)
        held.is_open.set()
        thread.join(20)
        assert answers == [200]


def test_no_other_machine_is_asked(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> None:
        asked.append(address)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    with running(folders) as server:
        server.post("/translate", {**ASK, "source": "auto", "alternatives": 2})
        server.upload("a.html", b"<p>Jane</p>", source="fr", target="en")
        server.post("/v1/completions", {**STORY, "max_tokens": 3})
    assert asked and {address[0] for address in asked} == {"127.0.0.1"}


def test_every_route_needs_a_key_but_health_the_page_and_what_clients_ask_first(locked: Running) -> None:
    routes = [(method, route.path) for route in locked.app.routes for method in route.methods or ()]
    assert len({path for _, path in routes}) >= 16
    wrong = KEY[:-1]
    for method, path in routes:
        address = re.sub("{[^}]*}", "a", path)
        by_header = locked.ask(method, address, headers={"Authorization": f"Bearer {wrong}"})
        answers = [by_header, locked.ask(method, f"{address}?api_key={wrong}")]
        is_open = path in ("/health", "/languages", "/frontend/settings", *PAGE)
        expected = 200 if is_open else 401 if path.startswith("/v1/") else 403
        assert {answer.status for answer in answers} == {expected}, path


def test_a_key_opens_whichever_way_it_comes_and_is_never_told(locked: Running) -> None:
    answers = [
        locked.post("/translate", ASK, Authorization=f"Bearer {KEY}"),
        locked.post("/translate", {**ASK, "api_key": KEY}),
        locked.form("/translate", f"q=Jane&source=fr&target=en&api_key={KEY}"),
        locked.post(f"/translate?api_key={KEY}", ASK),
        locked.upload("a.txt", b"Jane", source="fr", target="en", api_key=KEY),
    ]
    assert [answer.status for answer in answers] == [200] * 5
    wrong = locked.post("/translate", {**ASK, "api_key": "wrong-key-of-some-length"})
    assert wrong.status == 403 and b"wrong-key" not in wrong.body
    metrics = locked.get("/metrics", Authorization=f"Bearer {KEY}")
    for text in (locked.log.getvalue(), metrics.body.decode()):
        assert KEY not in text and "wrong-key" not in text


def test_a_rate_holds_for_each_client_whatever_it_claims(folders: list[Path]) -> None:
    with running(folders, rate=2) as server:
        statuses = [server.get("/languages", **{"X-Forwarded-For": f"10.0.0.{i}"}).status for i in range(3)]
        assert statuses == [200, 200, 429]
        refused = server.get("/v1/models")
        assert refused.status == 429 and int(refused.headers["Retry-After"]) > 0
        assert refused.json["error"]["type"] == "rate_limit_error"
        assert server.get("/health").status == 200
    behind = limits.ServerSettings(proxies=("127.0.0.1", "10.0.0.9"))
    for chain, client in (("6.6.6.6, 10.0.0.1", "10.0.0.1"), ("10.0.0.1,10.0.0.9", "10.0.0.1"), ("", "127.0.0.1")):
        assert behind.client_of("127.0.0.1", {"x-forwarded-for": chain}) == client
    assert behind.client_of("1.2.3.4", {"x-forwarded-for": "10.0.0.1"}) == "1.2.3.4"


def test_other_hosts_and_pages_of_others_are_refused(server: Running) -> None:
    for host in ("evil.example", "localhost.evil.example", "a@localhost", "", "localhost:x"):
        answer = server.get("/health", Host=host)
        assert answer.status in (400, 403) and "error" in answer.json, host
    for host in ("localhost:99", "[::1]:8000", "10.1.2.3"):
        assert server.get("/health", Host=host).status == 200, host
    for origin in ("https://evil.example", "null", "http://localhost:1"):
        answer = server.post("/translate", ASK, Origin=origin)
        assert answer.status == 403 and "Access-Control-Allow-Origin" not in answer.headers
        assert server.ask("OPTIONS", "/translate", headers={"Origin": origin}).status == 403


def test_our_page_may_ask_and_those_that_were_allowed(folders: list[Path]) -> None:
    friend = "https://friend.example"
    with running(folders, origins=(friend,), hosts=("translate.home",)) as server:
        own = server.post("/translate", ASK, Origin=server.url)
        assert own.status == 200 and "Access-Control-Allow-Origin" not in own.headers
        assert server.ask("OPTIONS", "/translate", headers={"Origin": friend}).status == 204
        allowed = server.post("/translate", ASK, Origin=friend)
        assert allowed.status == 200 and allowed.headers["Access-Control-Allow-Origin"] == friend
        assert "Access-Control-Allow-Credentials" not in allowed.headers
        assert server.get("/health", Host="translate.home").status == 200
        assert server.post("/translate", ASK, Origin="https://evil.example").status == 403


def test_every_answer_has_safe_headers_and_what_is_no_http_one_in_json(server: Running) -> None:
    for path in ("/", "/health", "/nothing", "/v1/models"):
        headers = server.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Server"] is None
    for raw in (b"NONSENSE", b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost:1"):
        with server.connect() as client:
            client.sendall(raw + b"\r\n\r\n")
            status, body = response(client)
        assert status == 400 and "error" in json.loads(body)


def traversals() -> list[str]:
    ups = ["../", "..\\", "%2e%2e%2f", "%252e%252e%252f", "....//"]
    names = ["/etc/passwd", "C:\\windows\\win.ini", "../x%00.js"]
    return names + [up + end for up in ups for end in ("settings.py", up * 6 + "etc/passwd")]


def test_no_path_leads_outside(server: Running) -> None:
    for start in ("/", "/download_file/", "/v1/models/", "/look/a/", "/page/"):
        for name in traversals():
            address = (start + name).replace("\\", "%5c")
            with server.connect() as client:
                client.sendall(head(address, 0, "GET"))
                status, body = response(client)
            assert status in (400, 404, 405), (address, body)
            assert b"root:" not in body and b"import" not in body
    for name in (*traversals(), str(server.app.models.all["fr-en"].folder)):
        assert server.post("/v1/completions", {**STORY, "model": name}).status == 404, name


def test_the_log_is_json_without_anyones_words(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(*_: Any, **__: Any) -> Any:
        raise AssertionError("a file for what a client sent")

    monkeypatch.setattr("tempfile.TemporaryFile", no_file)
    server.post("/translate", ASK)
    server.post("/translate?q=Zanzibar&source=fr&target=en", b"")
    server.get("/Zanzibar")
    server.upload("Zanzibar.txt", SECRET.encode(), source="fr", target="en")
    server.upload("Zanzibar.txt", SECRET.encode() * 100_000, source="fr", target="fr")
    server.post("/translate", {**ASK, "source": "Zanzibar"})
    metrics = server.get("/metrics").body.decode()
    for expected in (
        'regard_requests_total{method="POST",route="/translate",status="200"}',
        'regard_refused_total{status="400"} 1',
        'regard_model_up{model="fr-en"} 1',
        'regard_batch_sentences_bucket{model="fr-en",le="+Inf"}',
    ):
        assert expected in metrics
    assert "Zanzibar" not in metrics
    requests = [event for event in server.logged() if event["event"] == "request"]
    assert {"id", "time", "method", "route", "status", "seconds"} <= set(requests[-1])
    assert "Zanzibar" not in server.log.getvalue()
    assert "none" in {event["route"] for event in requests}


def test_a_fault_of_ours_tells_nobody_anything(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    break_model(server, monkeypatch, RuntimeError(SECRET))
    answer = server.post("/translate", ASK)
    assert answer.status == 500 and SECRET not in answer.body.decode()
    [fault] = [event for event in server.logged() if event["event"] == "fault"]
    assert fault["error"] == "RuntimeError" and "fails" in fault["where"][-1]
    engine: Any = server.app.models.all["story"].translator.engine
    step, calls = engine.step, []

    def fails_later(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > 5:
            raise RuntimeError(SECRET)
        return step(*arguments)

    monkeypatch.setattr(engine, "step", fails_later)
    monkeypatch.setattr(engine, "step_best", None, raising=False)
    stream = server.post("/v1/completions", {**STORY, "stream": True})
    last = stream.body.decode().split("\n\n")[-2]
    assert stream.status == 200 and "error" in json.loads(last.removeprefix("data: "))
    assert SECRET not in stream.body.decode()
    assert SECRET not in server.log.getvalue()

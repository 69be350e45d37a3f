"""`regard serve` under load, beside its own engine and beside a server that takes one request at a time.

    python benchmarks/serve_load.py [--libretranslate PORT] [--save] [--quick]

Everything on this machine and over loopback. `serve_vs_engine` is the sentences a second of 32 clients that each
send one sentence at a time, against the engine given all sentences at once in one call; measured in turns, the median
of the rounds. A peer, in the same rounds, is a plain HTTP server around the same engine; another is LibreTranslate's
own server, where one runs on that port with the same weights (`regard export fr-en OUT --to ctranslate2`, made an Argos
package; its sentence splitter needs models from elsewhere, so it must be told to take a text as one sentence).

Then: 10 times more than it can do, 200 slow connections, bodies of 100 MB, made-up requests, and 100,000
requests while memory is watched; these use small random models, so that it is the server that is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import platform
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from serve_clients import Tally, flood, load, request_bytes, sentences, translations

import regard

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

Row = dict[str, object]
NUM_CLIENTS, NUM_FEW = 32, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--libretranslate", type=int, metavar="PORT", help="of such a server")
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help="of regard's engine, alone and in its server")
    arguments = parser.parse_args()
    if arguments.plain:
        serve_plainly()
        return
    part = 10 if arguments.quick else 1
    rows: list[Row] = ShownRows()
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        from serve_fixtures import make_folders

        small = make_folders(Path(folder), ("fr-en", "en-fr", "chat", "story"))
        num_rounds = 2 if arguments.quick else 5
        throughput(rows, ratios, num_rounds, 320 // part, arguments.libretranslate, arguments.threads)
        with regard_server(*small[:1]) as server:
            wrong_numbers(rows, server)
            overload(rows, server, seconds=60 / part)
            slow_clients(rows, server)
            large_bodies(rows, server)
        with regard_server(*small) as server:
            made_up(rows, server, num_described=80 // part, num_raw=2700 // part)
        with regard_server(*small) as server:
            soak(rows, server, num_requests=100_000 // part)
    for name, ratio in ratios.items():
        print(f"{name:<24} {ratio:.3f}")
    if arguments.save:
        from record import save

        print(
            save(
                f"serve_load_{platform.machine()}", rows, ratios, "starlette", "uvicorn", "onnxruntime", "schemathesis"
            )
        )


class ShownRows(list[Row]):
    """Rows that are printed as they come: the whole takes a quarter of an hour."""

    def append(self, row: Row) -> None:
        print("  ".join(f"{key}={value}" for key, value in row.items()), flush=True)
        super().append(row)


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    @property
    def memory(self) -> float:
        """In MB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[Served]:
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    found = re.search(r":(\d+)/", process.stdout.readline())
    assert found, "the server did not start"
    try:
        load(int(found[1]), list(translations(["Bonjour."] * 4)), 2)
        yield Served(process, int(found[1]))
    finally:
        process.terminate()
        assert process.wait(60) in (0, -15)


def regard_server(*folders: Path, threads: int | None = None) -> contextlib.AbstractContextManager[Served]:
    models = [word for folder in folders or ("fr-en",) for word in ("--model", str(folder))]
    some = ["--threads", str(threads)] if threads else []
    return started([sys.executable, "-m", "regard", "serve", "--port", "0", *some, *models])


def throughput(
    rows: list[Row],
    ratios: dict[str, float],
    num_rounds: int,
    num_sentences: int,
    libretranslate: int | None,
    threads: int | None,
) -> None:
    texts = sentences(num_sentences)
    requests = list(translations(texts))
    model = regard.load("fr-en", threads=threads)
    model.translate(texts[:32], split=False)
    rates: dict[str, list[float]] = {"engine": [], "serve": [], "plain": []}
    if libretranslate:
        rates["LibreTranslate"] = []
        load(libretranslate, requests[:4], 2)
    waits: dict[str, list[float]] = {"engine": [], "serve": []}
    extra: list[float] = []
    few: dict[str, list[float]] = {"engine": [], "p50": [], "p95": []}
    with regard_server(threads=threads) as ours, started([sys.executable, __file__, "--plain"]) as plain:
        for number in range(num_rounds):
            began = time.perf_counter()
            model.translate(texts, split=False)
            rates["engine"].append(num_sentences / (time.perf_counter() - began))
            rates["serve"].append(num_sentences / load(ours.port, requests, NUM_CLIENTS).wall)
            some = requests[: num_sentences // 2]
            rates["plain"].append(len(some) / load(plain.port, some, NUM_CLIENTS).wall)
            if libretranslate:
                theirs = load(libretranslate, some, NUM_CLIENTS)
                rates["LibreTranslate"].append(len(some) / theirs.wall)
            # A few clients: their waits, and the engine's own time for as many sentences given at once.
            found = load(ours.port, requests[: num_sentences // 2], NUM_FEW)
            few["p50"].append(found.quantile(200, 0.5))
            few["p95"].append(found.quantile(200, 0.95))
            for start in range(0, min(num_sentences, 10 * NUM_FEW), NUM_FEW):
                began = time.perf_counter()
                model.translate(texts[start : start + NUM_FEW], split=False)
                few["engine"].append(time.perf_counter() - began)
            # One client: each sentence by the engine and by the server, one after the other.
            for text, request in list(zip(texts, requests, strict=True))[number::num_rounds][:30]:
                began = time.perf_counter()
                model.translate(text)
                alone = time.perf_counter() - began
                served = load(ours.port, [request], 1).quantile(200, 0.5)
                waits["engine"].append(alone)
                waits["serve"].append(served)
                extra.append(served - alone)
    for name, found in rates.items():
        rows.append({"what": f"{name}, {NUM_CLIENTS} clients", "sentences_s": round(statistics.median(found), 2)})
    for name, found in waits.items():
        rows.append({"what": f"{name}, 1 client", "p50_ms": round(1000 * statistics.median(found), 1)})
    times = {name: round(1000 * statistics.median(found), 1) for name, found in few.items()}
    rows.append({"what": f"serve, {NUM_FEW} clients", "p50_ms": times["p50"], "p95_ms": times["p95"]})
    rows.append({"what": f"engine, {NUM_FEW} sentences at once", "p50_ms": times["engine"]})
    rows.append({"what": "serve adds, 1 client", "p50_ms": round(1000 * statistics.median(extra), 1)})
    # At least 1: 95 of 100 wait no longer than twice what the engine takes for the sentences that wait with theirs.
    ratios["twice_engine_vs_p95"] = round(2 * statistics.median(few["engine"]) / statistics.median(few["p95"]), 3)
    names = {"engine": "engine", "plain": "plain_server", "LibreTranslate": "libretranslate"}
    for who, name in names.items():
        if who in rates:
            pairs = zip(rates["serve"], rates[who], strict=True)
            against = statistics.median(ours / theirs for ours, theirs in pairs)
            ratios[f"serve_vs_{name}"] = round(against, 3)


def serve_plainly() -> None:
    """The peer: one request at a time, with nothing but the standard library."""
    model = regard.load("fr-en")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 0.05

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps({"translatedText": model.translate(asked["q"])}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    HTTPServer.request_queue_size = 128
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


def wrong_numbers(rows: list[Row], server: Served) -> None:
    """Every number out of its bounds, in both dialects."""
    values = (-1, 10**9, 1e300, "x", [], {}, True)
    libre = {"q": "Bonjour.", "source": "fr", "target": "en"}
    chat = {"model": "fr-en", "messages": [{"role": "user", "content": "Bonjour."}]}
    requests = [request_bytes("POST", "/translate", {**libre, "alternatives": v}) for v in values]
    for name in ("n", "max_tokens", "temperature", "top_p", "seed", "top_logprobs"):
        for value in values:
            asked = {**chat, name: value}
            requests.append(request_bytes("POST", "/v1/chat/completions", asked))
    found = load(server.port, requests * 10, 1)
    rows.append(
        {
            "what": "numbers out of bounds",
            "requests": sum(found.statuses.values()),
            "statuses": dict(sorted(found.statuses.items())),
            "p50_ms": round(1000 * found.quantile(400, 0.5), 1),
            "p99_ms": round(1000 * found.quantile(400, 0.99), 1),
        }
    )


def overload(rows: list[Row], server: Served, seconds: float) -> None:
    """Ten times as many requests a second as it can answer, of a hundred sentences each."""
    [request] = translations([" ".join(sentences(100))])
    before = load(server.port, [request] * 20, 10)
    capacity = before.statuses[200] / before.wall
    found = flood(server.port, request, 10 * capacity, seconds)
    began = time.perf_counter()
    while not load(server.port, [request], 1).statuses[200]:
        time.sleep(0.1)
    good, refused = found.statuses[200], found.statuses[503]
    rows.append(
        {
            "what": f"10 times its capacity for {seconds:g} s",
            "capacity_s": round(capacity, 1),
            "asked": sum(found.statuses.values()),
            "answered": good,
            "refused": refused,
            "other": sum(found.statuses.values()) - good - refused,
            "without_retry_after": found.without_retry,
            "answered_max_s": round(found.quantile(200, 1.0), 1),
            "refused_p50_ms": round(1000 * found.quantile(503, 0.5), 1),
            "refused_p95_ms": round(1000 * found.quantile(503, 0.95), 1),
            "recovered_s": round(time.perf_counter() - began, 2),
        }
    )


def slow_clients(rows: list[Row], server: Served) -> None:
    requests = list(translations(sentences(200)))
    idle = load(server.port, requests, 1).quantile(200, 0.95)
    began = time.perf_counter()
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    for number, each in enumerate(slow):
        each.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\n")
        if number % 2:
            each.sendall(b"Content-Length: 1000\r\n\r\n{")
    busy = load(server.port, requests, 1).quantile(200, 0.95)
    for each in slow:
        each.settimeout(60)
        with contextlib.suppress(ConnectionError):
            while each.recv(4096):
                pass
        each.close()
    rows.append(
        {
            "what": "200 slow connections",
            "p95_idle_ms": round(1000 * idle, 1),
            "p95_ms": round(1000 * busy, 1),
            "all_closed_s": round(time.perf_counter() - began, 1),
        }
    )


def large_bodies(rows: list[Row], server: Served) -> None:
    """100 MB in each way that a body can come: how much was taken before the answer, and what it cost."""
    before, statuses, most_sent = server.memory, [], 0
    kinds = {
        "/translate": ("Content-Type: application/json", b'{"q": "'),
        "/detect": ("Content-Type: application/x-www-form-urlencoded", b"q="),
        "/translate_file": ("Content-Type: multipart/form-data; boundary=x", b"--x\r\n"),
        "/v1/completions": ("Content-Encoding: gzip", gzip.compress(bytes(10**8))),
    }
    for path, (header, start) in kinds.items():
        for length in ("Content-Length: 100000000", "Transfer-Encoding: chunked"):
            status, num_sent = send_much(server.port, path, f"{header}\r\n{length}", start)
            statuses.append(status)
            most_sent = max(most_sent, num_sent)
    rows.append(
        {
            "what": "bodies of 100 MB",
            "statuses": sorted(set(statuses)),
            "most_taken_mb": round(most_sent / 1e6, 1),
            "memory_grew_mb": round(server.memory - before, 1),
        }
    )


def send_much(port: int, path: str, header: str, start: bytes) -> tuple[int, int]:
    """The status that a body without end gets, and how many bytes of it were taken until then."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode())
        part = start.ljust(1 << 16, b"a")
        if "chunked" in header:
            part = f"{len(part):x}\r\n".encode() + part + b"\r\n"
        client.settimeout(0.01)
        num_sent = 0
        while num_sent < 10**8:
            with contextlib.suppress(TimeoutError):
                return int(client.recv(65536)[9:12]), num_sent
            with contextlib.suppress(TimeoutError):
                num_sent += client.send(part[num_sent % len(part) :])
    return 0, num_sent


def made_up(rows: list[Row], server: Served, num_described: int, num_raw: int) -> None:
    import requests
    from serve_fuzz import Fuzz

    url = f"http://127.0.0.1:{server.port}"
    spec = requests.get(f"{url}/spec", timeout=10).json()
    fuzz = Fuzz(url, spec, num_described, num_raw)
    began = time.perf_counter()
    fuzz.run()
    rows.append(
        {
            "what": "made-up requests",
            "requests": sum(fuzz.statuses.values()),
            "server_errors": sum(n for status, n in fuzz.statuses.items() if status >= 500),
            "troubles": len(fuzz.troubles),
            "statuses": dict(sorted(fuzz.statuses.items())),
            "seconds": round(time.perf_counter() - began),
            "health": requests.get(f"{url}/health", timeout=10).status_code,
        }
    )


def soak(rows: list[Row], server: Served, num_requests: int) -> None:
    texts = sentences(1500)
    asked = {"q": texts[:3], "source": "auto", "target": "en", "alternatives": 1}
    chat = {"model": "fr-en", "messages": [{"role": "user", "content": texts[5]}]}
    mixed = [
        *translations(texts[:10]),
        request_bytes("POST", "/translate", asked),
        request_bytes("POST", "/translate", {**asked, "alternatives": 99}),
        request_bytes("POST", "/v1/chat/completions", chat),
        request_bytes("POST", "/v1/chat/completions", {**chat, "model": "chat"}),
        request_bytes("POST", "/v1/completions", {"model": "story", "prompt": "a", "max_tokens": 7}),
        request_bytes("POST", "/detect", {"q": texts[7]}),
        request_bytes(
            "POST", "/translate", {"q": f"<p>{texts[9]}</p>", "source": "fr", "target": "en", "format": "html"}
        ),
        *[request_bytes("GET", path) for path in ("/languages", "/health", "/nothing", "/metrics", "/")],
    ]
    total, memory = Tally(), {}
    for share in (0.1, 1.0):
        count = int(share * num_requests) - sum(total.statuses.values())
        found = load(server.port, (mixed * (count // len(mixed) + 1))[:count], NUM_CLIENTS, 3600)
        total.statuses += found.statuses
        total.wall += found.wall
        memory[share] = server.memory
    rows.append(
        {
            "what": "soak",
            "requests": sum(total.statuses.values()),
            "server_errors": sum(n for status, n in total.statuses.items() if status >= 500),
            "requests_s": round(sum(total.statuses.values()) / total.wall),
            "memory_mb_at_a_tenth": round(memory[0.1], 1),
            "memory_mb_at_the_end": round(memory[1.0], 1),
            "growth_percent": round(100 * (memory[1.0] / memory[0.1] - 1), 2),
        }
    )


if __name__ == "__main__":
    main()

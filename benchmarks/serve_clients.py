"""Clients for the load benchmark: so many connections that each ask, wait and ask again."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

SUBJECTS = ("Le chat", "Ma voisine", "Un enfant", "Le vieux professeur", "Jane", "Notre équipe", "La ville")
VERBS = ("regarde", "attend", "cherche encore", "n'oublie jamais", "a perdu", "retrouvera", "aimait")
OBJECTS = ("la maison", "un train", "le livre bleu", "une réponse", "ses amis", "la clé du jardin", "la mer")
ENDINGS = (
    ".",
    " depuis ce matin.",
    ", parce que la nuit tombe déjà.",
    " pendant que les autres parlent de la pluie et du beau temps.",
    " ?",
)


def sentences(count: int) -> list[str]:
    """Different ones, of five to twenty words, in an order that mixes their lengths."""
    made = [
        f"{subject} {verb} {object_}{ending}"
        for subject, verb, object_, ending in itertools.product(SUBJECTS, VERBS, OBJECTS, ENDINGS)
    ]
    # 7919 is prime to their number, so the walk meets each once.
    return [made[(7919 * i) % len(made)] for i in range(count)]


CUT = 0
"""stands for the status where the connection was cut without one"""


@dataclass
class Tally:
    """What came of a load."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: dict[int, list[float]] = field(default_factory=dict)
    without_retry: int = 0
    wall: float = 0.0

    def add(self, status: int, seconds: float, has_retry: bool) -> None:
        self.statuses[status] += 1
        self.seconds.setdefault(status, []).append(seconds)
        self.without_retry += status in (429, 503) and not has_retry

    def quantile(self, status: int, share: float) -> float:
        ordered = sorted(self.seconds.get(status, [0.0]))
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def request_bytes(method: str, path: str, content: object | None = None) -> bytes:
    body = b"" if content is None else json.dumps(content).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def translations(texts: Iterable[str]) -> Iterator[bytes]:
    for text in texts:
        yield request_bytes("POST", "/translate", {"q": text, "source": "fr", "target": "en"})


def load(port: int, requests: Sequence[bytes], num_clients: int, most_seconds: float = 600) -> Tally:
    """All requests, asked by so many clients; no new ones after the time."""
    return asyncio.run(_load(port, requests, num_clients, most_seconds))


async def _load(port: int, requests: Sequence[bytes], num_clients: int, most_seconds: float) -> Tally:
    tally, waiting = Tally(), iter(requests)
    began = time.perf_counter()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in waiting:
            if time.perf_counter() - began > most_seconds:
                break
            asked = time.perf_counter()
            writer.write(request)
            status, has_retry, keeps = await _answer(reader)
            tally.add(status, time.perf_counter() - asked, has_retry)
            if not keeps:
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()

    await asyncio.gather(*(client() for _ in range(num_clients)))
    tally.wall = time.perf_counter() - began
    return tally


def flood(port: int, request: bytes, rate: float, seconds: float) -> Tally:
    """So many requests a second, whether or not the earlier ones were answered, each on its own connection."""
    return asyncio.run(_flood(port, request, rate, seconds))


async def _flood(port: int, request: bytes, rate: float, seconds: float) -> Tally:
    tally = Tally()

    async def client(number: int) -> None:
        await asyncio.sleep(number / rate)
        asked = time.perf_counter()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            status, has_retry, _ = await _answer(reader)
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError):
            status, has_retry = CUT, False
        tally.add(status, time.perf_counter() - asked, has_retry)

    await asyncio.gather(*(client(number) for number in range(int(rate * seconds))))
    return tally


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bool, bool]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    await reader.readexactly(int(fields[b"content-length"]))
    return int(head[9:12]), b"retry-after" in fields, fields.get(b"connection") != b"close"

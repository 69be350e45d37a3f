"""Who may ask: the host that is named, the page that asks, the key, and how often."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from regard.serve.settings import Settings

_MOST_CLIENTS = 10_000


def is_own_host(host: str, allowed: Sequence[str]) -> bool:
    """Whether a Host header is one of ours.

    A web page can bring its visitors' browsers here under a name of its own (DNS rebinding), but not under an
    address: so an address is fine, and a name must be localhost or one that was allowed.
    """
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.path or parts.query or parts.fragment or "@" in host or not name:
        return False
    if name == "localhost" or name in [each.lower() for each in allowed]:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_own_origin(origin: str | None, host: str, allowed: Sequence[str]) -> bool:
    """Whether a page that asks is our own, or one that was allowed; what is no page sends no Origin."""
    return origin is None or origin in (f"http://{host}", f"https://{host}") or origin in allowed


class Keys:
    """Compared without telling by the time it takes how much of a key was right."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def fit(self, key: object) -> bool:
        digest = hashlib.sha256(str(key).encode("utf-8", "replace")).digest()
        found = False
        for each in self._digests:
            found |= hmac.compare_digest(each, digest)
        return found


def client_of(address: str, headers: Mapping[str, str], proxies: Sequence[str]) -> str:
    """Who asks: the other end of the connection, or, if that is a proxy we trust, whom it says it asks for.

    Of a chain the last one that is no proxy of ours: what stands before it anyone could have written.
    """
    if address not in proxies:
        return address
    chain = [each.strip() for each in headers.get("x-forwarded-for", "").split(",") if each.strip()]
    return next((each for each in reversed(chain) if each not in proxies), address)


class Rate:
    """So many requests a minute for each client, in bursts of at most as many."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = settings.rate
        self._clock = clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> int:
        """0 if the client may ask now, else the seconds until it may."""
        if not self._limit:
            return 0
        now = self._clock()
        left, then = self._clients.pop(client, (float(self._limit), now))
        left = min(left + (now - then) * self._limit / 60, float(self._limit))
        allowed = left >= 1
        self._clients[client] = (left - 1 if allowed else left, now)
        while len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0 if allowed else max(1, round((1 - left) * 60 / self._limit))

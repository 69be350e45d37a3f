"""Who may ask: host names, origins, API keys, and the rate of each client."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from regard.serve.settings import is_address

_MAX_CLIENTS = 10_000
"""clients whose rate is remembered"""


def is_own_host(host: str, allowed: Sequence[str]) -> bool:
    """Whether a Host header names this server: an address, localhost, or an allowed name.

    A web page can send its visitors' browsers here under a name of its own (DNS rebinding), but not under an
    address.
    """
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.path or parts.query or parts.fragment or "@" in host or not name:
        return False
    return name == "localhost" or name in [each.lower() for each in allowed] or is_address(name)


class Keys:
    """API keys, compared in constant time."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def __contains__(self, key: object) -> bool:
        digest = hashlib.sha256(str(key).encode("utf-8", "replace")).digest()
        # A list, so that every key is compared.
        return any([hmac.compare_digest(each, digest) for each in self._digests])


def client_of(address: str, headers: Mapping[str, str], proxies: Sequence[str]) -> str:
    """The client's address: the other end of the connection, or what a trusted proxy forwards.

    Of a chain, the last address that is no proxy of ours: anyone could have written those before it.
    """
    if address not in proxies:
        return address
    chain = [each.strip() for each in headers.get("x-forwarded-for", "").split(",") if each.strip()]
    return next((each for each in reversed(chain) if each not in proxies), address)


class RateLimit:
    """A token bucket for each client, refilled at `limit` requests a minute."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> int:
        """Seconds until the client may ask; 0 if it may now."""
        if not self._limit:
            return 0
        now = self._clock()
        left, then = self._clients.pop(client, (float(self._limit), now))
        left = min(left + (now - then) * self._limit / 60, float(self._limit))
        is_allowed = left >= 1
        self._clients[client] = (left - 1 if is_allowed else left, now)
        while len(self._clients) > _MAX_CLIENTS:
            self._clients.popitem(last=False)
        return 0 if is_allowed else max(1, round((1 - left) * 60 / self._limit))

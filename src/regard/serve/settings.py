"""Settings and limits of `regard serve`: where it listens, whom it answers, and how much it accepts."""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from regard.config.fields import Count, Settings
from regard.errors import UsageError

HEAD_TIMEOUT = 10.0  # seconds from the first byte of a request to the end of its head
BODY_TIMEOUT = 20.0  # seconds from the end of the head to the end of the body
READER_TIMEOUT = 20.0  # seconds in which a client reads nothing of its answer
REFUSED_BODY_TIMEOUT = 5.0  # seconds in which a client may go on sending a body that was refused
KEEP_ALIVE = 15  # seconds in which an idle connection may begin its next request
MAX_CONNECTIONS = 4000  # open connections, where the system allows a process so many
MAX_OPEN_REQUESTS = 512  # requests being answered, those that wait for a model included
SHUTDOWN_TIMEOUT = 30  # seconds to finish the open requests after a signal

MAX_ALTERNATIVES = 10
MAX_TEXTS = 128  # texts in one request
MAX_CHOICES = 8
MAX_TOKENS = 1024  # tokens in one answer of a chat or story model
MAX_STOPS = 4
MAX_MESSAGES = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSettings(Settings):
    host: str = "127.0.0.1"
    port: int = 8000
    keys: tuple[str, ...] = ()  # API keys, each of which opens every route; without any, all routes are open
    hosts: tuple[str, ...] = ()  # host names of this server, besides localhost and plain addresses
    origins: tuple[str, ...] = ()  # other sites whose pages may ask, such as https://example.org
    proxies: tuple[str, ...] = ()
    """addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed"""
    rate: Annotated[int, "not negative"] = 0  # requests a minute of one client; 0 is without limit
    queue: Count = 64  # requests that may wait for one model; further ones are refused with Retry-After
    timeout: Annotated[float, "positive"] = 60.0  # seconds until a request is given up
    file_timeout: float = 600.0  # seconds until a file is given up
    characters: Count = 20_000  # characters in one request
    body_bytes: int = 1 << 20
    file_bytes: int = 4 << 20

    def mistakes(self) -> Iterator[str]:
        if not 0 <= self.port <= 65535:
            yield f"port must be from 0 to 65535: got {self.port}; 8000 is usual"
        if not all(16 <= len(key) <= 512 and key.isascii() and key.isprintable() for key in self.keys):
            yield (
                "a key must be 16 to 512 plain characters: got another; make one with  "
                "python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        if others := [each for each in self.proxies if not is_address(each)]:
            yield f"a proxy must be an address such as 10.0.0.2: got {others[0]!r}; name it by its address"
        if not self.keys and not is_loopback(self.host):
            yield (
                f"an address that other machines can reach needs a key: got host {self.host} and none; "
                "set REGARD_KEYS or --key-file, or use 127.0.0.1"
            )

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server: an address, localhost, or an allowed name.

        A web page can send its visitors' browsers here under a name of its own (DNS rebinding), but not under an
        address.
        """
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname or "", parts.port
        except ValueError:
            return False
        if parts.path or parts.query or parts.fragment or "@" in host:
            return False
        names = ("localhost", *(each.lower() for each in self.hosts))
        return name in names or is_address(name)

    def client_of(self, address: str, headers: Mapping[str, str]) -> str:
        """The client's address: the other end of the connection, or what a trusted proxy forwards.

        Of a chain, the last address that is no proxy of ours: anyone could have written those before it.
        """
        if address not in self.proxies:
            return address
        chain = [each.strip() for each in headers.get("x-forwarded-for", "").split(",")]
        others = [each for each in chain if each and each not in self.proxies]
        return others[-1] if others else address


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    return host.lower() == "localhost" or is_address(host) and ipaddress.ip_address(host).is_loopback


def read_keys(path: Path) -> tuple[str, ...]:
    """The keys of a file, one a line; empty lines and those that begin with # are skipped."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--key-file must be a file of keys, one a line: {error}") from error
    keys = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not keys:
        raise UsageError(f"--key-file must hold a key: {path} has none; write one into it")
    return keys

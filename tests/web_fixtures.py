"""A web server on this machine that misbehaves as it is told, and archives for it to hand out."""

import io
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, TypeVar

AnyServer = TypeVar("AnyServer", bound=HTTPServer)


@contextmanager
def serving(server: AnyServer) -> Iterator[AnyServer]:
    """The server while it answers, in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def tar_of(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    """An archive of files, and of links to anywhere."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return content.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


@dataclass
class Page:
    """A file of the server, and what goes wrong with it."""

    body: bytes
    etag: str = '"one"'
    cut_after: list[int] = field(default_factory=list)
    """bytes after which the connection ends, one for each of the first answers"""
    location: str = ""
    delays: list[float] = field(default_factory=list)
    """seconds before the first answers"""


@dataclass
class Web:
    url: str
    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """path and range of every request"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        web: Web = self.server.web  # type: ignore[attr-defined]
        wanted = self.headers.get("Range", "")
        web.asked.append((self.path, wanted))
        page = web.pages.get(self.path)
        if page is not None and page.delays:
            time.sleep(page.delays.pop(0))
        if page is None:
            self.send_error(404)
            return
        if page.location:
            self.send_response(302)
            self.send_header("Location", page.location)
            self.end_headers()
            return
        start = 0
        if wanted and self.headers.get("If-Range", page.etag) == page.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(page.body):
                self.send_error(416)
                return
        body = page.body[start:]
        self.send_response(206 if start else 200)
        if start:
            last = len(page.body) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(page.body)}")
        self.send_header("Content-Length", str(len(body)))
        if page.etag:
            self.send_header("ETag", page.etag)
        self.end_headers()
        self.wfile.write(body[: page.cut_after.pop(0)] if page.cut_after else body)

    def log_message(self, *_: Any) -> None:
        pass

"""A hub on this machine that speaks what the Hugging Face client asks, and misbehaves as it is told."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

LARGE = (".safetensors", ".bin", ".spm")
"""files that the hub keeps apart and knows by their sha256"""


@dataclass
class Repository:
    files: dict[str, bytes]
    sha: str = "a" * 40
    cut_after: dict[str, int] = field(default_factory=dict)
    """bytes after which the first answer with a file ends"""
    wrong: set[str] = field(default_factory=set)
    """files that come with other bytes than the hub says"""

    def siblings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for name, content in self.files.items():
            blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
            entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob}
            if name.endswith(LARGE):
                sha256 = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 131}
            found.append(entry)
        return found


def _in_tree(sibling: dict[str, Any]) -> dict[str, Any]:
    """The same file as the listing of a tree has it."""
    entry = {"type": "file", "path": sibling["rfilename"], "oid": sibling["blobId"]}
    if "lfs" in sibling:
        entry["lfs"] = {**sibling["lfs"], "oid": sibling["lfs"]["sha256"]}
    return {**entry, "size": sibling["size"]}


@dataclass
class Hub:
    url: str
    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """method and path of every request"""
    pushed: dict[str, dict[str, bytes]] = field(default_factory=dict)


class HubHandler(BaseHTTPRequestHandler):
    @property
    def hub(self) -> Hub:
        hub: Hub = self.server.hub  # type: ignore[attr-defined]
        return hub

    def _json(self, values: Any, status: int = 200) -> None:
        body = json.dumps(values).encode()
        self._head(status, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _missing(self, code: str) -> None:
        self._head(404, {"X-Error-Code": code, "Content-Length": "0"})

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.hub.asked.append(f"{self.command} {path} {self.headers.get('Range', '')}".strip())
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            repository = self.hub.repositories.get("/".join(parts[2:4]))
            if repository is None:
                self._missing("RepoNotFound")
            elif parts[4:5] == ["revision"] and parts[5] not in ("main", "v1", repository.sha):
                self._missing("RevisionNotFound")
            elif parts[4:5] == ["tree"]:
                self._json([_in_tree(each) for each in repository.siblings()])
            else:
                name = "/".join(parts[2:4])
                self._json({"id": name, "sha": repository.sha, "siblings": repository.siblings()})
        elif len(parts) > 4 and parts[2] == "resolve":
            self._file(self.hub.repositories["/".join(parts[:2])], "/".join(parts[4:]))
        else:
            self._missing("EntryNotFound")

    def _file(self, repository: Repository, name: str) -> None:
        content = repository.files[name]
        entry = next(each for each in repository.siblings() if each["rfilename"] == name)
        etag = entry["lfs"]["sha256"] if "lfs" in entry else entry["blobId"]
        if name in repository.wrong:
            content = content[:-1] + bytes([content[-1] ^ 1])
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        body = content[start:]
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": repository.sha, "Accept-Ranges": "bytes"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._head(206 if start else 200, {**headers, "Content-Length": str(len(body))})
        if self.command == "GET":
            cut = repository.cut_after.pop(name, None)
            self.wfile.write(body if cut is None else body[:cut])

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        self.hub.asked.append(f"POST {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("Authorization") != "Bearer hf_secret" and "/api/" in path:
            self._json({"error": "Invalid credentials"}, 401)
        elif path == "/api/repos/create":
            self._json({"url": f"{self.hub.url}/me/model"})
        elif path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        elif "/preupload/" in path:
            mode = {"uploadMode": "regular", "shouldIgnore": False}
            self._json({"files": [{**mode, "path": each["path"]} for each in json.loads(body)["files"]]})
        elif "/commit/" in path:
            lines = [json.loads(line) for line in body.splitlines()]
            held = [line["value"] for line in lines if line["key"] == "file"]
            files = {each["path"]: base64.b64decode(each["content"]) for each in held}
            self.hub.pushed["/".join(path.split("/")[3:5])] = files
            url = f"{self.hub.url}/me/model/commit/{'b' * 40}"
            self._json({"success": True, "commitOid": "b" * 40, "commitUrl": url})
        else:
            self._missing("EntryNotFound")

    def log_message(self, *_: Any) -> None:
        pass

"""Modules of the server on their own: settings, access, files, metrics, fields, models, the command."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_fixtures import assert_one_sentence, run
from fixtures import make_model_folder
from serve_fixtures import KEY, make_folders

from regard.errors import ModelError, UsageError
from regard.serve import guard, libretranslate, models, monitoring
from regard.serve.server import bind
from regard.serve.settings import ServerSettings, is_loopback, read_keys


def test_settings_that_cannot_be_meant_and_a_public_address_needs_a_key(tmp_path: Path) -> None:
    wrong = [{"port": 70000}, {"queue": 0}, {"timeout": float("nan")}, {"rate": -1}, {"proxies": ("proxy.example",)}]
    for changes in (*wrong, {"keys": ("short",)}, {"keys": ("with a\nline break in it",)}):
        with pytest.raises(UsageError):
            ServerSettings(**changes)
    path = tmp_path / "keys"
    path.write_text(f"# of the family\n{KEY}\n\n another-key-of-some-length \n")
    assert read_keys(path) == (KEY, "another-key-of-some-length")
    path.write_text("# none\n")
    with pytest.raises(UsageError, match="must hold a key"):
        read_keys(path)
    assert ServerSettings().host == "127.0.0.1" and ServerSettings().keys == ()
    for host in ("0.0.0.0", "::", "example.org"):
        with pytest.raises(UsageError, match="needs a key"):
            ServerSettings(host=host)
        assert ServerSettings(host=host, keys=(KEY,)).host == host
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost"))) and not is_loopback("10.0.0.1")


def test_a_rate_refills_and_files_are_kept_for_an_hour() -> None:
    now = 0.0
    rate = guard.RateLimit(2, clock=lambda: now)
    assert [rate.wait("a") for _ in range(3)] == [0, 0, 30]
    assert rate.wait("b") == 0
    now = 31.0
    assert [rate.wait("a"), rate.wait("a")] == [0, 29]
    for i in range(10_005):
        rate.wait(str(i))
    assert len(rate._clients) == 10_000
    assert guard.RateLimit(0).wait("a") == 0
    now = 0.0
    kept = libretranslate.FileStore(clock=lambda: now)
    key = kept.add("../a b.txt", b"one")
    assert kept.get(key) == b"one" and kept.get("../" + key) is None and re.fullmatch(r"[0-9a-f]{32}\.a_b\.txt", key)
    now = 3601.0
    assert kept.get(key) is None
    large = [kept.add("x", bytes(20 << 20)) for _ in range(4)]
    assert [kept.get(each) is not None for each in large] == [False, True, True, True]


def test_models_that_cannot_be_served_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folders(tmp_path, ("fr-en", "story"))
    make_model_folder(tmp_path / "filler", task="fill")
    (tmp_path / "story" / "decoder.onnx").write_bytes(b"nonsense")
    monkeypatch.setenv("REGARD_MODELS", str(tmp_path))
    counted = monitoring.Metrics()
    served, left_out = models.load_models([], queue=3, metrics=counted, threads=1)
    assert {"fr-en"} <= set(served.all) and not {"story", "filler"} & set(served.all)
    assert "got one to fill" in left_out["filler"] and "decoder.onnx" in left_out["story"]
    with pytest.raises(ModelError, match="must be a model to translate, chat, write, search: got one to fill"):
        models.load_models(["filler"], queue=3, metrics=counted)
    with pytest.raises(UsageError, match="folder or the name"):
        models.load_models(["nobody"], queue=3, metrics=counted)


def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    folder = make_model_folder(tmp_path / "fr-en")
    settings = {"PORT": "0", "SERVE": str(folder), "KEYS": KEY, "THREADS": "1"}
    environment = {**os.environ, **{f"REGARD_{name}": value for name, value in settings.items()}}
    pipes: Any = dict(stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process = subprocess.Popen([sys.executable, "-m", "regard", "serve"], env=environment, **pipes)
    assert process.stdout is not None
    first = process.stdout.readline()
    found = re.match(r"http://127\.0\.0\.1:(\d+)/  serves fr-en", first)
    assert found, first
    # It listens already; the answer comes when it has started.
    with socket.create_connection(("127.0.0.1", int(found[1])), timeout=20) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 403")
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=40)
    assert process.returncode == 0 and output == ""
    events = [json.loads(line) for line in errors.splitlines()]
    assert sorted(each["event"] for each in events) == ["request", "start", "stop"]
    assert '"signal": "SIGTERM"' in errors and KEY not in errors


def test_a_wrong_flag_is_one_sentence_and_so_is_a_taken_port() -> None:
    for arguments, message in (
        (("--host", "0.0.0.0"), "needs a key"),
        (("--model", "nobody", "--port", "0"), "folder or the name"),
        (("--key-file", "/nowhere"), "--key-file must be a file"),
    ):
        result = run("serve", *arguments)
        assert_one_sentence(result, 2)
        assert message in result.stderr
    with bind(ServerSettings(port=0)) as taken:
        # asyncio sends small segments at once where it sees the protocol's name.
        assert taken.proto == socket.IPPROTO_TCP
        with pytest.raises(UsageError, match="free port"):
            bind(ServerSettings(port=taken.getsockname()[1]))

"""The hub's own client against a hub on this machine: what comes is pinned, checked and imported; what goes is whole."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from fixtures import make_model_folder
from hub_fixtures import Hub, HubHandler, Repository
from huggingface_fixtures import MAKERS
from serve_fixtures import running
from web_fixtures import serving

from regard.api import import_model, load
from regard.folder import catalogue
from regard.folder.catalogue import ORIGIN
from regard.folder.manifest import read_manifest


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), HubHandler)
    server.daemon_threads = True
    server.hub = Hub(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
    with serving(server):
        yield server.hub  # type: ignore[attr-defined]


def regard(hub: Hub, folder: Path, *words: str, token: str = "", **others: str) -> subprocess.CompletedProcess[str]:
    """The client reads where its hub is when it is loaded, so each command is a process."""
    environment = {
        **os.environ,
        **dict(HF_ENDPOINT=hub.url, HF_HOME=str(folder / "home"), HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_XET="1"),
        **dict(REGARD_MODELS=str(folder / "models"), no_proxy="127.0.0.1"),
        **({"HF_TOKEN": token} if token else {}),
        **others,
    }
    command = [sys.executable, "-m", "regard", "models", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_foreign_repository_is_imported_from_a_pinned_revision(hub, tmp_path, monkeypatch):
    theirs, _ = MAKERS["gpt2"](tmp_path / "theirs")
    others = {"pytorch_model.bin": b"a program", "onnx/model.onnx": b"1", "1_Pooling/config.json": b"{}"}
    hub.repositories["them/small"] = Repository({**files_of(theirs), **others}, sha="c" * 40)
    answer = regard(hub, tmp_path, "get", "hf:them/small@v1", "--name", "gpt")
    assert answer.returncode == 0, answer.stderr
    folder = tmp_path / "models" / "gpt"
    origin = json.loads((folder / ORIGIN).read_text())
    assert (origin["from"], origin["revision"]) == ("hf:them/small", "c" * 40)
    assert set(origin["files"]) >= {"config.json", "model.safetensors"}
    assert not any("pytorch_model.bin" in asked or ".onnx" in asked for asked in hub.asked)
    assert any(asked.endswith("/1_Pooling/config.json") for asked in hub.asked)
    monkeypatch.setenv("REGARD_MODELS", str(folder.parent))
    assert catalogue.find("hf:them/small") == folder
    assert all(f"/resolve/{'c' * 40}/" in asked for asked in hub.asked if "/resolve/" in asked)
    assert read_manifest(folder).task == "write"
    assert load(folder).write("Jane", length=3, seed=1).startswith("Jane")
    assert sorted(path.name for path in folder.parent.iterdir()) == ["gpt"]


@pytest.mark.filterwarnings("ignore::regard.errors.RegardWarning")  # random weights go round in circles
def test_a_pair_of_languages_is_got_without_torch_and_served(hub, tmp_path, monkeypatch):
    """The files of an OPUS-MT repository of 2020, whose weights are a pickle of the old kind."""
    theirs, network = MAKERS["marian"](tmp_path / "theirs")
    import_model(theirs, tmp_path / "expected", weights="int8", source_language="en", target_language="de")
    files = files_of(theirs)
    del files["model.safetensors"]
    torch.save(network.state_dict(), theirs / "old", _use_new_zipfile_serialization=False)
    files |= {"pytorch_model.bin": (theirs / "old").read_bytes(), "tf_model.h5": b"h5", "rust_model.ot": b"ot"}
    files |= {"README.md": b"---\nlicense: cc-by-4.0\n---\n### eng-deu\n", ".gitattributes": b"*.bin filter=lfs\n"}
    described = {"source_lang": "eng", "target_lang": "deu", "tokenizer_class": "MarianTokenizer"}
    files["tokenizer_config.json"] = json.dumps(described).encode()
    hub.repositories["Helsinki-NLP/opus-mt-en-de"] = Repository(files)
    hidden = tmp_path / "hidden" / "torch"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError('hidden', name='torch')")
    path = os.pathsep.join([str(hidden.parent), os.environ.get("PYTHONPATH", "")])
    answer = regard(hub, tmp_path, "get", "opus-mt:en-de", PYTHONPATH=path)
    assert answer.returncode == 0, answer.stderr
    assert not any(each.endswith((".h5", ".ot")) for each in hub.asked)
    folder = tmp_path / "models" / "opus-mt-en-de"
    for name in ("model.safetensors", "encoder.onnx", "decoder.onnx"):
        assert (folder / name).read_bytes() == (tmp_path / "expected" / name).read_bytes()
    monkeypatch.setenv("REGARD_MODELS", str(folder.parent))
    monkeypatch.setattr(catalogue, "BUNDLED", make_model_folder(tmp_path / "bundled" / "fr-en").parent)
    with running([], pivot="en") as server:
        told = {each["code"]: each["targets"] for each in server.get("/languages").json}
        assert told == {"de": ["de"], "en": ["de", "en"], "fr": ["de", "en", "fr"]}


def test_cut_off_and_wrong_files(hub: Hub, tmp_path: Path) -> None:
    ours = make_model_folder(tmp_path / "made")
    repository = Repository(files_of(ours), wrong={"model.safetensors"})
    hub.repositories["me/tiny"] = repository
    answer = regard(hub, tmp_path, "get", "hf:me/tiny")
    assert answer.returncode == 1 and "must have the hub's checksum" in answer.stderr
    assert not (tmp_path / "models" / "tiny").exists()
    repository.wrong.clear()
    repository.cut_after["model.safetensors"] = 20_000
    answer = regard(hub, tmp_path, "get", "hf:me/tiny")
    if answer.returncode:  # the client goes on by itself, or the next command does
        assert len(answer.stderr.strip().splitlines()) == 1
        answer = regard(hub, tmp_path, "get", "hf:me/tiny")
    assert answer.returncode == 0, answer.stderr
    for name, content in files_of(ours).items():
        assert (tmp_path / "models" / "tiny" / name).read_bytes() == content


def test_what_is_not_there_is_one_sentence(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["me/tiny"] = Repository({"config.json": b"{}"})
    for wanted, url in ("hf:me/none", hub.url), ("hf:me/tiny@none", hub.url), ("hf:me/tiny", "http://127.0.0.1:1"):
        answer = regard(hub, tmp_path, "get", wanted, HF_ENDPOINT=url)
        assert answer.returncode == 1 and "Traceback" not in answer.stderr
        assert f"{wanted} must be reachable on the hub" in answer.stderr
        assert len(answer.stderr.strip().splitlines()) == 1


def test_a_pushed_model_is_the_model(hub: Hub, tmp_path: Path) -> None:
    ours = make_model_folder(tmp_path / "made")
    (ours / "result.json").write_text("{}")
    refused = regard(hub, tmp_path, "push", str(ours), "hf:me/model")
    assert refused.returncode == 1 and "log in with  hf auth login" in refused.stderr
    answer = regard(hub, tmp_path, "push", str(ours), "hf:me/model", token="hf_secret")
    assert answer.returncode == 0, answer.stderr
    assert "/me/model/commit/" in answer.stdout
    expected = files_of(ours)
    del expected["result.json"]
    assert hub.pushed["me/model"] == expected
    hub.repositories["me/model"] = Repository(hub.pushed["me/model"])
    assert regard(hub, tmp_path, "get", "hf:me/model").returncode == 0
    text = "Le chat dort."
    assert load(tmp_path / "models" / "model").translate(text) == load(ours).translate(text)

"""What a look leaves behind: a page that stands alone, pictures, a trace; and the words of other frameworks."""

import base64
import hashlib
import html
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from cli_fixtures import run
from look_fixtures import SENTENCE, make_session, make_subject

from regard.config import DecodeConfig
from regard.errors import DataError, MissingExtra, UsageError
from regard.look.attention_view import attention
from regard.look.document import document
from regard.look.figures import figure_bytes
from regard.look.session import Session
from regard.look.single_file import fill_page
from regard.look.view import Look, single_file
from regard.trace import Trace

NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.fixture(scope="module")
def look() -> Look:
    return Look(Session(make_subject(), SENTENCE, DecodeConfig(max_length=7, beam=2)))


def carried(page: str) -> dict[str, Any]:
    [text] = re.findall(r'<script type="application/json" id="regard-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def decoded(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def test_its_policy_forbids_the_rest_and_a_text_cannot_break_out(look: Look) -> None:
    page = look.html()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and "unsafe" not in policy
    [script] = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for rule, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    evil = 'a</script><script>alert(1)</script> & "b" <!-- $&'
    page = fill_page(evil, {"document": evil})
    assert page.count("<script") == 2 and "alert(1)</script>" not in page
    assert carried(page)["document"] == evil
    [title] = re.findall(r"<title>(.*?)</title>", page)
    assert html.unescape(title) == evil


def test_weights_that_are_bytes_stay_bytes_and_exact() -> None:
    from regard.folder.tensors import dequantize, quantize

    subject = make_subject()
    tensors = {name: value.numpy() for name, value in subject.network.state_dict().items()}
    exact = dequantize(quantize(tensors))
    subject.network.load_state_dict({name: torch.from_numpy(exact[name]) for name in exact})
    session = make_session(replace(subject, manifest=replace(subject.manifest, weights="int8")), beam=1)
    data = carried(single_file(session))["tensors"]
    name = "decoder.layers.0.feed_forward.hidden.weight"
    rows = np.frombuffer(base64.b64decode(data[f"param:{name}"]["int8"]), dtype=np.int8)
    scales = decoded(data[f"param:{name}"]["scale"])
    weight = session.original.tensor(f"param:{name}")
    assert np.array_equal(rows.reshape(weight.shape) * scales[:, None], weight)


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_a_run_as_a_picture(architecture: str) -> None:
    session = make_session(make_subject(architecture=architecture), "Il a $5 et $6.", beam=1, max_length=16)
    root = ElementTree.fromstring(figure_bytes(session.original, "svg"))
    texts = {"".join(each.itertext()).strip() for each in root.iter(f"{{{NAMESPACE}}}text")}
    described = document(session)
    for place in described["output"]:
        string = place["token_string"]
        shown = string.removeprefix("▁") if string[0] in "▁<" else f"·{string}"
        assert any(text.startswith(shown) for text in texts)
    assert any("Il a $5 et $6." in text for text in texts)  # no formula
    assert ("cross-attention" in texts) == (architecture == "encoder-decoder")


def test_the_command_writes_what_it_is_asked_for(folder: Path, tmp_path: Path) -> None:
    page, points = tmp_path / "look.html", tmp_path / "points"
    trace, drawing = tmp_path / "trace", tmp_path / "drawing"
    answer = run(
        *("look", SENTENCE, "--model", folder, "--html", page, "--png", points, "--svg", drawing),
        *("--save", trace, "--json", "--set", "beam=1", "--compare", folder),
    )
    assert answer.exit_code == 0, answer.output
    described = json.loads(answer.stdout)
    assert described["source"]["text"] == SENTENCE
    assert len(described["steps"][-1]["beams"]) == 1
    assert carried(page.read_text(encoding="utf-8"))["document"] == described
    assert points.read_bytes().startswith(b"\x89PNG")
    assert drawing.read_bytes().startswith(b"<?xml")
    loaded = Trace.load(trace)
    np.testing.assert_allclose(loaded["encoder.layers.0.self_attention.weights"].sum(axis=-1), 1, rtol=1e-5)
    assert loaded["steps.0.beams"] == [[]]
    assert loaded.metadata["source"] == SENTENCE
    assert loaded.metadata["target"] == described["result"]


def test_the_command_serves_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.look.server import Server

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def interrupted(self: Server) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", interrupted)
    answer = run("look", SENTENCE, "--model", folder)
    assert answer.exit_code == 130
    assert len(opened) == 1 and opened[0].startswith("http://127.0.0.1:")
    assert opened[0] in answer.stderr
    assert run("look", SENTENCE, "--model", folder, "--no-browser").exit_code == 130
    assert len(opened) == 1


def test_the_users_mistakes_are_one_sentence_and_the_extra_is_named(folder, look, tmp_path, monkeypatch):
    for arguments in (
        [" ", "--json"],
        [SENTENCE, "--compare", "nothing", "--json"],
        [SENTENCE, "--set", "beam=none", "--json"],
        [SENTENCE, "--sentence", "2", "--json"],
        [SENTENCE, "--port", "99999", "--no-browser"],
        [SENTENCE, "--html", "no/such/folder/look.html"],
    ):
        answer = run("look", *arguments, "--model", folder)
        assert answer.exit_code == 2, arguments
        assert answer.stderr.startswith("regard: ") and answer.stderr.count("\n") == 1
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"\[plot\]"):
        look.save(tmp_path / "a.png")
    with pytest.raises(UsageError, match="html, png, svg or safetensors"):
        look.save(tmp_path / "a.pdf")


# ---------------------------------------------------------------------------- given from outside

SOURCE, TARGET = ["le", "chat", "dort"], ["the", "cat"]


def shares(*shape: int) -> np.ndarray:
    weights = np.random.default_rng(3).random(shape).astype(np.float32)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_weights_of_any_framework_are_shown() -> None:
    encoder, decoder, cross = shares(2, 5, 3, 3), shares(4, 1, 2, 2), shares(4, 7, 2, 3)
    tensor = torch.from_numpy(encoder).to(torch.float64).requires_grad_()
    layers = [torch.from_numpy(layer)[None] for layer in decoder]
    view = attention(encoder=tensor, decoder=layers, cross=cross.tolist(), source=SOURCE, target=TARGET)
    data = carried(view.html())
    stacks = {"encoder.layers.{}.self": encoder, "decoder.layers.{}.self": decoder, "decoder.layers.{}.cross": cross}
    for kind, given in stacks.items():
        for i, layer in enumerate(given):
            name = f"{kind.format(i)}_attention.weights"
            assert data["document"]["tensors"][name]["shape"] == list(layer.shape)
            assert np.array_equal(decoded(data["tensors"][name]), layer.ravel())
    assert len(data["tensors"]) == 10
    assert [data["document"][side]["token_strings"] for side in ("source", "target")] == [SOURCE, TARGET]
    assert "<iframe" in view._repr_html_()


def test_a_stack_alone_is_enough_and_weights_that_do_not_fit_are_refused() -> None:
    masked = np.tril(np.ones((1, 1, 2, 2)))
    view = attention(decoder=masked, target=["▁the", "▁ca"])
    assert view.document()["model"]["architecture"] == "decoder-only"
    assert view.document()["hidden"]["decoder.self"] == "future"
    assert view.document()["source"] is None
    view = attention(encoder=shares(1, 1, 3, 3), source=SOURCE)
    assert view.document()["model"]["architecture"] == "encoder-only"
    assert view.document()["source"]["text"] == "le chat dort"
    # The alignment of a recurrent network has neither layers nor heads.
    matrix = shares(2, 3)
    [(name, value)] = attention(cross=matrix, source=SOURCE, target=TARGET).weights.items()
    assert name == "decoder.layers.0.cross_attention.weights"
    assert np.array_equal(value, matrix[None])
    for given, error in (
        ({}, UsageError),
        ({"cross": shares(1, 1, 2, 3), "target": TARGET}, UsageError),
        ({"encoder": shares(1, 1, 2, 2), "source": SOURCE}, DataError),
        ({"encoder": [["a"]], "source": SOURCE}, DataError),
        ({"encoder": np.full((1, 1, 3, 3), np.nan), "source": SOURCE}, DataError),
    ):
        with pytest.raises(error) as caught:
            attention(**given)
        assert "\n" not in str(caught.value)

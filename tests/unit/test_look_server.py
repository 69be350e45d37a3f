"""The page's server: what it answers, and whom it refuses."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from look_fixtures import SENTENCE, make_subject
from serve_fixtures import Answer, request
from web_fixtures import serving

import regard
from regard.config import DecodeConfig
from regard.look.document import document
from regard.look.effects import neighbours, pca, probability
from regard.look.server import Server, page_names
from regard.look.session import Session
from regard.translate.trace import trace_pair


@pytest.fixture(scope="module")
def session() -> Session:
    config = DecodeConfig(max_length=7, beam=2)
    return Session(make_subject(), SENTENCE, config, make_subject("other", seed=7, num_decoder_layers=1))


@pytest.fixture(scope="module")
def server(session: Session) -> Iterator[Server]:
    with serving(Server(session)) as server:
        yield server


def ask(server: Server, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    address = ("127.0.0.1", server.server_port)
    if body is None:
        return request(address, "GET", path, headers=headers)
    text = body if isinstance(body, str) else json.dumps(body)
    return request(address, "POST", path, text, {"Content-Type": "application/json", **(headers or {})})


def answered(server: Server, path: str, body: Any = None) -> Any:
    answer = ask(server, path, body)
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json


def refused(server: Server, status: int, path: str, body: Any = None, **headers: str) -> str:
    answer = ask(server, path, body, headers)
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/json"
    message: str = answer.json["error"]
    assert message and "\n" not in message
    return message


def numbers(server: Server, path: str) -> np.ndarray:
    answer = ask(server, path)
    assert answer.status == 200, answer.body
    return np.frombuffer(answer.body, dtype="<f4")


def test_the_document_and_every_value_come_as_they_are(server: Server, session: Session) -> None:
    run = session.original
    assert answered(server, "/api/document") == json.loads(json.dumps(document(session)))
    for name, described in document(session)["tensors"].items():
        sent = numbers(server, f"/api/tensor/{name}").reshape(described["shape"])
        assert np.array_equal(sent, run.trace[name].astype(np.float32)), name
    table, path = run.subject.table("source"), "/api/tensor/param:source.embedding.weight"
    assert np.array_equal(numbers(server, path), table.ravel())
    assert np.array_equal(numbers(server, f"{path}?row=7"), table[7])
    refused(server, 400, f"{path}?row={len(table)}")
    for wrong in ("nothing", "memory?rows=0-1", "{0}?rows=5-5", "{0}?rows=0-999999", "{0}?columns=-1-4", "{0}?rows=a"):
        refused(server, 400, "/api/weights/" + wrong.format("source.embedding.weight"))


def test_a_what_if_is_a_new_run(server: Server, session: Session) -> None:
    edits = [{"kind": "head-off", "attention": "encoder.layers.0.self_attention", "head": 0}]
    answer = answered(server, "/api/whatif", {"edits": edits})
    assert answer["run"] == answer["document"]["run"] >= 2
    assert answer["document"]["changes"]["edits"] == edits
    path = f"/api/tensor/encoder.layers.0.self_attention.context?run={answer['run']}"
    shape = answer["document"]["tensors"]["encoder.layers.0.self_attention.context"]["shape"]
    assert not numbers(server, path).reshape(shape)[0].any()
    assert answered(server, f"/api/document?run={answer['run']}") == answer["document"]
    back = answered(server, "/api/whatif", {"edits": []})
    assert back["run"] == 0 and back["document"]["changes"] is None
    refused(server, 400, "/api/document?run=9999")


def test_questions_are_answered_and_the_answers_computed_again(server: Server, session: Session) -> None:
    run = session.original
    asked = answered(server, "/api/probability?step=1&text=Jane")
    assert asked == probability(run, 1, "Jane")
    tokens = run.subject.target.encode("Jane")
    assert asked["tokens"] == tokens and len(asked["probabilities"]) == len(tokens)
    assert asked["probabilities"][0] == run.trace["probabilities"][1, tokens[0]]
    assert answered(server, "/api/neighbours?token=300&side=source") == neighbours(run, 300, "source")
    assert answered(server, "/api/pca") == pca(run)
    for wrong in ("probability?step=99&text=x", "probability?text=x"):
        refused(server, 400, f"/api/{wrong}")
    for wrong in ("token=1&side=both", "token=99999&side=source"):
        refused(server, 400, f"/api/neighbours?{wrong}")
    # The product is what the model gives the word when it stands there: the same as one pass over it.
    asked = probability(run, 2, "September Africa")
    assert len(asked["tokens"]) > 1
    trace = trace_pair(run.subject.network, run.source, [*run.output[:2], *asked["tokens"]])
    expected = [trace["probabilities"][2 + place, token] for place, token in enumerate(asked["tokens"])]
    np.testing.assert_allclose(asked["probabilities"], expected, rtol=1e-4)
    answer, points = pca(run), np.concatenate([run.trace["source.embedding"], run.trace["target.embedding"]])
    for side in ("source", "target"):
        assert len(answer[side]) == len(run.trace[f"{side}.tokens"])
    plane = np.array(answer["source"] + answer["target"])
    spread = np.sort(np.linalg.eigvalsh(np.cov(points.T.astype(np.float64))))[::-1]
    np.testing.assert_allclose(plane.var(axis=0, ddof=1), spread[:2], rtol=1e-6)
    np.testing.assert_allclose(answer["explained"], spread[:2] / spread.sum(), rtol=1e-6)
    np.testing.assert_allclose(plane.mean(axis=0), 0, atol=1e-9)


def test_only_this_machine_and_its_own_page_are_answered(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    for host in ("evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1:a", "a@localhost"):
        refused(server, 403, "/api/document", Host=host)
        refused(server, 403, "/api/whatif", {"edits": []}, Host=host)
    refused(server, 403, "/api/whatif", {"edits": []}, Origin="http://evil.example")
    refused(server, 403, "/api/whatif", {"edits": []}, Origin="null")
    assert ask(server, "/api/whatif", {"edits": []}, {"Origin": server.url.rstrip("/")}).status == 200
    refused(server, 403, "/api/pca", Origin="http://127.0.0.1:1")
    # As it comes through a forwarded port.
    forwarded = {"Host": "localhost:8080", "Origin": "http://localhost:8080"}
    assert ask(server, "/api/pca", headers=forwarded).status == 200


def test_the_code_of_every_box_is_a_page_with_its_line_marked(server: Server, session: Session) -> None:
    places = document(session, 0)["code"]
    assert {"scores", "weights", "embedding", "position", "norm", "hidden", "search"} <= set(places)
    for box, place in places.items():
        answer = ask(server, f"/api/code/{box}?run=0")
        assert answer.headers.get_content_type() == "text/html"
        [shown] = re.findall("<pre>(.*)</pre>", answer.body.decode(), re.DOTALL)
        [marked] = re.findall('<mark id="here">(.*)</mark>', shown)
        file = Path(regard.__file__).parent / place["file"].removeprefix("src/regard/")
        text = file.read_text(encoding="utf-8")
        assert html.unescape(re.sub('<mark id="here">|</mark>', "", shown)) == text
        line = text.split("\n")[place["line"] - 1]
        assert html.unescape(marked) == line
        assert f'"{box}"' in line or "def " in line or "class " in line or "keep(" in line, box


def test_what_is_not_there_or_no_change_is_said_in_json(server: Server) -> None:
    assert "nothing" in refused(server, 404, "/api/tensor/nothing")
    refused(server, 404, "/api/document", {"edits": []})
    nowhere = ("/api/tensor/param:nothing", "/api/tensor/steps.0.beams", "/api/nothing", "/nothing.js")
    # Nothing outside the page is given out.
    outside = ("/../server.py", "/..%2fserver.py", "//etc/passwd", "/..\\server.py", "/.", "/index.html%00.js")
    for path in (*nowhere, *outside):
        refused(server, 404, path)
    assert ask(server, "/api/whatif", '{"edits": []}', {"Content-Type": "text/plain"}).status == 400
    for body in ("{", "[]", '{"edits": 1}', '{"edits": [1]}', '{"edits": [{"kind": "x"}]}'):
        refused(server, 400, "/api/whatif", body)
    assert '"passages": "..."' in refused(server, 400, "/api/nearest", '{"passages": 1}')
    # What is too long is not read: it is refused by the length it announces.
    refused(server, 400, "/api/whatif", "x", **{"Content-Length": str((1 << 20) + 1)})


def test_the_page_is_served_under_its_policy(server: Server) -> None:
    kinds = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
    for name in page_names():
        answer = ask(server, f"/{name}")
        assert answer.status == 200 and answer.body
        kind = kinds.get(name.rpartition(".")[2])
        if kind:
            assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
        imported = re.findall(r'^import .* from "\./([\w./]+)"', answer.body.decode(errors="replace"), re.M)
        assert set(imported) <= set(page_names())
    assert ask(server, "/").body == ask(server, "/index.html").body
    for path in ("/", "/api/document", "/api/tensor/memory", "/api/nothing"):
        headers = ask(server, path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self';") and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"


def test_another_text_in_any_model_that_is_here(server: Server, session: Session) -> None:
    models = answered(server, "/api/models")
    assert [each["name"] for each in models[:2]] == ["random", "other"]
    story = next(i for i, each in enumerate(models) if each["name"] == "story")
    found = {i: answered(server, "/api/text", {"text": "Jane dort.", "model": i}) for i in (0, 1, story)}
    assert [each["model"]["name"] for each in found.values()] == ["random", "other", "story"]
    assert found[0]["title"] == "Jane dort." and found[0]["run"] not in (0, 1)
    changed = answered(server, "/api/whatif", {"run": found[1]["run"], "edits": [{"kind": "no-positions"}]})
    assert changed["document"]["changes"]["original"] == found[1]["run"]
    assert "must have words" in refused(server, 400, "/api/text", {"text": " ", "model": 0})
    assert "model must be" in refused(server, 400, "/api/text", {"text": "Jane.", "model": 99})
    refused(server, 400, "/api/text", {"text": 3})

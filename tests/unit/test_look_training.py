"""Looking at a run: its snapshots, curves and training steps behind the page."""

import json
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.request import Request, urlopen

import numpy as np
import pytest
import torch
from cli_fixtures import run as command
from train_fixtures import QUICK, counting_corpus, metrics, run

from regard.cli import train as cli
from regard.cli.serve import _text_and_model
from regard.folder.checkpoint import read_tensors
from regard.look import page_engine, training_run
from regard.look.document import criteria, describe
from regard.look.live import live_session, served_live
from regard.look.server import chain, get, post
from regard.look.view import Look, look_at
from regard.train import run as training
from regard.train.plan import NUM_SNAPSHOTS
from regard.train.snapshots import list_snapshots, read_snapshot

TEXT = "un deux trois"
KEPT = replace(QUICK, snapshots=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looked")
    run(counting_corpus(folder), folder / "run", KEPT)
    return folder / "run"


@pytest.fixture(scope="module")
def look(folder: Path) -> Look:
    return look_at(folder, TEXT)


def test_the_run_is_described(look: Look, folder: Path) -> None:
    assert look.session.training
    described = look.session.training.describe()
    assert described["steps"] == list_snapshots(folder) and described["finished"]
    assert [line["step"] for line in described["train"]] == list(range(1, 13))
    assert all(line["gradient"] > 0 and line["rate"] is not None for line in described["train"])
    assert [line["step"] for line in described["valid"]] == [6, 12]
    assert look.session.training.probes(12) == read_snapshot(folder, 12).probes
    newer = look.session.training.describe(after=7)
    assert newer["after"] == 7 and newer["train"] == described["train"][7:] and newer["valid"] == described["valid"]
    assert described["warning"] == metrics(folder, "warning")[-1]["text"], "twelve steps teach nothing"


def test_a_saved_page_carries_the_snapshots_it_has_room_for(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    carried, steps = page_engine.carried_steps(look.session), list_snapshots(look.session.training.folder)
    size = sum(p.numel() for p in look.session.original.subject.network.parameters())
    monkeypatch.setattr(page_engine, "MAX_SNAPSHOT_BYTES", size * len(steps) // 2)
    page = look.html()
    assert carried == steps and page_engine.carried_steps(look.session) == steps[::2]
    assert [step for step in steps if f'id="model-0-{step}"' in page] == steps[::2]


def test_a_snapshot_is_looked_at_with_its_own_weights(look: Look, folder: Path) -> None:
    early, late = look.session.learning(0, 1), look.session.learning(0, 12)
    assert look.session.learning(early.number, 12) is late, "what was computed is kept"
    assert look.session.learning(early.number, None) is look.session.original
    for each, step in ((early, 1), (late, 12)):
        assert describe(each)["model"]["step"] == step
        weight = each.tensor("param:encoder.layers.0.feed_forward.hidden.weight")
        wanted = read_snapshot(folder, step).tensors["encoder.layers.0.feed_forward.hidden.weight"]
        assert weight is not None and np.array_equal(weight, wanted)
    assert not np.array_equal(early.trace["source.embedding"], late.trace["source.embedding"])
    assert early.source == late.source == look.session.original.source
    other = look.session.text("deux un", 1)
    assert look.session.learning(other.number, None).subject is look.session.original.subject, "the run's own model"


def test_a_run_that_has_stopped_is_looked_at_as_its_newest_snapshot(tmp_path: Path) -> None:
    run(counting_corpus(tmp_path), tmp_path / "run", KEPT, stop_at=7)
    found = command("look", tmp_path / "run", "--json")
    assert found.exit_code == 0 and json.loads(found.stdout)["model"]["step"] == list_snapshots(tmp_path / "run")[-1]
    assert _text_and_model(["un " * 500], None) == ("un " * 500, None), "no folder has so long a name"


def test_a_training_step_on_the_page(look: Look) -> None:
    content, _ = post(look.session, "api/training", b'{"run": 0, "step": 8, "reference": "one two three"}')
    run = look.session.learning(0, 8, "one two three")
    assert f'"run": {run.number}'.encode() in content
    described = describe(run)
    assert described["target"]["text"] == "one two three" and described["training"]["has_moments"]
    name = "grad:decoder.layers.0.cross_attention.weights"
    assert described["tensors"][name]["shape"] == list(run.trace[name.removeprefix("grad:")].shape)
    found = chain(run, name, "0,1,2")
    assert found["result"] == pytest.approx(found["traced"], rel=1e-4, abs=1e-9)
    numbers, _ = get(look.session, f"api/tensor/{name}", {"run": str(run.number)})
    assert np.frombuffer(numbers, np.float32)[0] == run.step.gradients[name.removeprefix("grad:")].flat[0]  # type: ignore[union-attr]
    update = chain(run, "after:encoder.layers.0.feed_forward.hidden.weight", "3,5")
    assert update["result"] == pytest.approx(update["traced"], rel=1e-4)


def test_adams_moments_come_from_the_snapshot(look: Look, folder: Path) -> None:
    """The step after step 8 begins with the run's own moments, to the 8 bits they are kept in."""
    run = look.session.learning(0, 8, "one two three")
    assert run.step is not None and run.step.number == 9
    first, second = read_snapshot(folder, 8).moments
    name = "encoder.layers.0.feed_forward.hidden.weight"
    update = chain(run, f"after:{name}", "0,0")
    g = run.step.gradients[f"param:{name}"][0, 0] * run.step.clipping
    values = [line["value"] for line in update["lines"]]
    assert values[3] == pytest.approx(0.9 * first[name][0, 0] + 0.1 * g, rel=1e-5)
    assert values[4] == pytest.approx(0.98 * second[name][0, 0] ** 2 + 0.02 * g * g, rel=1e-5)


def test_a_run_is_served_while_it_trains(tmp_path: Path) -> None:
    """Steps grow under the eyes of a visitor; the page goes on to the finished model; the run is the one without a page."""
    data, urls, seen = counting_corpus(tmp_path), list[str](), list[int]()
    settings = replace(KEPT, steps=60, validate_every=60)

    def visit() -> None:
        while not urls:
            time.sleep(0.01)
        while not (training := asked(urls[0] + "api/training"))["finished"]:
            run = asked(urls[0] + "api/training", {"run": 0, "step": training["steps"][-1]})
            seen.append(run["model"]["step"])
        finished.append(asked(urls[0] + "api/training", {"run": 0, "step": None}))

    finished: list[Any] = []
    with served_live(tmp_path / "run", urls.append) as is_served:
        visitor = threading.Thread(target=visit)
        visitor.start()
        run(data, tmp_path / "run", settings)
        visitor.join()
        assert is_served.is_set()
    assert len(set(seen)) > 1 and seen == sorted(seen)
    [document] = finished
    assert document["model"]["step"] is None
    assert document["result"] == look_at(tmp_path / "run", document["title"]).text
    run(data, tmp_path / "alone", settings)
    watched, alone = (read_tensors(tmp_path / name) for name in ("run", "alone"))
    assert all(np.array_equal(watched[name], alone[name]) for name in alone)


@pytest.mark.parametrize("look", [False, True])
def test_a_look_keeps_snapshots_of_any_model(look: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []
    monkeypatch.setattr(training, "train", lambda request, *_, **__: asked.append(request.train.snapshots))
    cli.train(tmp_path, look=look)
    assert asked == [NUM_SNAPSHOTS if look else None]


def test_a_page_rests_until_its_answers_are_a_small_share(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(training_run.time, "process_time", lambda: now[0])
    budget = training_run.Budget(share=0.02)
    assert budget.wait == 0
    budget.spend(0.08, False)
    budget.spend(0.02, True)  # a change, so that twice as much is kept for the next
    assert budget.wait == pytest.approx(7.0)
    now[0] += 7.0
    assert budget.wait == pytest.approx(0.0)


def test_an_untrained_model_does_not_hold_up_its_training(look: Look, folder: Path, tmp_path: Path) -> None:
    """It never ends of itself: while the run goes on, its output ends sooner. Its random numbers are left alone."""
    (shutil.copytree(folder, tmp_path / "run") / "result.json").unlink()
    live = live_session(tmp_path / "run").original
    criteria.cache_clear()
    with patch.object(torch, "manual_seed") as seeds:
        assert describe(live)["criteria"] and not seeds.called
    late = look.session.learning(look.session.text(live.text).number, 0)
    ends = [len(each.found.hypotheses[0].tokens) for each in (live, late)]
    assert ends[0] == len(live.source) - 1 + 10 < ends[1]


def asked(url: str, body: Any = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, content, {"Content-Type": "application/json"}), timeout=60) as answer:
        return json.load(answer)

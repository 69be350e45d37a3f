"""Snapshots of a run: their steps, their content, and the same ones after an interruption."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock, patch

import numpy as np
import pytest
import torch
from train_fixtures import QUICK, counting_corpus, metrics, run

from regard.engine.torch import load_model
from regard.errors import UsageError
from regard.folder.checkpoint import read_tensors
from regard.folder.tensors import dequantize, quantize
from regard.train import summary as summaries
from regard.train.plan import Plan
from regard.train.snapshots import SNAPSHOTS, SnapshotWriter, list_snapshots, read_snapshot, steps_of
from regard.train.summary import as_text, summary, timed

KEPT = replace(QUICK, snapshots=None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    with patch.object(SnapshotWriter, "take", autospec=True, side_effect=SnapshotWriter.take) as taken:
        run(counting_corpus(folder), folder / "run", KEPT, curves=True)
    assert [call.args[1] for call in taken.call_args_list] == list_snapshots(folder / "run"), "each is written once"
    return folder / "run"


def test_steps_lie_on_a_logarithmic_scale() -> None:
    steps = steps_of(16, 3000)
    assert steps[0] == 0 and steps[-1] == 3000 and 12 <= len(steps) <= 20
    ratios = np.array(steps[9:]) / np.array(steps[8:-1])
    assert ratios.min() > 1.6 and ratios.max() < 1.85
    assert steps_of(0, 3000) == [] and steps_of(16, None)[:5] == [0, 1, 2, 4, 8]


def test_the_last_snapshot_is_the_finished_model(whole: Path) -> None:
    """The best validation was the last: its weights, as bytes."""
    assert list_snapshots(whole)[0] == 0 and list_snapshots(whole)[-1] == 12
    last = read_snapshot(whole, 12)
    wanted = dequantize(quantize(read_tensors(whole)))
    assert last.tensors.keys() == wanted.keys()
    assert all(np.array_equal(last.tensors[name], wanted[name]) for name in wanted)
    first = read_snapshot(whole, 0)
    assert first.moments == ({}, {}) and last.moments[0].keys() == last.moments[1].keys()
    assert [probe["source"] for probe in first.probes] == [probe["source"] for probe in last.probes]
    assert len(first.probes) == 4 and all(set(probe) == {"source", "reference", "written"} for probe in first.probes)


def test_a_run_that_was_interrupted_has_the_same_snapshots(whole: Path, tmp_path: Path) -> None:
    data = Plan.load(whole / "run.json").data
    run(data, tmp_path / "run", KEPT, stop_at=7)
    stray = tmp_path / "run" / SNAPSHOTS / "step-00000011.safetensors"
    stray.write_bytes(b"of a step that the killed run had reached")
    run(data, tmp_path / "run", KEPT, resume=True)
    for path in sorted((whole / SNAPSHOTS).iterdir()):
        assert path.read_bytes() == (tmp_path / "run" / SNAPSHOTS / path.name).read_bytes()
    assert list_snapshots(tmp_path / "run") == list_snapshots(whole)


def test_snapshots_change_nothing_in_the_run(whole: Path, tmp_path: Path) -> None:
    run(Plan.load(whole / "run.json").data, tmp_path / "run")
    assert not (tmp_path / "run" / SNAPSHOTS).exists()
    with_them, without = read_tensors(whole), read_tensors(tmp_path / "run")
    assert all(np.array_equal(with_them[name], without[name]) for name in with_them)


def test_a_run_summed_up(whole: Path) -> None:
    found = summary(whole)
    result = json.loads((whole / "result.json").read_bytes())
    valid = metrics(whole, "valid")
    assert found["finished"] and found["steps"] == result["steps"] == 12 and found["scores"] == result["scores"]
    assert found["best"]["loss"] in [line["loss"] for line in valid]
    text = as_text(found)
    assert "12 steps" in text and f"loss {min(line['loss'] for line in valid):.3f}" in text
    assert all(probe["reference"] in text for probe in read_snapshot(whole, 12).probes)
    assert (whole / "curves.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(UsageError, match="has no run.json"):
        summary(whole / SNAPSHOTS)


def test_the_time_is_estimated_without_a_trace(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger share of the steps takes a larger share of the time, and no random number is drawn."""
    plan = Plan.load(whole / "run.json")
    network = load_model(whole)[0]
    before = torch.get_rng_state()
    _, seconds = timed(network, plan)
    assert seconds and seconds > 0 and torch.equal(before, torch.get_rng_state())
    assert all(parameter.grad is None for parameter in network.parameters())
    assert timed(network, replace(plan, train=replace(plan.train, steps=None, minutes=3.0)))[1] is None
    with monkeypatch.context() as patch:
        patch.setattr(summaries.Updater, "gather", Mock(side_effect=torch.OutOfMemoryError("out of memory")))
        assert timed(network, plan)[1] is None, "the run finds a batch that fits"


@pytest.mark.parametrize(("costs", "fastest"), [((1.0, 5.0, 4.0), 1), ((4.0, 2.0, 1.9), 2), ((4.0, 2.0, 1.0), 3)])
def test_threads_are_those_of_the_fastest_step(costs, fastest, whole, monkeypatch):
    """With a clock that goes on by what a step costs with so many threads; a tenth is not worth a thread."""
    plan, now, used = Plan.load(whole / "run.json"), [0.0], [3]

    def step(*_: object, **__: object) -> None:
        now[0] += costs[used[0] - 1]

    monkeypatch.setattr(torch, "get_num_threads", lambda: used[0])
    monkeypatch.setattr(torch, "set_num_threads", lambda number: used.__setitem__(0, number))
    monkeypatch.setattr(summaries.Updater, "__call__", step)
    monkeypatch.setattr(summaries.time, "perf_counter", lambda: now[0])
    chosen, seconds = timed(load_model(whole)[0], replace(plan, train=replace(plan.train, threads=None)))
    assert chosen.train.threads == used[0] == fastest and f"{fastest} of 3 threads" in chosen.describe("cpu")
    assert seconds == pytest.approx(costs[fastest - 1] * plan.train.steps * plan.train.batch_tokens / 700)
    assert timed(load_model(whole)[0], replace(plan, train=replace(plan.train, threads=2)))[0].train.threads == 2

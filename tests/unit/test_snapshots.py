"""Snapshots of a run: their steps, their content, and the same ones after an interruption."""

from pathlib import Path

import numpy as np
import pytest
from train_fixtures import QUICK, counting_corpus, run

from regard.folder.checkpoint import read_tensors
from regard.folder.tensors import dequantize, quantize
from regard.train.plan import Plan
from regard.train.snapshots import SNAPSHOTS, list_snapshots, read_snapshot, steps_of


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    run(counting_corpus(folder), folder / "run")
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
    run(data, tmp_path / "run", stop_at=7)
    stray = tmp_path / "run" / SNAPSHOTS / "step-00000011.safetensors"
    stray.write_bytes(b"of a step that the killed run had reached")
    run(data, tmp_path / "run", resume=True)
    for path in sorted((whole / SNAPSHOTS).iterdir()):
        assert path.read_bytes() == (tmp_path / "run" / SNAPSHOTS / path.name).read_bytes()
    assert list_snapshots(tmp_path / "run") == list_snapshots(whole)


def test_snapshots_change_nothing_in_the_run(whole: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    run(Plan.load(whole / "run.json").data, tmp_path / "run", replace(QUICK, snapshots=0))
    assert not (tmp_path / "run" / SNAPSHOTS).exists()
    with_them, without = read_tensors(whole), read_tensors(tmp_path / "run")
    assert all(np.array_equal(with_them[name], without[name]) for name in with_them)

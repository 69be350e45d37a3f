"""Where a run may begin: what others left is theirs, what a killed run left is taken away."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from pathlib import Path

import pytest
from train_fixtures import QUICK, counting_corpus, run

import regard.files as lock_module
from regard.data.storage import Column
from regard.errors import TrainingError, UsageError
from regard.train.loop import Trainer
from regard.train.run_folder import LOCK, check_folder, locked


def test_a_run_killed_before_it_had_a_plan_is_begun_anew(tmp_path: Path) -> None:
    output = tmp_path / "run"
    (output / "tokenizers").mkdir(parents=True)
    for name in (LOCK, ".run.json.new", "tokenizers/tokenizer.model"):
        (output / name).write_text("half-written")
    check_folder(output, resume=False)
    assert list(output.iterdir()) == []
    (output / "tokenizers").mkdir()
    (output / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="must be a new or empty folder"):
        check_folder(output, resume=False)
    assert {path.name for path in output.iterdir()} == {"tokenizers", "thesis.txt"}
    remove_refused(output)
    assert (output / "thesis.txt").read_text() == "mine"


def test_a_lock_whose_owner_was_killed_is_taken(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    with locked(tmp_path):
        assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()


def test_a_lock_that_is_removed_while_it_is_taken_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = lock_module._lock, []

    def take(handle: int) -> None:
        real(handle)
        if not taken:  # who held it until now removes the file
            (tmp_path / LOCK).unlink()
        taken.append(handle)

    monkeypatch.setattr(lock_module, "_lock", take)
    with locked(tmp_path):
        assert len(taken) == 2
        with pytest.raises(TrainingError, match="another one trains in"), locked(tmp_path):
            pass


def test_a_folder_that_vanishes_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Trainer._validate

    def vanishing(self: Trainer, reporter: object) -> None:
        shutil.rmtree(self.run_folder)
        real(self, reporter)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "_validate", vanishing)
    with pytest.raises(TrainingError, match="has vanished"):
        run(counting_corpus(tmp_path), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_no_room_for_the_text_is_told_with_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Column) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Column, "flush", full)
    message = r"run must have room .*: No space left on device, [\d,]+ bytes are free; make room"
    with pytest.raises(TrainingError, match=message):
        run(counting_corpus(tmp_path), tmp_path / "run")
    assert not (tmp_path / "run").exists(), "it can be begun again"


def test_a_clock_that_is_put_back_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = time.time, [0]

    def jumping() -> float:
        calls[0] += 1
        return real() - 3600 * (calls[0] > 5)

    monkeypatch.setattr(time, "time", jumping)
    corpus = counting_corpus(tmp_path)
    os.environ["TZ"] = "Pacific/Kiritimati"
    try:
        time.tzset()
        assert run(corpus, tmp_path / "run", QUICK, stop_at=6) is None
        assert run(corpus, tmp_path / "run", QUICK, resume=True) is not None
    finally:
        del os.environ["TZ"]
        time.tzset()
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    speeds = [line["tokens_a_second"] for line in lines if line["kind"] == "train"]
    assert len(speeds) == 12 and min(speeds) > 0
    assert lines[0]["time"] > lines[-1]["time"], "the clock was put back"
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == ["step-00000006", "step-00000012"]

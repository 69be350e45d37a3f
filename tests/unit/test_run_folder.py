"""Where a run may begin: what others left is theirs, what a killed run left is taken away."""

import errno
from pathlib import Path

import pytest
from train_fixtures import counting_corpus, run

from regard.config import DataConfig
from regard.data.storage import Column
from regard.errors import TrainingError, UsageError
from regard.train.run import LOCK, check_folder, locked, remove_refused


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


def test_no_room_for_the_text_is_told_with_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Column) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Column, "flush", full)
    message = r"run must have room .*: No space left on device, [\d,]+ bytes are free; make room"
    with pytest.raises(TrainingError, match=message):
        run(counting_corpus(tmp_path), tmp_path / "run")
    assert not (tmp_path / "run").exists(), "it can be begun again"


def test_a_folder_in_use_is_refused_and_left_alone(corpus: DataConfig, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="must be a folder: .* is a file"):
        run(corpus, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(TrainingError, match="must be the folder of an earlier run"):
        run(corpus, tmp_path / "nowhere", resume=True)
    run(corpus, tmp_path / "run", stop_at=6)
    with pytest.raises(UsageError, match="holds a training run; .* --resume"):
        run(corpus, tmp_path / "run")
    with locked(tmp_path / "run"), pytest.raises(TrainingError, match="another one trains in"):
        run(corpus, tmp_path / "run", resume=True)
    assert run(corpus, tmp_path / "run", resume=True) is not None
    assert not (tmp_path / "run" / ".lock").exists()

"""Checkpoints: there whole or not at all, whatever happens while or after they are written."""

import errno
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from stopping import Killed, stopped_at

from regard.errors import RegardWarning, TrainingError
from regard.train.checkpoints import STATE, SUMS, TENSORS, average_best, load_latest, save_best, save_checkpoint

CPU = torch.device("cpu")


def save(run: Path, step: int, best: list[int] | None = None, size: int = 3) -> Path:
    tensors = {"weights.a": torch.full((size,), float(step))}
    state = {"step": step, "best": [(0.0, 0.0, each) for each in best or []]}
    return save_checkpoint(run, step, tensors, state)


def step_of(run: Path) -> int:
    found = load_latest(run, CPU)
    assert found is not None
    tensors, state = found
    assert tensors["weights.a"].unique().tolist() == [state["step"]]
    return int(state["step"])


def damaged(content: bytes, how: str, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    if how == "bit":
        return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]
    return {"cut": content[:place], "zero": bytes(len(content)), "empty": b""}[how]


@pytest.mark.parametrize(("name", "how"), [(TENSORS, "bit"), (STATE, "zero"), (SUMS, "empty"), (STATE, "gone")])
def test_a_damaged_file_is_named_and_the_checkpoint_before_taken(tmp_path: Path, name: str, how: str) -> None:
    rng = random.Random(5)
    for step in (1, 2):
        save(tmp_path, step)
    path = tmp_path / "checkpoints" / "step-00000002" / name
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(damaged(path.read_bytes(), how, rng))
    with pytest.warns(RegardWarning, match=r"damaged: .*step-00000002.*going on from step-00000001"):
        assert step_of(tmp_path) == 1
    save(tmp_path, 2)
    assert step_of(tmp_path) == 2, "a run that comes by again replaces it"
    for step in (1, 2):
        (tmp_path / "checkpoints" / f"step-{step:08d}" / STATE).write_text("{")
    with pytest.raises(TrainingError, match=r"intact checkpoint.*0002/state.json.*0001/state.json"):
        load_latest(tmp_path, CPU)
    assert not list(tmp_path.rglob("*.unfinished"))


@contextmanager
def room_for(num_bytes: int) -> Iterator[None]:
    """A disk on which no file can be longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, 1, size=5000)
    length = (tmp_path / "checkpoints" / "step-00000001" / TENSORS).stat().st_size
    message = r"step-00000002 must be written, some 20,\d{3} bytes.* bytes are free; .*--resume"
    with pytest.raises(TrainingError, match=message), room_for(length // 2):
        save(tmp_path, 2, size=5000)
    assert step_of(tmp_path) == 1
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000001"]


CALLS = ("os.fsync", "os.rename", "os.replace", "shutil.rmtree")


@pytest.mark.parametrize("kind", ["killed", "failed"])
def test_stopped_at_any_call_there_is_a_whole_checkpoint(tmp_path, kind):
    error = Killed if kind == "killed" else lambda: OSError(errno.ENOSPC, "No space left on device")
    for stop in range(99):
        run = tmp_path / f"run{stop}"
        run.mkdir()
        for step in (1, 2):
            save(run, step)
        try:
            with stopped_at(stop, *CALLS, error=error) as calls:
                save(run, 3)
        except (Killed, OSError, TrainingError):
            assert step_of(run) in (2, 3)
            save(run, 4)
            assert step_of(run) == 4
            assert not list(run.rglob("*.unfinished")), "nothing half-written stays"
            continue
        break
    assert 7 < stop < 99, "the last try wrote everything"
    order = [calls.index(call) for call in (
        "fsync training.safetensors",
        "fsync .SHA256SUMS.new",
        "fsync step-00000003.unfinished",
        "rename step-00000003.unfinished",
        "fsync checkpoints",
        "rmtree step-00000001",
    )]  # fmt: skip
    assert order == sorted(order), "on the disk, then under its name, then the old one goes"


def test_what_is_not_read_back_does_not_count_and_a_vanished_folder_stays_so(tmp_path, monkeypatch):
    from regard.train import checkpoints as module

    save(tmp_path, 1)
    real = module.save_file
    monkeypatch.setattr(module, "save_file", lambda t, p: real({name: value + 1 for name, value in t.items()}, p))
    with pytest.raises(TrainingError, match=r"weights\.a was not read back as it was written"):
        save(tmp_path, 2)
    assert step_of(tmp_path) == 1
    run = tmp_path / "run"
    with pytest.raises(TrainingError, match="run has vanished"):
        save(run, 1)
    assert not run.exists()


def test_the_average_of_the_best_by_hand(tmp_path: Path) -> None:
    for step, value in ((1, 2.0), (2, 5.0), (3, 8.0)):
        save_best(tmp_path, step, {"a": torch.full((2,), value)})
    assert average_best(tmp_path, [1, 2, 3])["a"].tolist() == [5.0, 5.0]
    (tmp_path / "best" / "step-00000003" / TENSORS).write_bytes(b"")
    with pytest.warns(RegardWarning, match="left out of the average, damaged: .*step-00000003"):
        assert average_best(tmp_path, [1, 3])["a"].tolist() == [2.0, 2.0]
    with pytest.raises(TrainingError, match="must hold the weights of a validation"):
        average_best(tmp_path, [3])


def test_the_best_of_every_kept_checkpoint_stay(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save_best(tmp_path, step, {"a": torch.zeros(2)})
        save(tmp_path, step, best=[step])
    kept = sorted(path.name for path in (tmp_path / "best").iterdir())
    assert kept == ["step-00000002", "step-00000003"], "who falls back to 2 needs its weights"

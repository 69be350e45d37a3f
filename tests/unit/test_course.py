"""How long a run is: steps that follow from the settings alone, or minutes of the clock."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch
from train_fixtures import QUICK, checkpoint_of, run

from regard.config import DataConfig, TrainConfig, sized
from regard.errors import TrainingError, UsageError
from regard.train import progress as progress_module
from regard.train.memory import OutOfMemory
from regard.train.optimizer import Schedule
from regard.train.plan import LARGEST_ON_CPU, NUM_VALIDATIONS, WARMUP_SHARE, complete
from regard.train.progress import Clock, Progress
from regard.train.update import Updater

TIMED = TrainConfig(minutes=3, learning_rate=0.5)


def test_counted_in_steps_it_is_the_schedule() -> None:
    settings = TrainConfig(steps=70, warmup=7, learning_rate=0.5, validate_every=20)
    course, schedule = Progress(settings), Schedule("cosine", 0.5, 7, 70)
    assert [course.rate(n, seconds=n * 9.0) for n in range(1, 71)] == [
        schedule.rate(n) for n in range(1, 71)
    ]
    due = [n for n in range(1, 71) if course.is_due(n, 5.0, 0.0)]
    assert due == [20, 40, 60, 70] and course.done(70, 0.0) == 1 > course.done(69, 1e9)


def test_counted_in_minutes_it_ends_on_time_at_a_rate_of_nothing() -> None:
    course, whole = Progress(TIMED), 180.0
    warm = WARMUP_SHARE * whole
    assert course.rate(1, 0.0) == 0 == course.rate(9, whole)
    assert course.rate(9, warm / 2) == pytest.approx(
        0.25 * 0.5 * (1 + math.cos(math.pi * warm / 2 / whole))
    )
    assert course.rate(9, whole / 2) == pytest.approx(0.25)
    rates = [course.rate(9, second) for second in range(round(warm) + 1, 181)]
    assert rates == sorted(rates, reverse=True)
    assert course.done(10**9, 179.9) < 1 == course.done(1, 180.0) == course.done(1, 999.0)


def test_a_warm_up_in_steps_and_minutes() -> None:
    course = Progress(dataclasses.replace(TIMED, warmup=10))
    assert course.rate(5, 0.0) == pytest.approx(0.25) and course.rate(10, 0.0) == 0.5


def test_validations_in_minutes_are_evenly_apart() -> None:
    course, last, due = Progress(TIMED), 0.0, []
    for second in range(1, 181):
        if course.is_due(second, float(second), last):
            last = float(second)
            due.append(second)
    assert len(due) == NUM_VALIDATIONS and due[0] == 18 and due[-1] == 180
    stepwise = Progress(dataclasses.replace(TIMED, validate_every=7))
    assert stepwise.is_due(14, 100.0, 0.0) and not stepwise.is_due(15, 100.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minutes": 3, "steps": 5}, "so many steps or so many minutes"),
        ({"minutes": 0}, "minutes must be above 0"),
        ({"minutes": 3, "schedule": "inverse-sqrt"}, "minutes needs schedule=cosine"),
    ],
)
def test_minutes_that_cannot_be_meant(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TrainConfig(**changes)  # type: ignore[arg-type]


def test_the_plan_of_minutes_leaves_steps_open() -> None:
    plan = complete(TIMED, sized("tiny"), num_pairs=500, num_tokens=9000, on_gpu=False)
    assert (plan.steps, plan.warmup, plan.validate_every) == (None, None, None)
    assert plan.minutes == 3 and plan.batch_tokens and plan.extent.startswith("3 minutes")


def test_a_cpu_takes_a_large_batch_in_parts() -> None:
    numbers = {"num_pairs": 10**6, "num_tokens": 60 * 10**6}
    plan = complete(TrainConfig(), sized("base"), on_gpu=False, **numbers)
    on_gpu = complete(TrainConfig(), sized("base"), on_gpu=True, **numbers)
    assert plan.batch_tokens and on_gpu.batch_tokens
    assert plan.batch_tokens <= LARGEST_ON_CPU < on_gpu.batch_tokens
    assert plan.batch_tokens * plan.accumulate == on_gpu.batch_tokens * on_gpu.accumulate
    assert plan.steps == on_gpu.steps
    asked = TrainConfig(batch_tokens=50_000)
    assert complete(asked, sized("base"), on_gpu=False, **numbers).batch_tokens == 50_000


def test_the_clock_counts_the_first_steps_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "perf_counter", lambda: now[0])
    clock = Clock()
    clock.set(100.0, 1.0)
    clock.run(first=True)
    now[0] = 30.0
    assert clock.seconds == 100
    clock.run()
    now[0] = 37.0
    assert (clock.seconds, clock.first_seconds) == (107, 31)
    clock.stop()
    now[0] = 99.0
    clock.stop()
    assert (clock.seconds, clock.first_seconds) == (107, 31)


def test_a_run_of_minutes(corpus: DataConfig, tmp_path: Path) -> None:
    settings = TrainConfig(minutes=1 / 60, batch_tokens=700, learning_rate=3e-3, metric="loss")
    result = run(corpus, tmp_path / "run", settings)
    evidence = json.loads((result.folder / "result.json").read_text())
    assert evidence["steps"] > 1 and evidence["seconds"]["training"] >= 1
    lines = [json.loads(x) for x in (result.folder / "metrics.jsonl").read_text().splitlines()]
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert lines[-1]["kind"] == "valid" and lines[-1]["step"] == evidence["steps"]


def test_a_run_of_minutes_goes_on_with_the_minutes_left(corpus: DataConfig, tmp_path: Path) -> None:
    settings = TrainConfig(minutes=1 / 60, batch_tokens=700, learning_rate=3e-3, metric="loss")
    assert run(corpus, tmp_path / "run", settings, stop_at=3) is None
    [state] = tmp_path.glob("run/checkpoints/step-00000003/state.json")
    behind = json.loads(state.read_text())["seconds"]
    assert 0 < behind < 1
    result = run(corpus, tmp_path / "run", settings, resume=True)
    assert json.loads((result.folder / "result.json").read_text())["seconds"]["training"] >= 1


def test_a_recorded_run_that_does_not_fit_begins_again_with_half(
    corpus: DataConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, where every batch has one shape: with all memory can hold, the run is that of those settings."""
    gather = Updater.gather

    def limited(self: Updater, batches: list, num_targets: int) -> object:  # type: ignore[type-arg]
        for fed in batches:
            if fed.tensors.source.numel() + fed.tensors.target_input.numel() > 1000:
                raise OutOfMemory("memory must hold a batch: it does not")
        return gather(self, batches, num_targets)

    settings = dataclasses.replace(QUICK, batch_tokens=3600, packing=True)
    fitting = dataclasses.replace(settings, batch_tokens=900, accumulate=4)
    run(corpus, tmp_path / "fitting", fitting)
    monkeypatch.setattr(Updater, "gather", limited)
    run(corpus, tmp_path / "run", settings)
    plan = json.loads((tmp_path / "run" / "run.json").read_text())["train"]
    assert (plan["batch_tokens"], plan["accumulate"]) == (900, 4)
    one, other = checkpoint_of(tmp_path / "fitting", 12), checkpoint_of(tmp_path / "run", 12)
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    monkeypatch.setattr(Updater, "gather", _never)
    with pytest.raises(TrainingError, match="memory must hold a batch"):
        run(corpus, tmp_path / "none", settings)
    assert not (tmp_path / "none").exists()


def _never(self: Updater, batches: object, num_targets: object) -> object:
    raise OutOfMemory("memory must hold a batch: it does not")

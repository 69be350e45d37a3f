"""Progress by steps or minutes, the clock, and the history of validations."""

import json
import math
from pathlib import Path

import pytest
from train_fixtures import metrics, run

from regard.config import DataConfig, TrainConfig, sized
from regard.train import progress as progress_module
from regard.train.plan import WARMUP_SHARE, complete
from regard.train.progress import History, Progress, Reporter, Validation

TIMED = TrainConfig(minutes=3, learning_rate=0.5)


def test_inverse_square_root_is_equation_3_of_the_paper() -> None:
    asked = TrainConfig(schedule="inverse-sqrt", steps=100_000, warmup=4000)
    plan = complete(asked, sized("base"), num_pairs=10**6, num_tokens=10**8, on_gpu=True)
    # 512^-0.5 * 4000^-0.5 = 1 / sqrt(2,048,000) = 1 / 1431.08
    assert plan.learning_rate == pytest.approx(6.98771e-4, rel=1e-5)
    for step in (1, 17, 3999, 4000, 4001, 25_000, 100_000):
        paper = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert Progress(plan).rate(step, 0.0) == pytest.approx(paper, rel=1e-12)
    # The kernel for packed rows adds no bias to scores.
    biased = complete(asked, sized("base", position="alibi"), num_pairs=10**6, num_tokens=10**8, on_gpu=True)
    assert plan.packing and plan.compile and not biased.packing and not biased.compile


def test_cosine_warms_up_and_ends_at_zero_counted_in_steps_and_minutes() -> None:
    settings = TrainConfig(steps=110, warmup=10, learning_rate=0.8, validate_every=40)
    progress = Progress(settings)
    # Half-way after the warm-up cos(pi / 2) = 0.
    expected = {5: 0.4, 10: 0.8, 35: 0.8 * (1 + math.sqrt(0.5)) / 2, 60: 0.4, 110: 0.0}
    for step, rate in expected.items():
        assert progress.rate(step, step * 9.0) == pytest.approx(rate, abs=1e-15)
    assert [n for n in range(1, 111) if progress.is_due(n, 5.0, 0.0)] == [40, 80, 110]
    assert progress.done(110, 0.0) == 1 > progress.done(109, 1e9)
    progress, whole = Progress(TIMED), 180.0
    warm = WARMUP_SHARE * whole
    assert progress.rate(1, 0.0) == 0 == progress.rate(9, whole)
    assert progress.rate(9, warm / 2) == pytest.approx(0.25 * 0.5 * (1 + math.cos(math.pi * warm / 2 / whole)))
    assert progress.rate(9, whole / 2) == pytest.approx(0.25)
    rates = [progress.rate(9, second) for second in range(round(warm) + 1, 181)]
    assert rates == sorted(rates, reverse=True)
    assert progress.done(10**9, 179.9) < 1 == progress.done(1, 180.0) == progress.done(1, 999.0)


def test_a_run_of_minutes_goes_on_with_the_minutes_left(corpus: DataConfig, tmp_path: Path) -> None:
    settings = TrainConfig(minutes=1 / 60, batch_tokens=700, learning_rate=3e-3, metric="loss")
    assert run(corpus, tmp_path / "run", settings, stop_at=3) is None
    [state] = tmp_path.glob("run/checkpoints/step-00000003/state.json")
    behind = json.loads(state.read_text())["seconds"]
    assert 0 < behind < 1
    result = run(corpus, tmp_path / "run", settings, resume=True)
    evidence = json.loads((result.folder / "result.json").read_text())
    assert evidence["steps"] > 3 and evidence["seconds"]["training"] >= 1
    lines = metrics(result.folder)
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert lines[-1]["kind"] == "valid" and lines[-1]["step"] == evidence["steps"]


def test_bleu_decides_and_the_loss_between_equals() -> None:
    history = History(num_kept=3)
    assert history.add(5, Validation(1.0, 20.0))
    assert history.add(7, Validation(3.0, 30.0)), "a higher BLEU, whatever the loss"
    assert history.add(11, Validation(2.0, 30.0)), "as high, and a lower loss"
    assert not history.add(13, Validation(2.5, 30.0)) and history.without_improvement == 1
    assert history.best_steps == [11, 13, 7]
    history = History(num_kept=2)
    assert history.add(0, Validation(2.0, 20.0)) and history.best_steps == [0]
    assert history.add(10, Validation(1.5, 30.0)) and history.best_steps == [10, 0]


def test_a_log_has_the_smoothed_loss_and_the_time_left(tmp_path, monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    reporter = Reporter(tmp_path, TrainConfig(steps=1020), (20, 0.0), show=True, writes=True)
    for step in range(21, 121):
        now[0] += 1.0
        reporter.progress(step, now[0], 4.0 if step % 2 else 2.0, 1000.0, 1e-3)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["31/1,020", "62/1,020", "93/1,020"]
    assert lines[0].endswith("16 minutes left") and lines[2].endswith("15 minutes left")
    assert 2.9 < float(lines[2].split()[3]) < 3.1, "not the 2 or the 4 of one step"

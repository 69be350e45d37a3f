"""Runs made to fail: the trainer names the cause, once, in one sentence; a run that does well gets no warning."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixtures import tokenizer
from train_fixtures import QUICK, counting_corpus, metrics, run

from regard.config import DataConfig, TrainConfig
from regard.errors import TrainingError
from regard.train.diagnosis import Signs, diagnose, tokens_a_word

LONGER = replace(QUICK, steps=40, validate_every=4, batch_tokens=400, patience=0, dropout=0.0)


def causes(data: DataConfig, folder: Path, settings: TrainConfig = LONGER, **changes: Any) -> list[str]:
    run(data, folder, replace(settings, **changes))
    found = metrics(folder, "warning")
    assert all(line["text"].endswith((".", "?")) and "\n" not in line["text"] for line in found)
    return [line["cause"] for line in found]


@pytest.mark.parametrize(
    ("changes", "vocabulary", "expected"),
    [
        (dict(steps=150, validate_every=15, ema=0.0), None, ()),
        (dict(learning_rate=1.0, warmup=10, ema=0.0), None, ("rate",)),
        (dict(learning_rate=1e-9, ema=0.0), None, ("misaligned", "plateau")),
        (dict(steps=2, validate_every=2), 285, ("vocabulary",)),
    ],
    ids=["well", "rate", "still", "bytes"],
)
def test_the_first_cause(
    changes: dict[str, Any], vocabulary: int | None, expected: tuple[str, ...], tmp_path: Path
) -> None:
    found = causes(replace(counting_corpus(tmp_path), vocabulary=vocabulary), tmp_path / "run", **changes)
    assert found[0] in expected if expected else found == []


def test_lines_that_do_not_belong_together(tmp_path: Path) -> None:
    data = counting_corpus(tmp_path)
    lines = (tmp_path / "train.en").read_text().splitlines()
    random.Random(3).shuffle(lines)
    (tmp_path / "train.en").write_text("\n".join(lines) + "\n")
    assert "misaligned" in causes(replace(data, force=True), tmp_path / "run", ema=0.0)


def test_a_loss_that_is_no_number(tmp_path: Path) -> None:
    """The first checkpoint is of step 1, where the weights were good."""
    changes: Any = dict(learning_rate=1e30, warmup=2, clip=0.0, validate_every=1)
    with pytest.raises(TrainingError, match="learning_rate=1.0e\\+30"):
        causes(counting_corpus(tmp_path), tmp_path / "run", **changes)


def test_a_text_learnt_by_heart(tmp_path: Path) -> None:
    """Sixty pairs of random words, over and over."""
    rng, letters = random.Random(2), "abcdefgh"
    rows = ["\t".join(" ".join(rng.choices(letters, k=5)) for _ in range(2)) for _ in range(60)]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n")
    data = DataConfig(pairs=(str(tmp_path / "pairs.tsv"),), wrong_language=True, sampling=0.0)
    long: Any = dict(steps=110, validate_every=10, batch_tokens=700, learning_rate=1e-2, warmup=10, ema=0.0)
    assert "overfitting" in causes(data, tmp_path / "run", **long)


def test_signs_by_hand() -> None:
    """One step that the guard skips is no diverged run; a language model stands still late in a run alone."""
    falling = [9 - 0.1 * i for i in range(40)]
    good = Signs([*falling[:-2], None, falling[-1]], [6.0, 5.0, 4.0], done=0.9, guessing=9.0)
    still = Signs([8.9] * 40, [8.8] * 3, done=0.8, guessing=9.0)
    assert diagnose(good, QUICK) is None and diagnose(replace(still, done=0.5), QUICK) is None
    for signs, cause in ((still, "plateau"), (replace(good, train=[*falling, *[None] * 6]), "nan")):
        found = diagnose(signs, QUICK)
        assert found and found[0] == cause
    assert tokens_a_word(tokenizer(), ["我们今天去非洲旅行"]) == 0 < tokens_a_word(tokenizer(), ["un livre"])

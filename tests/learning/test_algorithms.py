"""It learns: copying, reversing and sorting from raw text to a finished folder, on the CPU."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.config import DataConfig, TrainConfig
from regard.train.request import Request
from regard.train.run import train

LETTERS = "abcdefghij"
NUM_PAIRS = 6000


def write_task(folder: Path, rule: Callable[[list[str]], list[str]]) -> tuple[str, str]:
    rng, lines = random.Random(5), set[str]()
    while len(lines) < NUM_PAIRS:
        lines.add(" ".join(rng.choice(LETTERS) for _ in range(rng.randint(3, 8))))
    sources = sorted(lines)
    rng.shuffle(sources)
    source, target = folder / "train.in", folder / "train.out"
    source.write_text("".join(line + "\n" for line in sources))
    target.write_text("".join(" ".join(rule(line.split())) + "\n" for line in sources))
    return str(source), str(target)


@pytest.mark.parametrize(
    ("task", "rule", "bleu"),
    [
        ("copy", lambda letters: letters, 97.0),
        ("reverse", lambda letters: letters[::-1], 95.0),
        ("sort", sorted, 97.0),
    ],
)
def test_learns(
    tmp_path: Path, task: str, rule: Callable[[list[str]], list[str]], bleu: float
) -> None:
    source, target = write_task(tmp_path, rule)
    request = Request(
        DataConfig(source=(source,), target=(target,), copies=True, sampling=0.0),
        TrainConfig(
            steps=400,
            batch_tokens=1500,
            learning_rate=3e-3,
            dropout=0.0,
            label_smoothing=0.0,
            ema=0.98,
            validate_every=400,
        ),
        size="tiny",
        model=dict(d_model=64, d_ff=128),
    )
    result = train(request, tmp_path / "run", show_progress=False)
    assert result is not None
    assert result.scores[0].bleu >= bleu, f"{task} should be learnt"

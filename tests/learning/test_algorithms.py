"""It learns: copying, reversing and sorting from raw text to a finished folder, on the CPU; recurrent models too."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from train_fixtures import run

from regard.config import DataConfig, TrainConfig

RECURRENT = dict(d_model=48, d_state=64)


def learn(
    folder: Path, rule: Callable[[list[str]], list[str]], model: dict[str, Any], steps: int, rate: float
) -> float:
    """BLEU after so many steps with three to six letters a line."""
    rng, lines = random.Random(5), set[str]()
    while len(lines) < 3000:
        lines.add(" ".join(rng.choice("abcdefgh") for _ in range(rng.randint(3, 6))))
    sources = sorted(lines)
    rng.shuffle(sources)
    folder.mkdir(exist_ok=True)
    for name, each in (("in", sources), ("out", [" ".join(rule(line.split())) for line in sources])):
        (folder / name).write_text("\n".join(each) + "\n")
    data = DataConfig(source=(str(folder / "in"),), target=(str(folder / "out"),), copies=True, sampling=0.0)
    plain = dict(batch_tokens=700, dropout=0.0, label_smoothing=0.0, ema=0.98, snapshots=0)
    settings = TrainConfig(**plain, steps=steps, learning_rate=rate, validate_every=steps)
    return run(data, folder / "run", settings, model=model).scores[0].bleu


def reverse(letters: list[str]) -> list[str]:
    return letters[::-1]


@pytest.mark.parametrize(("rule", "layers", "bleu"), [(list, 1, 97.0), (reverse, 2, 92.0), (sorted, 1, 95.0)])
def test_learns(tmp_path: Path, rule: Callable[[list[str]], list[str]], layers: int, bleu: float) -> None:
    """Letters that change places take a second layer, or longer."""
    model = dict(d_model=48, d_ff=96, num_encoder_layers=layers, num_decoder_layers=layers)
    steps, rate = (240, 6e-3) if layers == 1 else (320, 4e-3)
    assert learn(tmp_path, rule, model, steps=steps, rate=rate) >= bleu


def test_a_recurrent_model_with_attention_learns(tmp_path: Path) -> None:
    model = dict(architecture="lstm", attention="general", **RECURRENT)
    assert learn(tmp_path, reverse, model, steps=150, rate=1e-2) >= 85


def test_a_fixed_vector_learns_too_but_less(tmp_path: Path) -> None:
    """What attention is for: the same cell in the same number of steps."""
    fixed, searched = (
        learn(tmp_path / kind, reverse, dict(architecture="gru", attention=kind, **RECURRENT), steps=120, rate=1e-2)
        for kind in ("none", "additive")
    )
    assert 20 <= fixed < searched - 10 and searched >= 90

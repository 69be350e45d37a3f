"""It learns: copying, reversing and sorting from raw text to a finished folder, on the CPU; recurrent models too."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regard.config import DataConfig, TrainConfig
from regard.train.recipe import Request
from regard.train.run import train

LETTERS = "abcdefgh"


def learn(
    folder: Path, rule: Callable[[list[str]], list[str]], model: dict[str, Any], *, steps: int, rate: float
) -> float:
    """BLEU after so many steps with three to six letters a line."""
    rng, lines = random.Random(5), set[str]()
    while len(lines) < 3000:
        lines.add(" ".join(rng.choice(LETTERS) for _ in range(rng.randint(3, 6))))
    sources = sorted(lines)
    rng.shuffle(sources)
    folder.mkdir(exist_ok=True)
    source, target = folder / "train.in", folder / "train.out"
    source.write_text("".join(line + "\n" for line in sources))
    target.write_text("".join(" ".join(rule(line.split())) + "\n" for line in sources))
    plain = TrainConfig(batch_tokens=700, dropout=0.0, label_smoothing=0.0, ema=0.98)
    settings = replace(plain, steps=steps, learning_rate=rate, validate_every=steps, snapshots=0)
    data = DataConfig(source=(str(source),), target=(str(target),), copies=True, sampling=0.0)
    request = Request(data, settings, size="tiny", model=model)
    result = train(request, folder / "run", show_progress=False)
    assert result is not None
    return result.scores[0].bleu


def reverse(letters: list[str]) -> list[str]:
    return letters[::-1]


@pytest.mark.parametrize(("rule", "layers", "bleu"), [(list, 1, 97.0), (reverse, 2, 92.0), (sorted, 1, 95.0)])
def test_learns(tmp_path: Path, rule: Callable[[list[str]], list[str]], layers: int, bleu: float) -> None:
    """Letters that change places take a second layer, or longer."""
    model = dict(d_model=48, d_ff=96, num_encoder_layers=layers, num_decoder_layers=layers)
    steps, rate = (240, 6e-3) if layers == 1 else (320, 4e-3)
    assert learn(tmp_path, rule, model, steps=steps, rate=rate) >= bleu


def bleu_of(folder: Path, cell: str, attention: str, *, steps: int, rate: float) -> float:
    """Of a recurrent model that reverses."""
    model = dict(architecture=cell, attention=attention, d_model=48, d_state=64)
    return learn(folder, reverse, model, steps=steps, rate=rate)


def test_a_recurrent_model_with_attention_learns(tmp_path: Path) -> None:
    assert bleu_of(tmp_path, "lstm", "general", steps=150, rate=1e-2) >= 85


def test_a_fixed_vector_learns_too_but_less(tmp_path: Path) -> None:
    """What attention is for: the same cell in the same number of steps."""
    fixed = bleu_of(tmp_path / "fixed", "gru", "none", steps=120, rate=1e-2)
    searched = bleu_of(tmp_path / "searched", "gru", "additive", steps=120, rate=1e-2)
    assert 20 <= fixed < searched - 10 and searched >= 90

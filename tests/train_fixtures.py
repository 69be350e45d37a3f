"""A corpus to train on within seconds, and runs over it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from regard.config import DataConfig, TrainConfig
from regard.train.request import Request
from regard.train.run import train

SHAPE = dict(num_encoder_layers=1, num_decoder_layers=1, d_model=24, d_ff=40, num_heads=2)
QUICK = TrainConfig(steps=12, batch_tokens=700, validate_every=6, learning_rate=3e-3)


def counting_corpus(folder: Path) -> DataConfig:
    """Counting in two languages: enough text for pieces, quick to read."""
    rng = random.Random(7)
    french = "un deux trois quatre cinq six sept huit neuf dix".split()
    english = "one two three four five six seven eight nine ten".split()
    rows = [[rng.randrange(10) for _ in range(rng.randint(2, 7))] for _ in range(600)]
    (folder / "train.fr").write_text("".join(" ".join(french[i] for i in r) + "\n" for r in rows))
    (folder / "train.en").write_text("".join(" ".join(english[i] for i in r) + "\n" for r in rows))
    return DataConfig(
        source=(str(folder / "train.fr"),),
        target=(str(folder / "train.en"),),
        wrong_language=True,
    )


def run(data: DataConfig, output: Path, settings: TrainConfig = QUICK, **more: Any) -> Any:
    asked = {key: more.pop(key) for key in ("size", "model", "init") if key in more}
    if "init" not in asked:
        asked = {"size": "tiny", "model": SHAPE, **asked}
    return train(Request(data, settings, **asked), output, show_progress=False, **more)


def checkpoint_of(folder: Path, step: int) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoints" / f"step-{step:08d}" / "training.safetensors")

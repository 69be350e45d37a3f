"""It learns from running text: to go on counting, and to fill in what is missing between numbers."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from train_fixtures import run

from regard.api import load
from regard.config import DataConfig, TrainConfig
from regard.engine import EngineKind
from regard.translate.evaluate import Perplexity

ENGINES: tuple[EngineKind, ...] = ("torch", "onnxruntime")
WORDS = "zero one two three four five six seven eight nine".split()


def counting(folder: Path) -> str:
    """Documents that count on and on, a few words a line, from a number of their own."""
    rng = random.Random(3)
    documents = []
    for _ in range(120):
        first, lines = rng.randrange(10), []
        for _ in range(rng.randint(2, 5)):
            length = rng.randint(4, 11)
            lines.append(" ".join(WORDS[(first + i) % 10] for i in range(length)))
            first += length
        documents.append("\n".join(lines))
    file = folder / "text.en"
    file.write_text("\n\n".join(documents) + "\n")
    return str(file)


def learn(folder: Path, architecture: str, steps: int, **more: Any) -> Perplexity:
    plain = TrainConfig(batch_tokens=900, learning_rate=4e-3, dropout=0.0, ema=0.98, snapshots=0)
    settings = replace(plain, steps=steps, validate_every=steps, **more)
    model = dict(architecture=architecture, d_model=48, d_ff=96, position="rotary")
    [score] = run(DataConfig(text=(counting(folder),), max_length=23), folder / "run", settings, model=model).scores
    assert isinstance(score, Perplexity)
    return score


def test_a_model_learns_to_go_on(tmp_path: Path) -> None:
    score = learn(tmp_path, "decoder-only", 120)
    # What follows is sure but for where lines and documents end.
    assert score.of_tokens < 1.8
    for engine in ENGINES:
        model = load(tmp_path / "run", engine=engine)
        assert model.manifest.task == "write" and model.manifest.target_language == "en"
        written = model.write("four five six", length=2, temperature=0)
        assert written.replace("\n", " ") == "four five six seven eight"


def test_a_model_learns_to_fill_in_blanks(tmp_path: Path) -> None:
    score = learn(tmp_path, "encoder-only", 160, mask_share=0.2)
    assert score.of_tokens < 1.8 and score.of_words is None
    for engine in ENGINES:
        model = load(tmp_path / "run", engine=engine)
        assert model.manifest.task == "fill"
        blanks = model.fill("two three [MASK] five six [MASK] eight nine", n_best=1)
        assert [choices[0].word for choices in blanks] == ["four", "seven"]
        assert blanks[0][0].text == "two three four five six [MASK] eight nine"

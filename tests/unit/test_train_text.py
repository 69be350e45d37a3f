"""Runs over running text: what is held out, what is refused, exact resume, and the perplexity by hand."""

import dataclasses
import math
import random
from pathlib import Path

import pytest
import torch
from train_fixtures import QUICK, SHAPE, checkpoint_of, run

from regard.api import load
from regard.config import DataConfig
from regard.data.batches import MASK
from regard.data.running_text import RunningText, encode_documents, read_running_text
from regard.engine.torch import load_model
from regard.errors import TrainingError, UsageError
from regard.folder.manifest import read_manifest
from regard.model.layout import Layout
from regard.text.tokenizer import BOS_ID, EOS_ID, Tokenizer
from regard.train.corpora import hold_out_text
from regard.translate.evaluate import Perplexity

KEPT = dataclasses.replace(QUICK, snapshots=2)
WORDS = "one two three four five six seven eight nine ten".split()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> DataConfig:
    rng = random.Random(7)
    documents = [
        "\n".join(" ".join(rng.choices(WORDS, k=rng.randint(2, 7))) for _ in range(rng.randint(1, 9)))
        for _ in range(101)
    ]
    folder = tmp_path_factory.mktemp("text")
    for name, part in (("train.en", documents[:90]), ("valid.en", documents[90:])):
        (folder / name).write_text("\n\n".join(part))
    train, valid = ((str(folder / name),) for name in ("train.en", "valid.en"))
    return DataConfig(text=train, valid_text=valid, test_text=valid, max_length=19)


@pytest.mark.parametrize(("architecture", "packing"), [("decoder-only", True), ("encoder-only", False)])
def test_a_run_in_parts_is_the_run_bit_for_bit(text, tmp_path, architecture, packing):
    settings = dataclasses.replace(KEPT, packing=packing, accumulate=2, batch_tokens=200)
    model = {**SHAPE, "architecture": architecture}
    result = run(text, tmp_path / "whole", settings, model=model)
    assert run(text, tmp_path / "parts", settings, model=model, stop_at=5) is None
    assert run(text, tmp_path / "parts", settings, model=model, resume=True) is not None
    whole, parts = checkpoint_of(tmp_path / "whole", 12), checkpoint_of(tmp_path / "parts", 12)
    for name, tensor in whole.items():
        assert torch.equal(tensor, parts[name]), name
    assert [score.name for score in result.scores] == ["validation", "valid"]
    assert result.scores[0].loss == result.scores[1].loss < math.log(400)
    manifest = read_manifest(tmp_path / "whole")
    assert manifest.task == {"decoder-only": "write", "encoder-only": "fill"}[architecture]
    assert manifest.tokenizer.mask == (MASK if architecture == "encoder-only" else "")
    assert manifest.target_language == "en"
    card = (tmp_path / "whole" / "README.md").read_text()
    assert "perplexity" in card and "train.en" in card


def test_the_perplexity_is_that_of_the_text_written_out(text: DataConfig, tmp_path: Path) -> None:
    long = dataclasses.replace(text, max_length=1000)
    settings = dataclasses.replace(QUICK, steps=3, batch_tokens=5000, validate_every=3)
    shape = {**SHAPE, "architecture": "decoder-only"}
    (score, _) = run(long, tmp_path / "run", settings, model=shape).scores
    model, manifest = load_model(tmp_path / "run")
    tokenizer = Tokenizer.load(tmp_path / "run" / manifest.tokenizer.target)
    prose = read_running_text(text.valid_text)
    total, num_tokens = 0.0, 0
    for ids in encode_documents(tokenizer, prose.documents).lists():
        tokens = torch.tensor([[BOS_ID, *ids, EOS_ID]])
        length = tokens.shape[1] - 1
        with torch.no_grad():
            logits = model(tokens[:, :-1], Layout.padded(torch.tensor([length]), length))
        total += float(torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:], reduction="sum"))
        num_tokens += length
    assert isinstance(score, Perplexity) and score.num_tokens == num_tokens
    assert score.loss == pytest.approx(total / num_tokens, rel=1e-5)
    num_words = sum(len(line.split()) for line in prose.lines())
    assert score.of_words == pytest.approx(math.exp(total / num_words), rel=1e-4)
    assert f"{score.of_tokens:.2f}" in str(score)


def test_a_model_learns_on_from_another_and_rows_too_long_are_refused(text: DataConfig, tmp_path: Path) -> None:
    settings = dataclasses.replace(KEPT, steps=2, validate_every=2)
    run(text, tmp_path / "first", settings, model={**SHAPE, "architecture": "encoder-only"})
    run(text, tmp_path / "second", settings, init=tmp_path / "first")
    assert read_manifest(tmp_path / "second").task == "fill"
    choices = load(tmp_path / "second").fill(f"one {MASK} three", n_best=3)
    assert len(choices) == 1 and len(choices[0]) == 3
    shape = {**SHAPE, "architecture": "decoder-only", "position": "learned", "max_positions": 17}
    with pytest.raises(UsageError, match="positions, 17: got max_length=19; lower it"):
        run(text, tmp_path / "run", model=shape)


def test_whole_documents_are_held_out_and_of_few_an_end() -> None:
    prose = RunningText([[f"document {number} line {line}" for line in range(5)] for number in range(211)])
    train, valid = hold_out_text(prose, seed=3)
    assert 0 < len(valid) < 20 and len(train) + len(valid) == 211
    assert not {d[0] for d in train.documents} & {d[0] for d in valid.documents}
    again, _ = hold_out_text(prose, seed=3)
    assert again.documents == train.documents
    lines = [f"line {number}" for number in range(300)]
    train, valid = hold_out_text(RunningText([["short"], lines]), seed=3)
    assert train.documents[0] == ["short"]
    assert train.documents[1] + valid.documents[0] == lines
    assert 1 <= len(valid.documents[0]) <= 12
    with pytest.raises(TrainingError, match="at least two lines"):
        hold_out_text(RunningText([["one"]]), seed=3)

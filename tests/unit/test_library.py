"""From Python: a training as the command does it, its module, and a module saved as a model folder."""

from pathlib import Path

import pytest
from train_fixtures import SHAPE

import regard
from regard.config import DataConfig
from regard.errors import UsageError
from regard.folder.checkpoint import WEIGHTS
from regard.model import DecoderOnly, EncoderDecoder, build
from regard.text.tokenizer import Tokenizer
from regard.train.plan import RUN_FILE, Plan

QUICK = dict(size="tiny", steps=2, validate_every=2, batch_tokens=700, metric="loss", **SHAPE)


def test_a_training_and_its_module_saved_again(corpus: DataConfig, tmp_path: Path) -> None:
    text = {"source": corpus.source, "target": corpus.target, "data.wrong_language": True}
    result = regard.train(tmp_path / "run", **text, **QUICK, minutes=None, show_progress=False)
    plan = Plan.load(tmp_path / "run" / RUN_FILE)
    assert (plan.train.steps, plan.model.d_model, plan.data.source) == (2, SHAPE["d_model"], corpus.source)
    trained = regard.load(result.folder)
    assert isinstance(trained.module, EncoderDecoder) and trained.module is trained.module
    languages = dict(source_language="fr", target_language="en")
    regard.save(trained.module, tmp_path / "again", trained.translator.source, **languages)
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (result.folder / WEIGHTS).read_bytes()
    again = regard.load(tmp_path / "again", engine="onnxruntime")
    assert again.score(["un deux"], ["one two"]) == trained.score(["un deux"], ["one two"])


def test_what_cannot_be_trained_or_saved(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown setting 'stepz' \(did you mean 'steps'"):
        regard.train(tmp_path / "run", stepz=2)
    with pytest.raises(UsageError, match="training needs text: got none"):
        regard.train(tmp_path / "run", steps=2)
    assert not (tmp_path / "run").exists()
    tokenizer = Tokenizer.train(["one two"], vocabulary=290, exact=False)
    size = tokenizer.vocab_size
    model = build(regard.ModelConfig(**SHAPE, architecture="decoder-only", target_vocab_size=size + 1))
    assert isinstance(model, DecoderOnly)
    with pytest.raises(UsageError, match=f"its tokenizer's vocabulary, {size}: got {size + 1}; "):
        regard.save(model, tmp_path / "saved", tokenizer)

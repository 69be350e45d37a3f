"""A model that only reads, with random weights, and some texts to search."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fixtures import TEXT

from regard.checkpoint import save
from regard.config import ModelConfig
from regard.engine.torch import to_tensors
from regard.exchange import onnx
from regard.manifest import Manifest
from regard.model.transformer import build
from regard.search.reading import Reader
from regard.text.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = Tokenizer.train(TEXT, vocabulary=400, exact=False)
    config = ModelConfig(
        architecture="encoder-only",
        source_vocab_size=tokenizer.vocab_size,
        target_vocab_size=tokenizer.vocab_size,
        num_encoder_layers=1,
        d_model=26,
        d_ff=37,
        num_heads=2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(11)
        model = build(config)
    folder = tmp_path_factory.mktemp("models") / "finder"
    manifest = Manifest(task="search", model=config, longest=67)
    files = {"tokenizer.model": tokenizer.proto}
    tensors = to_tensors(model.state_dict(), config)
    save(folder, manifest, tensors, files, "", graphs=onnx.export)
    return folder


@pytest.fixture(scope="session")
def reader(model_folder: Path) -> Reader:
    return Reader.open(model_folder, threads=1)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "one.txt").write_text("The cat sleeps.\n\nJane visits Africa.\n")
    (folder / "deep" / "two.md").write_text("# Le chat\n\nIl fait *beau*, n'est-ce pas ?\n")
    (folder / "deep" / "deeper" / "three").write_text("Bonjour, comment allez-vous ?\n")
    return folder

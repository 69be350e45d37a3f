"""Low-rank adapters: a run begins as its parent, only they learn, and it ends as a plain model; imported parents too."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures import TEXT
from huggingface_fixtures import MAKERS
from train_fixtures import QUICK, checkpoint_of, metrics, run

from regard.config import DataConfig, ModelConfig
from regard.exchange.huggingface import ImportOptions, import_folder
from regard.folder.checkpoint import open_tokenizers, read_tensors
from regard.folder.manifest import read_manifest
from regard.model.layout import Layout
from regard.model.linear import add_adapters
from regard.model.transformer import DecoderOnly, build
from regard.train.parallel import whole_model

SIZES = dict(source_vocab_size=29, target_vocab_size=29, d_model=12, d_ff=20, num_encoder_layers=2)
TODAY = dict(architecture="decoder-only", position="rotary", norm="rms", feed_forward="gated-silu", biases="none")
ADAPTED = dataclasses.replace(QUICK, adapter=True, adapter_rank=3, learning_rate=0.02, ema=0.0, dropout=0.0)


def logits(model: Any) -> torch.Tensor:
    tokens, layout = torch.arange(4, 28).reshape(3, 8), Layout.padded(torch.tensor([8, 8, 8]), 8)
    if isinstance(model, DecoderOnly):
        return model(tokens, layout)
    return model.project(model.decode(tokens, layout, model.encode(tokens.flip(1), layout), layout))


@pytest.mark.parametrize("changes", [{"num_heads": 3}, {**TODAY, "num_heads": 6, "num_key_value_heads": 2}])
def test_adapters_begin_as_nothing_and_merge_into_the_weights(changes: dict[str, Any]) -> None:
    torch.manual_seed(3)
    model = build(ModelConfig(**{**SIZES, **changes})).double().eval()
    before = logits(model)
    add_adapters(model, 2)
    torch.testing.assert_close(logits(model), before, rtol=0, atol=1e-12)
    learning = {name: each for name, each in model.named_parameters() if each.requires_grad}
    assert learning and all(".layers." in name and ".adapter." in name for name in learning)
    for weight in learning.values():
        torch.nn.init.normal_(weight, std=0.3)
    adapted, plain = logits(model), whole_model(model)
    assert (adapted - before).abs().max() > 0.01
    assert plain.state_dict().keys() == build(model.config).state_dict().keys()
    torch.testing.assert_close(logits(plain), adapted, rtol=0, atol=1e-9)


@torch.no_grad()
def loss_of_theirs(model: Any, folder: Path, is_pair: bool) -> float:
    """Mean cross-entropy of TEXT by transformers."""
    manifest, total, count = read_manifest(folder), 0.0, 0
    source, target = open_tokenizers(folder, manifest.tokenizer)
    if not is_pair:
        text = torch.tensor([[manifest.model.bos_id, *target.encode("\n".join(TEXT)), manifest.model.eos_id]])
        return float(model(input_ids=text, labels=text).loss)
    for one, other in zip(TEXT[::2], TEXT[1::2], strict=True):
        given, wanted = ([*ids, manifest.model.eos_id] for ids in (source.encode(one), target.encode(other)))
        loss = model(input_ids=torch.tensor([given]), labels=torch.tensor([wanted])).loss
        total, count = total + float(loss) * len(wanted), count + len(wanted)
    return total / count


@pytest.mark.parametrize("kind", ["marian", "llama"])
def test_an_imported_model_learns_by_adapters(kind: str, tmp_path: Path) -> None:
    folder, theirs = MAKERS[kind](tmp_path / "theirs")
    parent, files = tmp_path / "parent", [str(tmp_path / name) for name in ("text.fr", "text.en", "text.txt")]
    import_folder(folder, parent, ImportOptions(), None)
    for file, lines in zip(files, (TEXT[::2], TEXT[1::2], TEXT), strict=True):
        Path(file).write_text("".join(f"{line}\n" for line in lines))
    data = DataConfig(
        source=(files[0],), target=(files[1],), valid_source=(files[0],), valid_target=(files[1],), max_length=60
    )
    if kind == "llama":
        data = DataConfig(text=(files[2],), valid_text=(files[2],), max_length=200)
    before = {path.name: path.read_bytes() for path in parent.iterdir()}
    still = dataclasses.replace(ADAPTED, steps=1, validate_every=1, learning_rate=1e-12)
    run(data, tmp_path / "still", still, init=parent)
    expected = loss_of_theirs(theirs, parent, kind == "marian")
    assert metrics(tmp_path / "still", "valid")[0]["loss"] == pytest.approx(expected, abs=1e-4)
    run(data, tmp_path / "whole", dataclasses.replace(ADAPTED, snapshots=2 * (kind == "marian")), init=parent)
    run(data, tmp_path / "run", ADAPTED, init=parent, stop_at=7)
    run(data, tmp_path / "run", ADAPTED, init=parent, resume=True)
    assert metrics(tmp_path / "run", "valid")[-1]["loss"] < 0.95 * expected
    assert {path.name: path.read_bytes() for path in parent.iterdir()} == before
    assert all(".adapter." in name for name in checkpoint_of(tmp_path / "run", 12) if name.startswith(("weig", "adam")))
    first, last, whole = (read_tensors(tmp_path / name) for name in ("parent", "run", "whole"))
    for name in first:
        learns = name.endswith("weight") and ".layers." in name and first[name].ndim == 2
        assert np.array_equal(first[name], last[name]) != learns and np.array_equal(last[name], whole[name]), name
    assert read_manifest(tmp_path / "run").tokenizer == read_manifest(parent).tokenizer

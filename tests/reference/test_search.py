"""Search with an imported BERT against transformers' BertModel: means of its vectors, cosines in plain NumPy.

MiniLM is a BERT without a head in a folder of sentence-transformers, whose modules say how a text gets its vector.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import train_fixtures as training
from cli_fixtures import run
from fixtures import TEXT
from huggingface_fixtures import bert
from transformers import BertTokenizer

import regard
from regard.api import import_model
from regard.config import DataConfig, TrainConfig
from regard.errors import ModelError, UsageError
from regard.folder.manifest import read_manifest
from regard.search.encoder import TextEncoder
from regard.search.query import ENOUGH_WORDS, WEIGHT_OF_SHORT, words_in

QUERY = "do cats sleep"  # none of its words stands in a text, so that vectors alone rank


def minilm(folder: Path, pooling: str, *more: str) -> tuple[Path, Any]:
    """As sentence-transformers saves a model."""
    theirs, model = bert(folder)
    model.bert.save_pretrained(theirs)
    names = ("Transformer", "Pooling", "Normalize", *more)
    paths = ("", "1_Pooling", "2_Normalize", *more)
    modules = [{"path": path, "type": f"a.{name}"} for path, name in zip(paths, names, strict=True)]
    (theirs / "modules.json").write_text(json.dumps(modules))
    (theirs / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{each}": each == pooling for each in ("cls_token", "mean_tokens", "max_tokens")}
    (theirs / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 18, **modes}))
    (theirs / "sentence_bert_config.json").write_text('{"max_seq_length": 40, "do_lower_case": false}')
    return theirs, model


@pytest.fixture(scope="module", params=["bert", "minilm-mean_tokens", "minilm-cls_token"])
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    folder, pooling = tmp_path_factory.mktemp("bert"), request.param.partition("-")[2]
    theirs, model = minilm(folder / "theirs", pooling) if pooling else bert(folder / "theirs")
    import_model(theirs, folder / "ours")
    manifest = read_manifest(folder / "ours")
    assert (manifest.task, manifest.longest) == (("search", 40) if pooling else ("fill", 59))
    model.bert.takes_first = pooling == "cls_token"
    return folder / "ours", model.bert, BertTokenizer.from_pretrained(theirs)


def pooled(model: Any, tokenizer: Any, texts: list[str]) -> np.ndarray:
    """As sentence-transformers pools: the first vector, or the mean over all that the mask does not hide."""
    read = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**read).last_hidden_state.numpy()
    mask = read["attention_mask"].numpy()[:, :, None]
    means = hidden[:, 0] if model.takes_first else (hidden * mask).sum(axis=1) / mask.sum(axis=1)
    return means / np.linalg.norm(means, axis=1, keepdims=True)


@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
def test_vectors_are_the_means_of_berts_and_rank_passages_short_ones_lower(imported, engine, tmp_path):
    folder, model, tokenizer = imported
    found = TextEncoder.open(folder, kind=engine).vectors(TEXT)
    np.testing.assert_allclose(found, pooled(model, tokenizer, TEXT), atol=2e-5)
    folder, model, tokenizer = imported
    (tmp_path / "texts.txt").write_text("\n\n".join(TEXT))
    found = regard.load(folder, engine=engine).search(QUERY, tmp_path / "texts.txt")
    lacking = [max(0.0, 1 - len(set(words_in(text))) / ENOUGH_WORDS) for text in TEXT]
    cosines = pooled(model, tokenizer, TEXT) @ pooled(model, tokenizer, [QUERY])[0]
    scores = cosines - WEIGHT_OF_SHORT * np.square(lacking)
    order = np.argsort(-scores)
    assert [hit.text for hit in found] == [TEXT[place] for place in order]
    np.testing.assert_allclose([hit.score for hit in found], scores[order], atol=1e-4)
    lines = {text: 1 + 2 * place for place, text in enumerate(TEXT)}
    assert [hit.line for hit in found] == [lines[hit.text] for hit in found]


def test_minilm_is_asked_from_the_command_line_and_what_it_lacks_is_named(tmp_path: Path) -> None:
    theirs, _ = minilm(tmp_path / "theirs", "mean_tokens")
    assert run("import", theirs, tmp_path / "ours").exit_code == 0
    (tmp_path / "texts.txt").write_text("\n\n".join(TEXT))
    found = run("search", TEXT[2], tmp_path / "texts.txt", "--model", tmp_path / "ours", "--top", 1)
    assert found.stdout.startswith("1.5000") and "*Le* *chat* *dort*" in found.stdout
    for name, pooling, more in (("max", "max_tokens", ()), ("dense", "mean_tokens", ("Dense",))):
        theirs, _ = minilm(tmp_path / name, pooling, *more)
        with pytest.raises(
            ModelError, match="must pool by the mean or .CLS., and do no more, for regard to compute it"
        ):
            import_model(theirs, tmp_path / "refused")


@pytest.mark.parametrize("packing", [False, True])
def test_a_learner_gets_the_vectors_of_its_teacher(tmp_path: Path, packing: bool) -> None:
    """By its own tokens and with its own end, of a text that the teacher reads in other words."""
    theirs, model = minilm(tmp_path / "theirs", "mean_tokens")
    import_model(theirs, tmp_path / "teacher")
    model.bert.takes_first = False
    (tmp_path / "pairs.tsv").write_text("".join(f"{text[::-1]}\t{text}\n" for text in TEXT))
    valid = {"valid_source": (str(tmp_path / "valid"),), "valid_target": (str(tmp_path / "valid"),)}
    (tmp_path / "valid").write_text("\n".join(TEXT) + "\n")
    data = DataConfig(pairs=(str(tmp_path / "pairs.tsv"),), wrong_language=True, force=True, sampling=0.0, **valid)
    settings = TrainConfig(
        objective="contrastive", teacher=str(tmp_path / "teacher"), steps=240, batch_tokens=600, learning_rate=1e-2,
        contrast_temperature=2.0, dropout=0.0, ema=0.0, packing=packing, compile=False, patience=0,
    )  # fmt: skip
    shape = {"num_encoder_layers": 1, "d_model": 18, "d_ff": 40, "num_heads": 2}
    training.run(data, tmp_path / "run", settings, model=shape)
    wanted = pooled(model.bert, BertTokenizer.from_pretrained(theirs), TEXT)
    learnt = TextEncoder.open(tmp_path / "run").vectors([text[::-1] for text in TEXT])
    distances = np.square(learnt[:, None] - wanted).sum(axis=2)
    # Some vectors of a random teacher lie nearly together.
    own = np.eye(len(TEXT), dtype=bool)
    assert distances[own].mean() < distances[~own].mean() / 3
    assert distances.diagonal().mean() < 0.5 * np.square(wanted[:, None] - wanted).sum(axis=2).mean()
    with pytest.raises(
        UsageError, match="as wide as the learner, 24: got encoder-only with pooling=mean and d_model=18"
    ):
        training.run(data, tmp_path / "wide", settings)

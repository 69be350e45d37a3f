"""Search with an imported BERT against transformers' BertModel: means of its vectors, cosines in plain NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures import TEXT
from huggingface_fixtures import bert
from transformers import BertTokenizer

import regard
from regard.api import import_model
from regard.search.encoder import TextEncoder
from regard.search.query import ENOUGH_WORDS, WEIGHT_OF_SHORT, words_in

QUERY = "do cats sleep"  # none of its words stands in a text, so that vectors alone rank


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    folder = tmp_path_factory.mktemp("bert")
    theirs, model = bert(folder / "theirs")
    import_model(theirs, folder / "ours")
    return folder / "ours", model.bert, BertTokenizer.from_pretrained(theirs)


def pooled(model: Any, tokenizer: Any, texts: list[str]) -> np.ndarray:
    """As sentence-transformers pools: over all that the mask does not hide, its special tokens included."""
    read = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**read).last_hidden_state.numpy()
    mask = read["attention_mask"].numpy()[:, :, None]
    means = (hidden * mask).sum(axis=1) / mask.sum(axis=1)
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

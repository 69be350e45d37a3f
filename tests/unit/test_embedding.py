"""What the first layer reads."""

from __future__ import annotations

import math

import pytest
import torch

from regard.config import ModelConfig
from regard.model.embedding import InputEmbedding
from regard.model.transformer import build
from regard.trace import Trace


def test_embedding_times_root_d_model_plus_position_on_paper():
    config = ModelConfig(d_model=4, num_heads=2, d_ff=3)
    layer = InputEmbedding(config, vocab_size=3, dropout=0.0)
    with torch.no_grad():
        layer.embedding.weight.copy_(torch.tensor([[9.0] * 4, [0.5, 1, 0, -1], [1, 2, 3, 4]]))
    trace = Trace()
    x = layer(torch.tensor([[2, 1]]), torch.tensor([[0, 1]]), trace=trace)
    # sqrt(4) = 2; the position of the first word is (0, 1, 0, 1)
    assert trace["embedding"][0].tolist() == [[2, 4, 6, 8], [1, 2, 0, -2]]
    assert x[0, 0].tolist() == [2, 5, 6, 9]
    second = [1 + math.sin(1), 2 + math.cos(1), math.sin(0.01), math.cos(0.01) - 2]
    assert x[0, 1].tolist() == pytest.approx(second, abs=1e-6)
    assert list(trace) == ["tokens", "embedding", "position", "input"]


def test_the_embedding_norm_follows_the_sum(tiny_config):
    layer = InputEmbedding(tiny_config(embedding_norm=True), vocab_size=23, dropout=0.0)
    trace = Trace()
    x = layer(torch.tensor([[5, 7, 11]]), torch.tensor([[0, 1, 2]]), trace=trace)
    assert list(trace) == ["tokens", "embedding", "position", "norm", "input"]
    total = trace["embedding"] + trace["position"]
    torch.testing.assert_close(x, torch.nn.functional.layer_norm(total, [18]))


@pytest.mark.parametrize(
    ("tied", "num_tables"),
    [("all", 1), ("decoder", 2), ("none", 3)],
)
def test_which_tables_are_one(tied, num_tables, tiny_config):
    model = build(tiny_config(tied=tied))
    source, target, output = (
        model.source.embedding.weight,
        model.target.embedding.weight,
        model.output.weight,
    )
    assert (source is target) == (tied == "all")
    assert (target is output) == (tied != "none")
    assert len({id(table) for table in (source, target, output)}) == num_tables
    rows = sum(1 for weight in model.parameters() if weight.shape == (23, 18))
    assert rows == num_tables


@pytest.mark.parametrize("architecture", ["decoder-only", "encoder-only"])
@pytest.mark.parametrize("tied", ["all", "decoder", "none"])
def test_one_sided_models_tie_their_only_table(architecture, tied, tiny_config):
    model = build(tiny_config(architecture=architecture, tied=tied))
    side = model.target if architecture == "decoder-only" else model.source
    assert (side.embedding.weight is model.output.weight) == (tied != "none")

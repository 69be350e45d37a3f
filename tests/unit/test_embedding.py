"""What the first layer reads."""

from __future__ import annotations

import pytest
import torch

from regard.model.embedding import InputEmbedding
from regard.model.transformer import build
from regard.trace import Trace


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

"""The feed-forward network by hand, with every activation."""

from __future__ import annotations

import math

import pytest
import torch

from regard.config import ModelConfig
from regard.model.feedforward import FeedForward
from regard.trace import Trace


@pytest.mark.parametrize(
    ("kind", "activated"),
    [
        ("relu", [2.0, 0.0]),
        # x times the share of a normal distribution below x
        ("gelu", [2 * 0.9772499, -1 * 0.1586553]),
        ("gated-gelu", [2 * 0.9772499 * 10, -1 * 0.1586553 * 20]),
        # x / (1 + exp(-x)), times the gate
        ("gated-silu", [2 / (1 + math.exp(-2)) * 10, -1 / (1 + math.e) * 20]),
    ],
)
def test_feed_forward_on_paper(kind, activated):
    config = ModelConfig(d_model=3, num_heads=1, d_ff=2, feed_forward=kind, position="none")
    layer = FeedForward(config, dropout=0.0)
    with torch.no_grad():
        layer.hidden.weight.copy_(torch.tensor([[1.0, 0, 0], [0, -1.0, 0]]))
        layer.hidden.bias.copy_(torch.tensor([1.0, 1.0]))
        if layer.gate is not None:
            layer.gate.weight.copy_(torch.tensor([[0, 0, 10.0], [0, 0, 0]]))
            layer.gate.bias.copy_(torch.tensor([0.0, 20.0]))
        layer.output.weight.copy_(torch.tensor([[1.0, 0], [0, 1.0], [1.0, 1.0]]))
        layer.output.bias.copy_(torch.tensor([0.5, 0, 0]))
    trace = Trace()
    layer(torch.tensor([[[1.0, 2.0, 1.0]]]), trace=trace)
    assert trace["hidden"].flatten().tolist() == [2, -1]
    assert trace["activated"].flatten().tolist() == pytest.approx(activated, abs=1e-5)
    one, other = activated
    output = [one + 0.5, other, one + other]
    assert trace["output"].flatten().tolist() == pytest.approx(output, abs=1e-5)
    residual = [output[0] + 1, output[1] + 2, output[2] + 1]
    assert trace["residual"].flatten().tolist() == pytest.approx(residual, abs=1e-5)

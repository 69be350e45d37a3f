"""Add & Norm by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from regard.model.feedforward import FeedForward
from regard.model.norm import make_norm
from regard.trace import Trace


def test_layer_norm_on_paper(tiny_config):
    """Of 1, 2, 3, 6 the mean is 3 and the variance 3.5; then times the gain, plus the bias."""
    norm = make_norm(tiny_config(d_model=4, num_heads=2))
    x = torch.tensor([1.0, 2.0, 3.0, 6.0])
    root = math.sqrt(3.5 + 1e-5)
    assert norm(x).tolist() == pytest.approx([-2 / root, -1 / root, 0, 3 / root], abs=1e-6)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([2.0, 2.0, 1.0, 1.0]))
        norm.bias.copy_(torch.tensor([0.0, 5.0, 7.0, 0.0]))
    assert norm(x).tolist() == pytest.approx([-4 / root, 5 - 2 / root, 7, 3 / root], abs=1e-6)


def test_root_mean_square_norm_on_paper(tiny_config):
    """Of 1, 1, 3, 5 the mean square is 9: everything is divided by 3; there is no bias."""
    norm = make_norm(tiny_config(d_model=4, num_heads=2, norm="rms"))
    assert [name for name, _ in norm.named_parameters()] == ["weight"]
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 3.0, 1.0, 6.0]))
    result = norm(torch.tensor([1.0, 1.0, 3.0, 5.0])).tolist()
    assert result == pytest.approx([1 / 3, 1, 1, 10], abs=1e-4)


def test_where_the_norm_stands(tiny_config):
    """Post-norm normalises what leaves a sub-layer, pre-norm what enters it."""
    x = torch.randn(2, 5, 18) * 3
    norm = nn.functional.layer_norm
    for placement in ("post", "pre"):
        layer = FeedForward(tiny_config(norm_placement=placement), dropout=0.0)
        trace = Trace()
        out = layer(x, trace=trace)
        torch.testing.assert_close(trace["residual"], x + trace["output"])
        if placement == "post":
            torch.testing.assert_close(trace["hidden"], layer.hidden(x))
            torch.testing.assert_close(out, norm(trace["residual"], [18]))
        else:
            torch.testing.assert_close(trace["hidden"], layer.hidden(norm(x, [18])))
            assert out is trace["residual"]


def test_dropout_takes_the_output_and_leaves_the_residual_path(tiny_config):
    """Section 5.4: applied to the output of each sub-layer before it is added to what came in."""
    x = torch.randn(2, 5, 18)
    for placement in ("post", "pre"):
        layer = FeedForward(tiny_config(norm_placement=placement), dropout=1.0)
        trace = Trace()
        layer(x, trace=trace)
        assert trace["output"].any()
        assert torch.equal(trace["residual"], x)

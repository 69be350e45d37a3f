"""Add & Norm by hand."""

from __future__ import annotations

import torch
from torch import nn

from regard.model.feedforward import FeedForward
from regard.trace import Trace


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

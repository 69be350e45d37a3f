"""Add & Norm: where it stands; batch normalisation by hand, and over words alone."""

import pytest
import torch
from torch import nn

from regard.model.feedforward import FeedForward
from regard.model.norm import MOMENTUM, MaskedBatchNorm, mark_words
from regard.trace import Trace


def test_dropout_takes_the_output_and_leaves_the_residual_path(tiny_config):
    """Section 5.4: applied to the output of each sub-layer before it is added to what came in."""
    x = torch.randn(2, 5, 18)
    for placement in ("post", "pre"):
        layer = FeedForward(tiny_config(norm_placement=placement), dropout=1.0)
        trace = Trace()
        layer(x, trace=trace)
        assert trace["output"].any()
        assert torch.equal(trace["residual"], x)


def test_batch_norm_without_padding_is_torch_s():
    ours, theirs = MaskedBatchNorm(7, eps=1e-5), nn.BatchNorm1d(7, eps=1e-5, momentum=MOMENTUM)
    mark_words(ours, torch.ones(3, 5, dtype=torch.bool))
    for _ in range(3):
        x = torch.randn(3, 5, 7) * 2 + 1
        torch.testing.assert_close(ours(x), theirs(x.flatten(0, 1)).view(3, 5, 7))
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_variance, theirs.running_var)
    x = torch.randn(3, 5, 7)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x.flatten(0, 1)).view(3, 5, 7))


def statistics(model) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.named_buffers()}


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_in_training_packed_equals_padded(architecture, placement, random_model, sentences):
    """Logits, gradients and what is remembered: padding has no part in any."""
    norms = dict(norm="batch", norm_placement=placement, embedding_norm=True)
    model = random_model(architecture=architecture, **norms).double().train()
    before = statistics(model)
    padded = sentences.real(model)
    after = statistics(model)
    toward = torch.randn_like(padded)
    gradients = torch.autograd.grad((padded * toward).sum(), list(model.parameters()))
    for name, value in before.items():
        assert not torch.equal(value, after[name]), name
        model.get_buffer(name).copy_(value)
    packed = sentences.packed(model)[0]
    torch.testing.assert_close(packed, padded)
    for name, value in statistics(model).items():
        torch.testing.assert_close(value, after[name])
    again = torch.autograd.grad((packed * toward).sum(), list(model.parameters()))
    for ours, theirs in zip(again, gradients, strict=True):
        torch.testing.assert_close(ours, theirs)

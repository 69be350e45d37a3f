"""Add & Norm: where it stands; batch normalisation by hand, and over words alone."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.model.feedforward import FeedForward
from regard.model.norm import MOMENTUM, MaskedBatchNorm, mark_words
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


def test_batch_norm_on_paper():
    """Of 1, 2, 6 in the first feature the mean is 3 and the variance 14/3; padding of 99 counts for nothing."""
    norm = MaskedBatchNorm(2, eps=0.0)
    x = torch.tensor([[[1.0, 5.0], [2.0, 7.0]], [[6.0, 9.0], [99.0, 99.0]]])
    is_word = torch.tensor([[True, True], [True, False]])
    mark_words(norm, is_word)
    out = norm(x)
    root = (14 / 3) ** 0.5
    assert out[is_word][:, 0].tolist() == pytest.approx([-2 / root, -1 / root, 3 / root])
    # The running averages begin at 0 and 1; a sample of three says 14/2 of the variance.
    assert norm.running_mean.tolist() == pytest.approx([0.3, 0.7])
    assert norm.running_variance.tolist() == pytest.approx([0.9 + 0.1 * 7, 0.9 + 0.1 * 4])


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
    model = random_model(
        architecture=architecture, norm="batch", norm_placement=placement, embedding_norm=True
    ).double()
    model.train()
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


def test_its_drawback_in_training_neighbours_matter(random_model, sentences):
    model = random_model(norm="batch").train()
    together = sentences.padded(model)[0, :4]
    alone = sentences.rows(0).padded(model)[0, :4]
    assert not torch.allclose(alone, together, atol=1e-2)
    model.eval()
    together, alone = sentences.padded(model)[0, :4], sentences.rows(0).padded(model)[0, :4]
    torch.testing.assert_close(alone, together, atol=1e-5, rtol=1e-5)

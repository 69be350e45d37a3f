"""The loss, against hand-computed values and torch's own."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from regard.config import ModelConfig
from regard.model.transformer import EncoderOnly, build
from regard.train import linear_cross_entropy as kernels
from regard.train import loss
from regard.train.linear_cross_entropy import LinearCrossEntropy
from regard.train.loss import Tensors, batch_loss, smoothed_cross_entropy, symmetric_divergence

PAD = 0
SIZES: Any = dict(source_vocab_size=17, target_vocab_size=17, num_encoder_layers=1, d_model=12, d_ff=19, num_heads=3)


def test_equal_to_torch_with_padding_and_the_divergence_by_hand() -> None:
    logits, correct = torch.randn(11, 7), torch.tensor([3, 0, 5, 6, 1, 0, 2, 2, 4, 0, 6])
    sums = smoothed_cross_entropy(logits, correct, PAD, 0.1)
    smoothed = F.cross_entropy(logits, correct, ignore_index=PAD, label_smoothing=0.1, reduction="sum")
    plain = F.cross_entropy(logits, correct, ignore_index=PAD, reduction="sum")
    torch.testing.assert_close(sums.loss, smoothed)
    torch.testing.assert_close(sums.negative_log_likelihood, plain)
    # KL((1/2,1/2) || (1/4,3/4)) = 1/2 ln 2 + 1/2 ln(2/3); the other way 1/4 ln(1/2) + 3/4 ln(3/2)
    first, second = torch.log(torch.tensor([[0.5, 0.5]])), torch.log(torch.tensor([[0.25, 0.75]]))
    forth = 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
    back = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    found = symmetric_divergence(first, second, torch.tensor([True]))
    assert found.item() == pytest.approx((forth + back) / 2, rel=1e-5)
    assert symmetric_divergence(first, second, torch.tensor([False])).item() == 0


@pytest.mark.parametrize("kernel", [kernels.by_formula, kernels.in_place])
@pytest.mark.parametrize("scores_at_once", [7 * 5, 10**6])
def test_the_fused_loss_is_the_plain_one(monkeypatch, scores_at_once, kernel):
    """Values and gradients, whatever part of the tokens is looked at together."""
    monkeypatch.setitem(kernels.SCORES_AT_ONCE, "cpu", scores_at_once)
    monkeypatch.setattr(kernels, "kernel_for", lambda hidden: kernel)
    weight = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    hidden = torch.randn(11, 3, dtype=torch.float64, requires_grad=True)
    correct = torch.tensor([3, 0, 5, 6, 1, 0, 2, 2, 4, 0, 6])
    plain = smoothed_cross_entropy(hidden @ weight.T, correct, PAD, 0.1)
    fused = LinearCrossEntropy.apply(hidden, weight, correct, PAD, 0.1)
    for ours, theirs in zip(fused, plain, strict=True):
        torch.testing.assert_close(ours, theirs.float())
    expected = torch.autograd.grad(3 * plain.loss, (hidden, weight))
    for ours, theirs in zip(torch.autograd.grad(3 * fused[0], (hidden, weight)), expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)


# torch says so on a processor without bf16 arithmetic, and computes it in another way
@pytest.mark.filterwarnings("ignore:In CPU autocast")
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("scores_at_once", [29 * 7, 10**6])
def test_on_a_processor_in_bf16_it_is_as_near_as_that_allows(monkeypatch, scores_at_once, smoothing):
    monkeypatch.setitem(kernels.SCORES_AT_ONCE, "cpu", scores_at_once)
    torch.manual_seed(1)
    # Numbers that bf16 holds exactly: what differs is what is computed from them.
    weight = torch.randn(29, 8).bfloat16().float().requires_grad_()
    hidden = torch.randn(64, 8).bfloat16().float().requires_grad_()
    correct = torch.randint(0, 29, (64,))
    plain = smoothed_cross_entropy(hidden @ weight.T, correct, PAD, smoothing)
    with torch.autocast("cpu", torch.bfloat16):
        assert kernels.kernel_for(hidden) is kernels.by_softmax
        fused = LinearCrossEntropy.apply(hidden, weight, correct, PAD, smoothing)
    for ours, theirs in zip(fused, plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=3e-3, atol=0)
    expected = torch.autograd.grad(plain.loss, (hidden, weight))
    found = torch.autograd.grad(fused[0], (hidden, weight))
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).norm() < 0.01 * theirs.norm()


@pytest.mark.parametrize(("kernel", "error"), [(kernels.in_place, 1e-5), (kernels.by_softmax, 3e-3)])
def test_scores_far_apart_do_not_overflow(kernel: Callable[..., kernels.LossGradients], error: float) -> None:
    hidden, weight = torch.tensor([[1.0], [-1.0]]), torch.tensor([[300.0], [-300.0], [0.0]])
    found = kernel(hidden, weight, torch.tensor([2, 2]), PAD, 0.1)
    plain = smoothed_cross_entropy(hidden @ weight.T, torch.tensor([2, 2]), PAD, 0.1)
    torch.testing.assert_close(found[:2], tuple(plain), rtol=error, atol=0)
    assert found.d_hidden.isfinite().all() and found.d_weight.isfinite().all()


NUM_PLACES, SHARE = 13, 0.3


def blanks_batch(num_answers: int) -> tuple[EncoderOnly, Tensors]:
    """A packed batch of two texts and a tail, with answers for some places."""
    torch.manual_seed(3)
    model = build(ModelConfig(architecture="encoder-only", **SIZES))
    assert isinstance(model, EncoderOnly)
    text = torch.randint(4, 17, (1, NUM_PLACES))
    answers = torch.zeros_like(text)
    places = torch.randperm(NUM_PLACES)[:num_answers]
    answers[0, places] = torch.randint(4, 17, (num_answers,))
    lengths = torch.tensor([5, 6, 2, 0], dtype=torch.int32)
    return model, Tensors(text[:, :0], torch.zeros_like(lengths), text, answers, lengths)


@pytest.mark.parametrize(("num_answers", "r_drop"), [(0, 0.0), (4, 0.0), (4, 2.0)])
def test_a_share_of_the_places_is_scored_as_all_of_them_are(num_answers, r_drop, monkeypatch):
    model, batch = blanks_batch(num_answers)
    options = dict(packed=True, longest=7, label_smoothing=0.1, r_drop=r_drop)
    found = []
    for share in (None, SHARE):
        model.zero_grad()
        with monkeypatch.context() as patched:
            if share is None:
                patched.setattr(loss, "_asked_positions", lambda asked, share: None)
            sums = batch_loss(model, batch, **options, asked_share=share)
        sums.loss.backward()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        found.append((sums, {name: grad.clone() for name, grad in gradients.items()}))
    (every, expected), (asked, gradients) = found
    torch.testing.assert_close(asked.loss, every.loss)
    torch.testing.assert_close(asked.negative_log_likelihood, every.negative_log_likelihood)
    assert gradients.keys() == expected.keys() and gradients
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-6, rtol=1e-4)

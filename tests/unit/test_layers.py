"""Embedding, positions, layouts, linear maps, dropout and norms: by hand, and what each promises."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.model.dropout import HASH_RANGE, Dropout, hash_numbers, hashed_dropout, quartered_dropout
from regard.model.feedforward import FeedForward
from regard.model.layout import Layout, Visibility
from regard.model.linear import linear
from regard.model.norm import MOMENTUM, MaskedBatchNorm, mark_words
from regard.model.position import PositionalEncoding, sinusoidal
from regard.trace import Trace

PLACES = torch.arange(5)[None]


def test_sinusoids_on_paper_and_in_a_table_as_far_as_it_reaches(tiny_config):
    """With d_model = 4 the second pair turns 100 times slower than the first."""
    encoding = sinusoidal(PLACES, 4)[0]
    assert encoding[0].tolist() == [0, 1, 0, 1]
    second = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    assert encoding[1].tolist() == pytest.approx(second, abs=1e-6)
    assert encoding[1].tolist() == pytest.approx([0.84147, 0.54030, 0.01, 0.99995], abs=1e-5)
    third = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]
    assert encoding[3].tolist() == pytest.approx(third, abs=1e-6)
    layer = PositionalEncoding(tiny_config())
    layer.tabulate(7, torch.device("cpu"))
    layer.table.add_(1)  # so that it shows whether a number was looked up
    for length in (6, 7, 8, 11):
        positions = torch.arange(length)[None]
        expected = sinusoidal(positions, 18)
        assert torch.equal(layer(positions), expected), "how far they go is not known"
        found = layer(positions, longest=length)
        torch.testing.assert_close(found, expected + 1 if length <= 7 else expected)


T, N = True, False


def test_who_sees_whom_on_paper() -> None:
    words = Layout.padded(torch.tensor([3, 2]), 3)
    assert Visibility(words, words, causal=True).may_attend().tolist() == [
        [[[T, N, N], [T, T, N], [T, T, T]]],
        [[[T, N, N], [T, T, N], [T, T, N]]],
    ]
    words = Layout.packed(torch.tensor([2, 1, 0]), 3, 2)
    assert Visibility(words, words).may_attend().tolist() == [[[[T, T, N], [T, T, N], [N, N, T]]]]
    assert Visibility(words, words, causal=True).may_attend().tolist() == [[[[T, N, N], [T, T, N], [N, N, T]]]]
    target = Layout.packed(torch.tensor([1, 2, 0]), 3, 2)
    source = Layout.packed(torch.tensor([3, 1, 0]), 4, 3)
    assert Visibility(target, source).may_attend().tolist() == [[[[T, T, T, N], [N, N, N, T], [N, N, N, T]]]]


def test_values_and_gradients_are_those_of_torch() -> None:
    shapes = (3, 5, 7), (11, 7), (11,)
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    toward = torch.randn(3, 5, 11, dtype=torch.float64)
    ours, theirs = linear(*inputs), F.linear(*inputs)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(torch.autograd.grad(ours, inputs, toward), torch.autograd.grad(theirs, inputs, toward))


Drop = Callable[[Tensor, float], Tensor]
both_kinds = pytest.mark.parametrize("drop", [hashed_dropout, quartered_dropout])


@both_kinds
def test_what_is_kept_is_scaled_and_the_rest_is_zero(drop: Drop) -> None:
    x = torch.randn(11, 7, 5)
    y = drop(x, 0.3)
    kept = y != 0
    assert kept.any() and not kept.all()
    torch.testing.assert_close(y[kept], x[kept] / 0.7)


def hashed_coins(shape: torch.Size, p: float) -> Tensor:
    """Whether each falls."""
    seed = torch.randint(2**31 - 1, (), dtype=torch.int32)
    return hash_numbers(shape, seed) < p * HASH_RANGE


def quartered_coins(shape: torch.Size, p: float) -> Tensor:
    return quartered_dropout(torch.ones(shape), p) == 0


@pytest.mark.parametrize("throw", [hashed_coins, quartered_coins])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_as_many_fall_as_should_and_independently_of_one_another(throw, p):
    """Six standard deviations: what chance alone would overstep once in 500 million times."""
    shape, bound = torch.Size((499, 512)), 6 / math.sqrt(499 * 512)
    first, second = (throw(shape, p).double().flatten() - p for _ in range(2))
    spread = math.sqrt(p * (1 - p))
    assert abs(float(first.mean())) / spread < bound
    assert abs(float((first * second).mean())) / spread**2 < bound
    for distance in (1, 2, 3, 8, 64, 511, 512, 513, 4096):
        apart = first[distance:] * first[:-distance]
        assert abs(float(apart.mean())) / spread**2 < 1.01 * bound, distance
    columns = (first.view(shape).mean(dim=0) / spread * math.sqrt(499)).square().mean()
    assert abs(float(columns) - 1) < 6 * math.sqrt(2 / 512)


def test_nothing_falls_without_training_and_everything_with_certainty() -> None:
    x = torch.randn(3, 5)
    layer = Dropout(0.5)
    assert (layer(x) == 0).any()
    assert torch.equal(layer.eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
    assert not Dropout(1.0)(x).any()
    assert (quartered_dropout(x, 0.9999999) == 0).float().mean() > 0.5


# ------------------------------------------------------------ Add & Norm, over words alone


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

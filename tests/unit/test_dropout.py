"""Dropout, and the coins it throws; those of a GPU need none to be tested."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.model.dropout import (
    HASH_RANGE,
    Dropout,
    hash_numbers,
    hashed_dropout,
    quartered_dropout,
)

Drop = Callable[[Tensor, float], Tensor]
both_kinds = pytest.mark.parametrize("drop", [hashed_dropout, quartered_dropout])


@both_kinds
def test_what_is_kept_is_scaled_and_the_rest_is_zero(drop: Drop) -> None:
    x = torch.randn(11, 7, 5)
    y = drop(x, 0.3)
    kept = y != 0
    assert kept.any() and not kept.all()
    torch.testing.assert_close(y[kept], x[kept] / 0.7)


@both_kinds
def test_the_gradient_passes_where_the_value_did(drop: Drop) -> None:
    x = torch.randn(13, 17, requires_grad=True)
    y = drop(x, 0.4)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, (y != 0) / 0.6)


def hashed_coins(shape: torch.Size, p: float) -> Tensor:
    """Whether each falls."""
    seed = torch.randint(2**31 - 1, (), dtype=torch.int32)
    return hash_numbers(shape, seed) < p * HASH_RANGE


def quartered_coins(shape: torch.Size, p: float) -> Tensor:
    return quartered_dropout(torch.ones(shape), p) == 0


@pytest.mark.parametrize("throw", [hashed_coins, quartered_coins])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_as_many_fall_as_should_and_independently_of_one_another(
    throw: Callable[[torch.Size, float], Tensor], p: float
) -> None:
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

"""The learning rate and the running average, against numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.config import TrainConfig
from regard.train.optimizer import RunningAverage, make_optimizer


def test_weight_decay_touches_matrices_only() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5))
    optimizer = make_optimizer(model, TrainConfig(weight_decay=0.25))
    decayed, spared = optimizer.param_groups
    assert [tuple(p.shape) for p in decayed["params"]] == [(5, 3)]
    assert decayed["weight_decay"] == 0.25
    assert {tuple(p.shape) for p in spared["params"]} == {(5,)}
    assert spared["weight_decay"] == 0.0


def test_the_running_average_by_hand() -> None:
    parameter = nn.Parameter(torch.tensor([1.0]))
    average = RunningAverage([parameter], decay=0.5)
    with torch.no_grad():
        parameter.fill_(3.0)
    average.update(step=0)  # 0.1 of the past at the very beginning: 0.1 * 1 + 0.9 * 3
    assert average.values[0].item() == pytest.approx(2.8)
    average.update(step=1000)  # 0.5 * 2.8 + 0.5 * 3
    assert average.values[0].item() == pytest.approx(2.9)


def test_swapping_twice_changes_nothing() -> None:
    parameter = nn.Parameter(torch.tensor([1.0, 2.0]))
    average = RunningAverage([parameter], decay=0.9)
    with torch.no_grad():
        parameter.add_(1.0)
    average.swap()
    assert parameter.tolist() == [1.0, 2.0]
    average.swap()
    assert parameter.tolist() == [2.0, 3.0]
    assert average.values[0].tolist() == [1.0, 2.0]

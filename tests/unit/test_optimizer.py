"""The learning rate and the running average, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from regard.config import TrainConfig
from regard.train.optimizer import RunningAverage, Schedule, make_optimizer, paper_peak


def test_inverse_square_root_is_equation_3_of_the_paper() -> None:
    d_model, warmup = 512, 4000
    schedule = Schedule("inverse-sqrt", paper_peak(d_model, warmup), warmup, steps=100_000)
    for step in (1, 17, 3999, 4000, 4001, 25_000, 100_000):
        paper = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert schedule.rate(step) == pytest.approx(paper, rel=1e-12)


def test_the_papers_peak_for_the_base_model() -> None:
    # 512^-0.5 * 4000^-0.5 = 1 / sqrt(2,048,000) = 1 / 1431.08
    assert paper_peak(512, 4000) == pytest.approx(6.98771e-4, rel=1e-5)


def test_cosine_warms_up_linearly_and_ends_at_zero() -> None:
    schedule = Schedule("cosine", peak=0.8, warmup=10, steps=110)
    assert schedule.rate(5) == pytest.approx(0.4)
    assert schedule.rate(10) == pytest.approx(0.8)
    assert schedule.rate(60) == pytest.approx(0.4)  # half-way: cos(pi / 2) = 0
    assert schedule.rate(35) == pytest.approx(0.8 * (1 + math.sqrt(0.5)) / 2)
    assert schedule.rate(110) == pytest.approx(0.0, abs=1e-15)


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

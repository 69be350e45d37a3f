"""Positional encodings by hand, and what each kind promises."""

from __future__ import annotations

import math

import pytest
import torch

from regard.model.position import PositionalEncoding, rotate, rotation, sinusoidal

PLACES = torch.arange(5)[None]


def test_sinusoids_on_paper():
    """With d_model = 4 the second pair turns 100 times slower than the first."""
    encoding = sinusoidal(PLACES, 4)[0]
    assert encoding[0].tolist() == [0, 1, 0, 1]
    second = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    assert encoding[1].tolist() == pytest.approx(second, abs=1e-6)
    assert encoding[1].tolist() == pytest.approx([0.84147, 0.54030, 0.01, 0.99995], abs=1e-5)
    third = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]
    assert encoding[3].tolist() == pytest.approx(third, abs=1e-6)


def test_a_fixed_offset_is_a_rotation():
    """Section 3.5: PE(pos + k) is the same linear function of PE(pos) wherever pos is."""
    d_model, k = 6, 3
    encoding = sinusoidal(torch.arange(40)[None], d_model)[0].double()
    turn = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        angle = k / 10000 ** (2 * i / d_model)
        turn[2 * i, 2 * i] = turn[2 * i + 1, 2 * i + 1] = math.cos(angle)
        turn[2 * i, 2 * i + 1], turn[2 * i + 1, 2 * i] = math.sin(angle), -math.sin(angle)
    torch.testing.assert_close(encoding[:-k] @ turn.T, encoding[k:], atol=1e-5, rtol=0)


def test_learned_positions_are_rows_of_a_table(tiny_config):
    position = PositionalEncoding(tiny_config(position="learned"))
    assert position.weight.shape == (37, 18)
    encoding = position(torch.tensor([[2, 0, 36]]))
    assert torch.equal(encoding[0], position.weight[[2, 0, 36]])
    # Beyond the table its last row.
    assert torch.equal(position(torch.tensor([[500]]))[0, 0], position.weight[36])


def test_tabulated_positions_are_looked_up_as_far_as_they_reach(tiny_config):
    layer = PositionalEncoding(tiny_config())
    layer.tabulate(7, torch.device("cpu"))
    layer.table.add_(1)  # so that it shows whether a number was looked up
    for length in (6, 7, 8, 11):
        positions = torch.arange(length)[None]
        expected = sinusoidal(positions, 18)
        assert torch.equal(layer(positions), expected), "how far they go is not known"
        found = layer(positions, longest=length)
        torch.testing.assert_close(found, expected + 1 if length <= 7 else expected)


def test_rotary_scores_depend_on_the_distance_only():
    query, key = torch.randn(1, 3, 1, 10).double(), torch.randn(1, 3, 1, 10).double()

    def score(query_place: int, key_place: int) -> torch.Tensor:
        turned_query = rotate(query, rotation(torch.tensor([[query_place]]), 10))
        turned_key = rotate(key, rotation(torch.tensor([[key_place]]), 10))
        return (turned_query * turned_key).sum(-1)

    torch.testing.assert_close(score(5, 2), score(103, 100), atol=1e-4, rtol=0)
    torch.testing.assert_close(score(0, 7), score(13, 20), atol=1e-4, rtol=0)
    assert not torch.allclose(score(5, 2), score(5, 3), atol=1e-2)
    assert not torch.allclose(score(5, 2), score(2, 5), atol=1e-2)

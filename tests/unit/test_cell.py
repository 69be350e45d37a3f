"""A cell's step by hand, and torch's recurrence against it."""

import pytest
import torch

from regard.model.recurrent.cell import NUM_PARTS, Weights, advance, make_cell, run


@pytest.mark.parametrize("kind", NUM_PARTS)
def test_steps_equal_the_whole_recurrence(kind):
    cell = make_cell(kind, 5, 7).double()
    with torch.no_grad():
        for bias in Weights.of(cell)[2:]:
            bias.uniform_(-1, 1)
    x = torch.randn(3, 11, 5, dtype=torch.float64)
    state = torch.randn(NUM_PARTS[kind], 3, 7, dtype=torch.float64)
    whole, last = run(cell, x, state)
    weights = Weights.of(cell)
    for i in range(11):
        state = advance(cell, x[:, i] @ weights.inputs.T + weights.inputs_bias, state)
        torch.testing.assert_close(state[0], whole[:, i])
    torch.testing.assert_close(state, last)


@pytest.mark.parametrize("kind", NUM_PARTS)
def test_recurrent_matrices_begin_orthogonal(kind):
    """So that what a plain cell knows neither fades nor grows in the first steps of training."""
    weights = Weights.of(make_cell(kind, 5, 7))
    for gate in weights.recurrent.split(7):
        torch.testing.assert_close(gate @ gate.T, torch.eye(7), atol=1e-5, rtol=0)
    assert not weights.recurrent_bias.any()
    forget_gate = [0] * 7 + [1] * 7 + [0] * 14
    assert weights.inputs_bias.tolist() == (forget_gate if kind == "lstm" else [0] * len(weights.inputs))

"""A cell's step by hand, and torch's recurrence against it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from regard.model.recurrent.cell import NUM_PARTS, Weights, advance, make_cell, run


def one_cell(kind: str, **weights: list[float]) -> nn.RNNBase:
    """A cell of one feature and one input; the gates' weights are given, everything else is 0."""
    cell = make_cell(kind, 1, 1)
    with torch.no_grad():
        for tensor in Weights.of(cell):
            tensor.zero_()
        for name, values in weights.items():
            getattr(Weights.of(cell), name).view(-1)[:] = torch.tensor(values)
    return cell


def test_a_plain_cell_on_paper():
    """W = 2, U = 3, both biases 1: tanh(2 x + 1 + 3 s + 1)."""
    cell = one_cell("rnn", inputs=[2], recurrent=[3], inputs_bias=[1], recurrent_bias=[1])
    after = advance(cell, torch.tensor([[2 * 0.5 + 1]]), torch.tensor([[[-0.5]]]))
    assert after.item() == pytest.approx(math.tanh(1 + 1 - 1.5 + 1))


def test_a_gru_cell_on_paper():
    """Half reset, and three quarters of the old state stay: sigmoid(log 3) = 3/4."""
    cell = one_cell("gru", recurrent=[0, 0, 4], recurrent_bias=[0, math.log(3), 1])
    after = advance(cell, torch.tensor([[0.0, 0.0, 0.25]]), torch.tensor([[[0.5]]]))
    new = math.tanh(0.25 + 0.5 * (4 * 0.5 + 1))
    assert after.item() == pytest.approx(0.25 * new + 0.75 * 0.5)


def test_an_lstm_cell_on_paper():
    """All gates half open: half of what was remembered stays, half of the new comes in, half is shown."""
    cell = one_cell("lstm")
    after = advance(
        cell, torch.tensor([[0.0, 0.0, math.atanh(0.5), 0.0]]), torch.tensor([[[9.0]], [[0.8]]])
    )
    remembered = 0.5 * 0.8 + 0.5 * 0.5
    expected = [0.5 * math.tanh(remembered), remembered]
    assert after.flatten().tolist() == pytest.approx(expected)


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
    assert weights.inputs_bias.tolist() == (
        forget_gate if kind == "lstm" else [0] * len(weights.inputs)
    )


# torch says so on a processor without bf16 arithmetic, and computes it in another way
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
@pytest.mark.parametrize("kind", NUM_PARTS)
def test_states_stay_wide_under_autocast(kind):
    cell = make_cell(kind, 5, 7)
    with torch.autocast("cpu", torch.bfloat16):
        states, last = run(cell, torch.randn(3, 2, 5).bfloat16())
        after = advance(cell, torch.randn(3, len(Weights.of(cell).inputs)).bfloat16(), last)
    assert states.dtype == last.dtype == after.dtype == torch.float32

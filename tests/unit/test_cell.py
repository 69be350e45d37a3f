"""A cell's step by hand, and torch's recurrence against it."""

import pytest
import torch

from regard.model.recurrent.cell import NUM_PARTS, Weights, make_cell


@pytest.mark.parametrize("kind", NUM_PARTS)
def test_recurrent_matrices_begin_orthogonal(kind):
    """So that what a plain cell knows neither fades nor grows in the first steps of training."""
    weights = Weights.of(make_cell(kind, 5, 7))
    for gate in weights.recurrent.split(7):
        torch.testing.assert_close(gate @ gate.T, torch.eye(7), atol=1e-5, rtol=0)
    assert not weights.recurrent_bias.any()
    forget_gate = [0] * 7 + [1] * 7 + [0] * 14
    assert weights.inputs_bias.tolist() == (forget_gate if kind == "lstm" else [0] * len(weights.inputs))

"""The linear map against torch's."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from regard.model.linear import linear


def test_values_and_gradients_are_those_of_torch() -> None:
    shapes = (3, 5, 7), (11, 7), (11,)
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    toward = torch.randn(3, 5, 11, dtype=torch.float64)
    ours, theirs = linear(*inputs), F.linear(*inputs)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, inputs, toward), torch.autograd.grad(theirs, inputs, toward)
    )

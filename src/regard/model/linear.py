"""A linear map, the box from which attention and feed-forward are built.

    y = x W^T + b

Vaswani et al. 2017, equation 2. Computes what torch's `nn.Linear` does. On a CPU the gradient of `b`, a sum over all words, is a product with
ones, which is twice as fast as torch's sum.

Differs from the paper: nowhere in the default. Llama leaves out every b, Qwen 2 keeps those of queries, keys and values
(`biases`).
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class Product(torch.autograd.Function):
    """x W^T + b for vectors in rows."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "words inputs"],
        weight: Float[Tensor, "outputs inputs"],
        bias: Float[Tensor, " outputs"],
    ) -> Float[Tensor, "words outputs"]:
        ctx.save_for_backward(x, weight)
        return torch.addmm(bias, x, weight.T)

    @staticmethod
    def backward(ctx: Any, toward: Float[Tensor, "words outputs"]) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        d_x = toward @ weight if ctx.needs_input_grad[0] else None
        return d_x, toward.T @ x, toward.new_ones(len(toward)) @ toward


def linear(
    x: Float[Tensor, "*words inputs"], weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"] | None
) -> Float[Tensor, "*words outputs"]:
    """x W^T + b, with the faster gradient where it applies."""
    trains = torch.is_grad_enabled() and weight.requires_grad
    is_special = torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu")
    if bias is None or not trains or x.device.type != "cpu" or is_special:
        return F.linear(x, weight, bias)
    return Product.apply(x.flatten(0, -2), weight, bias).unflatten(0, x.shape[:-1])


class Linear(nn.Linear):
    """torch's `nn.Linear`, and where it is adapted what the adapter adds (`regard.model.adapter`)."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias)
        self.adapter: nn.Module | None = None

    def forward(self, x: Float[Tensor, "*words inputs"]) -> Float[Tensor, "*words outputs"]:
        y = linear(x, self.weight, self.bias)
        return y if self.adapter is None else y + self.adapter(x)

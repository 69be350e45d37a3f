"""A linear map, the box from which attention and feed-forward are built.

    y = x W^T + b

Vaswani et al. 2017, equation 2. Computes what torch's `nn.Linear` does. On a CPU the gradient of `b`, a sum over all
words, is a product with ones, which is twice as fast as torch's sum.

A low-rank adapter is what a large model learns from a small text, in few numbers beside its own weights:

    y = x W^T + b + 2 (x A^T) B^T

Hu et al. 2022 (LoRA), section 4.1, with alpha = 2 r. W and b stay as they are; only A [r, inputs] and B [outputs, r]
learn, and need gradients and Adam's moments. B begins at zero, so the model begins as its parent. In the end the
product is added to W: the adapted model has the shape of its parent, and nothing that uses it knows of adapters.
Every linear map of the layers has one, not only those of queries and values (Dettmers et al. 2023, section 4).

Differs from the paper: nowhere in the default. Llama leaves out every b, Qwen 2 keeps those of queries, keys and values
(`biases`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

SCALE = 2.0
"""alpha / r"""
_DOWN, _UP = "adapter.down.weight", "adapter.up.weight"


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
    """torch's `nn.Linear`, and where it is adapted what the adapter adds."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias)
        self.adapter: nn.Module | None = None

    def forward(self, x: Float[Tensor, "*words inputs"]) -> Float[Tensor, "*words outputs"]:
        y = linear(x, self.weight, self.bias)
        return y if self.adapter is None else y + self.adapter(x)


class Adapter(nn.Module):
    """2 B A, beside a linear map."""

    def __init__(self, beside: nn.Linear, rank: int) -> None:
        super().__init__()
        place = {"device": beside.weight.device, "dtype": beside.weight.dtype}
        self.down = nn.Linear(beside.in_features, rank, bias=False, **place)
        self.up = nn.Linear(rank, beside.out_features, bias=False, **place)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Float[Tensor, "*words inputs"]) -> Float[Tensor, "*words outputs"]:
        return SCALE * self.up(self.down(x))


def add_adapters(network: nn.Module, rank: int) -> None:
    """Freeze a network, and put an adapter beside each linear map of its layers."""
    network.requires_grad_(False)
    for module in list(network.modules()):
        if isinstance(module, Linear):
            module.adapter = Adapter(module, rank)


def merged(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state dict with the adapters' products in the weights, as the plain model has it."""
    plain = {name: value for name, value in state.items() if not name.endswith((_DOWN, _UP))}
    for name in (name.removesuffix(_DOWN) for name in state if name.endswith(_DOWN)):
        with torch.no_grad():
            plain[f"{name}weight"] = plain[f"{name}weight"] + SCALE * state[name + _UP] @ state[name + _DOWN]
    return plain

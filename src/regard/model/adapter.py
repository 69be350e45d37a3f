"""Low-rank adapters: what a large model learns from a small text, in few numbers beside its own weights.

    y = x W^T + b + 2 (x A^T) B^T

Hu et al. 2022 (LoRA), section 4.1, with alpha = 2 r. W and b stay as they are; only A [r, inputs] and B [outputs, r]
learn, and need gradients and Adam's moments. B begins at zero, so the model begins as its parent. In the end the
product is added to W: the adapted model has the shape of its parent, and nothing that uses it knows of adapters.

Differs from the paper: every linear map of the layers has an adapter, not only those of queries and values
(Dettmers et al. 2023, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.model.linear import Linear

SCALE = 2.0
"""alpha / r"""
_DOWN, _UP = "adapter.down.weight", "adapter.up.weight"


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

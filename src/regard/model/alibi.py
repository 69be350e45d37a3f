"""Attention with linear biases (ALiBi): positions that are neither added nor learned.

    masked = query . key / sqrt(d_k) - slope_h |key position - query position|,   slope_h = 2^(-8 h / heads)

Press et al. 2022, section 3: each head h = 1 ... heads forgets at its own rate, so that a model goes on in texts longer
than those of its training. A number of heads between two powers of two has the slopes of the smaller power, then every
second one of the larger, as in the authors' code, BLOOM and MPT.

Differs from its paper: theirs are decoders. An encoder looks both ways alike, so it cannot tell a text from its reversal.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig


def slopes(num_heads: int, device: torch.device | None = None) -> Float[Tensor, " heads"]:
    """
    >>> slopes(4).tolist(), slopes(3).tolist()
    ([0.25, 0.0625, 0.015625, 0.00390625], [0.0625, 0.00390625, 0.25])
    """
    power = 1 << (num_heads.bit_length() - 1)
    head = torch.arange(num_heads, device=device)
    steps = torch.where(head < power, 2 * (head + 1), 2 * (head - power) + 1)
    return torch.exp2(-4 / power * steps)


class LinearBias(nn.Module):
    """What is added to each score of a stack's self-attention; a decoder's later keys are hidden anyway."""

    def __init__(self, config: ModelConfig, *, looks_ahead: bool) -> None:
        super().__init__()
        self.num_heads = config.num_heads

    def forward(
        self, query: Int[Tensor, "batch query_len"], key: Int[Tensor, "batch key_len"]
    ) -> Float[Tensor, "batch heads query_len key_len"]:
        """The bias for these positions of queries and keys."""
        distance = (key[:, None, :] - query[:, :, None]).abs()
        return -slopes(self.num_heads, query.device)[:, None, None] * distance[:, None]

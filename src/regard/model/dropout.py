"""Dropout on the embedding sums and on each sub-layer's output.

    y_i = x_i keep_i / (1 - p),   keep_i = 1 with probability 1 - p, else 0

Vaswani et al. 2017, section 5.4; Srivastava et al. 2014.

Differs from the paper: nowhere. On a GPU the coin of element `i` is a hash of `i` and of one random number
a call, a tenth of the arithmetic of the generator a compiler would put there: it is thrown once in the
forward pass, and again in the backward pass rather than kept. On a CPU a draw of the generator, which gives
64 random bits, is cut into four coins.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

LARGEST = 2**24


def coins(shape: torch.Size, seed: Int[Tensor, ""]) -> Int[Tensor, "*shape"]:
    """A number below `LARGEST` for each place, as if drawn at random: another row of them for each seed.

    The steps and constants of Wellons' `lowbias32`; of 32-bit products, which wrap around, the upper bits
    depend on all bits that went in.
    """
    places = torch.arange(shape.numel(), dtype=torch.int32, device=seed.device).view(shape)
    mixed = places + seed
    mixed = (mixed ^ ((mixed >> 16) & 0xFFFF)) * 0x7FEB352D
    mixed = (mixed ^ ((mixed >> 15) & 0x1FFFF)) * (0x846CA68B - 2**32)
    return (mixed >> 8) & (LARGEST - 1)


def hashed_dropout(x: Float[Tensor, "*shape"], p: float) -> Float[Tensor, "*shape"]:
    """Dropout whose coins cost little arithmetic and no memory."""
    seed = torch.randint(2**31 - 1, (), dtype=torch.int32, device=x.device)
    kept = coins(x.shape, seed) >= round(p * LARGEST)
    return x * (kept * (1 / (1 - p))).to(x.dtype)


def quartered_dropout(x: Float[Tensor, "*shape"], p: float) -> Float[Tensor, "*shape"]:
    """Dropout with a quarter of the draws."""
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    thrown = draws.view(torch.int16)[: x.numel()].view(x.shape)
    # Compared in place, as whole numbers: by way of a tensor of truth values it takes three times as long.
    kept = thrown.ge_(min(round(p * 2**16) - 2**15, 2**15 - 1))
    return x * kept.to(x.dtype).mul_(1 / (1 - p))


class Dropout(nn.Dropout):
    """As torch's, with cheaper coins."""

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.training or self.p == 0:
            return x
        if self.p == 1:
            return x * 0
        if x.is_cuda:
            return hashed_dropout(x, self.p)
        # Compiled, torch's own costs no pass over memory.
        by_torch = x.device.type != "cpu" or torch.compiler.is_compiling()
        return F.dropout(x, self.p) if by_torch else quartered_dropout(x, self.p)

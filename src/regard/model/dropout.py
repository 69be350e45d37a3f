"""Dropout on the embedding sums and on each sub-layer's output.

    y_i = x_i keep_i / (1 - p),   keep_i = 1 with probability 1 - p, else 0

Vaswani et al. 2017, section 5.4; Srivastava et al. 2014.

Differs from the paper: nowhere. On a GPU the random number of element `i` is a hash of `i` and of one seed
a call. That is a tenth of the generator's arithmetic, and the backward pass computes it again instead of
storing it. On a CPU one draw of the generator, 64 random bits, serves four elements.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

HASH_RANGE = 2**24


def hash_numbers(shape: torch.Size, seed: Int[Tensor, ""]) -> Int[Tensor, "*shape"]:
    """A pseudo-random number below `HASH_RANGE` for each element.

    The steps and constants of Wellons' `lowbias32`; the upper bits of its wrapping 32-bit products depend
    on all input bits.
    """
    places = torch.arange(shape.numel(), dtype=torch.int32, device=seed.device).view(shape)
    mixed = places + seed
    mixed = (mixed ^ ((mixed >> 16) & 0xFFFF)) * 0x7FEB352D
    mixed = (mixed ^ ((mixed >> 15) & 0x1FFFF)) * (0x846CA68B - 2**32)
    return (mixed >> 8) & (HASH_RANGE - 1)


def hashed_dropout(x: Float[Tensor, "*shape"], p: float) -> Float[Tensor, "*shape"]:
    """Dropout by hashing: little arithmetic, no memory."""
    seed = torch.randint(2**31 - 1, (), dtype=torch.int32, device=x.device)
    kept = hash_numbers(x.shape, seed) >= round(p * HASH_RANGE)
    return x * (kept * (1 / (1 - p))).to(x.dtype)


def quartered_dropout(x: Float[Tensor, "*shape"], p: float) -> Float[Tensor, "*shape"]:
    """Dropout with one draw for four elements."""
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = draws.view(torch.int16)[: x.numel()].view(x.shape)
    # Compared in place, as integers: a tensor of booleans takes three times as long.
    kept = numbers.ge_(min(round(p * 2**16) - 2**15, 2**15 - 1))
    return x * kept.to(x.dtype).mul_(1 / (1 - p))


class Dropout(nn.Dropout):
    """torch's dropout with cheaper random numbers."""

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

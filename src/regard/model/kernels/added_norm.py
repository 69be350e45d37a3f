"""Add & Norm as one GPU kernel, for inference: a yellow box of Figure 1.

    LayerNorm(x + Sublayer(x)),   LayerNorm(x) = gain * (x - mean) / sqrt(variance + epsilon) + bias

Vaswani et al. 2017, section 3.1; Ba et al. 2016. A step of the decoder has so few rows that starting a kernel
takes longer than its work, so two in one is half the time. A program takes one row; the sum is not rounded
in between.

Differs from the paper: nowhere.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor, nn


@triton.jit  # type: ignore[untyped-decorator]
def _add_and_normalise(  # type: ignore[no-untyped-def]
    x, output, gain, bias, normed, epsilon, D_MODEL: tl.constexpr, BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * D_MODEL
    features = tl.arange(0, BLOCK)
    there = features < D_MODEL
    total = tl.load(x + first + features, there, 0).to(tl.float32)
    total += tl.load(output + first + features, there, 0).to(tl.float32)
    mean = tl.sum(total, 0) / D_MODEL
    apart = tl.where(there, total - mean, 0.0)
    scale = tl.rsqrt(tl.sum(apart * apart, 0) / D_MODEL + epsilon)
    found = apart * scale * tl.load(gain + features, there, 0).to(tl.float32)
    found += tl.load(bias + features, there, 0).to(tl.float32)
    tl.store(normed + first + features, found.to(normed.dtype.element_ty), there)


def added_norm(
    x: Float[Tensor, "*words d_model"], output: Float[Tensor, "*words d_model"], norm: nn.LayerNorm
) -> Float[Tensor, "*words d_model"]:
    """The norm of the sum, in the type of `x`."""
    x, output = x.contiguous(), output.contiguous()
    normed = torch.empty_like(x)
    d_model = x.shape[-1]
    block = triton.next_power_of_2(d_model)
    grid = (x.numel() // d_model,)
    _add_and_normalise[grid](
        x, output, norm.weight, norm.bias, normed, norm.eps, d_model, block, num_warps=min(max(block // 256, 1), 8)
    )  # fmt: skip
    return normed

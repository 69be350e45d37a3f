"""Equation 1 of the paper by faster kernels than the written-out formula; see `regard.model.attention`.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

`fused` is torch's kernel for padded batches, `packed` ours for packed rows on a GPU. `fastest` chooses.

Differs from the paper: nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.model.layout import Keys, Queries, Visibility

if torch.version.cuda is not None:
    # These import the compiler, two seconds that a build for the CPU need not spend.
    from torch.nn.attention.varlen import varlen_attn

    from regard.model.kernels.packed_attention import packed_attention

# Without cuDNN, which plans anew for every shape, a tenth of a second each: sentences vary in length.
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
HEAD_DIMS = (16, 32, 64, 128)
"""Head widths of our kernel for packed rows; torch's kernel takes the others."""
MAX_STORED_SCORES = 1 << 24
"""Maximum attention scores stored for the backward pass; above this the fused kernel recomputes them."""


def fastest(query: Queries, key: Keys, value: Keys, visibility: Visibility | None) -> Queries | None:
    """Equation 1 by the fastest kernel that fits; None where the written-out formula is as fast."""
    if query.shape[2] == 1 or _trains_bf16_on_cpu(query, key):
        return None
    if (shared := query.shape[1] // key.shape[1]) > 1:
        # Not every kernel knows grouped heads: each query gets its own copy.
        key, value = (each.repeat_interleave(shared, dim=1) for each in (key, value))
    if visibility is not None and takes_packed(query, visibility):
        by_token = [tensor.transpose(1, 2).transpose(0, 1) for tensor in (query, key, value)]
        return packed(by_token, visibility).transpose(0, 1)[None]
    return fused(query, key, value, visibility)


def fused(query: Queries, key: Keys, value: Keys, visibility: Visibility | None) -> Queries:
    """Equation 1 in one call of torch's `scaled_dot_product_attention`."""
    # Padding stands last, so a word that cannot see the future cannot see padding either.
    causal = visibility is not None and visibility.is_plainly_causal
    mask = None if visibility is None or causal else visibility.mask()
    if mask is not None and mask.is_floating_point():
        mask = mask.to(query.dtype)
    with sdpa_kernel(BACKENDS):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)


def packed(
    projected: Sequence[Float[Tensor, "_ _ heads head_dim"]], visibility: Visibility
) -> Float[Tensor, "query_len heads head_dim"]:
    """Equation 1 for packed rows on a GPU: each sentence attends within its own boundaries only.

    projected: queries, keys and values in this order, side by side in one tensor or in several.
    """
    if projected[0].shape[-1] in HEAD_DIMS:
        ranges = (*visibility.key_ranges(), *visibility.query_ranges())
        return packed_attention(projected, *ranges)[0]
    of_query, of_key = visibility.query, visibility.key
    assert of_query.boundaries is not None
    bounds = of_query.boundaries, of_key.boundaries, of_query.longest, of_key.longest
    query, key, value = (part for tensor in projected for part in tensor.unbind(1))
    before = -1 if visibility.window is None else visibility.window - 1
    context = varlen_attn(query, key, value, *bounds, window_size=(before, 0) if visibility.causal else (-1, -1))
    assert isinstance(context, Tensor)
    return context


def takes_packed(projected: Tensor, visibility: Visibility) -> bool:
    """Whether `packed` fits: packed rows in half precision on a GPU, without relative positions."""
    narrow = projected.is_cuda and projected.dtype in (torch.bfloat16, torch.float16)
    return narrow and visibility.query.is_packed and visibility.bias is None


def _trains_bf16_on_cpu(query: Tensor, key: Tensor) -> bool:
    """There the fused kernel's backward pass takes twice as long as that of the plain products."""
    if torch.compiler.is_compiling() or query.device.type != "cpu" or not query.requires_grad:
        return False
    return query.dtype == torch.bfloat16 and query[..., 0].numel() * key.shape[2] <= MAX_STORED_SCORES

"""Attention within the sentences of a packed row, as one GPU kernel: equation 1 of the paper, once more.

    context = softmax(Q K^T / sqrt(d_k)) V   for the keys of the query's own sentence

Vaswani et al. 2017, section 3.2.1; the running softmax, and the backward pass that computes the weights anew from
their logarithmic sums, follow Dao et al. 2022 (algorithms 1 and 4). Each program takes a block of neighbouring queries
with all the keys that any of them may see. Sentences are short, so a block holds several of them and needs little more
than its own width of keys: kernels that take one sentence at a time leave most of the same matrix unit empty.

Differs from the paper: nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

BLOCK = 64
"""neighbouring places that a program computes"""
FORWARD_TILE = 64
BACKWARD_TILE = 32
"""places of the other side that it reads at a time"""
WARPS = 4
STAGES = 3
LOG2_E = 1.4426950408889634
"""the kernels raise 2, not e, to a power"""


@triton.jit  # type: ignore[untyped-decorator]
def _forward(  # type: ignore[no-untyped-def]
    query, key, value, context, log_sum, first_key, last_key,
    query_token, query_head, key_token, key_head, value_token, value_head,
    num_queries, scale,
    HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    features = tl.arange(0, HEAD_DIM)
    inside = rows < num_queries
    first = tl.load(first_key + rows, mask=inside, other=0)
    last = tl.load(last_key + rows, mask=inside, other=0)
    begin = tl.load(first_key + tl.program_id(0) * BLOCK)
    end = tl.max(last, 0)
    q = tl.load(query + rows[:, None] * query_token + head * query_head + features[None, :], inside[:, None], 0.0)
    highest = tl.full([BLOCK], -1e30, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    mixed = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
    for start in range(begin, end, TILE):
        columns = start + tl.arange(0, TILE)
        there = columns < end
        k = tl.load(key + columns[None, :] * key_token + head * key_head + features[:, None], there[None, :], 0.0)
        v = tl.load(value + columns[:, None] * value_token + head * value_head + features[None, :], there[:, None], 0.0)
        visible = (columns[None, :] >= first[:, None]) & (columns[None, :] < last[:, None])
        scores = tl.where(visible, tl.dot(q, k) * scale, -1e30)
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.where(visible, tl.exp2(scores - higher[:, None]), 0.0)
        shrink = tl.exp2(highest - higher)
        total = total * shrink + tl.sum(weights, 1)
        mixed = mixed * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        highest = higher
    mixed = mixed / tl.where(inside, total, 1.0)[:, None]
    places = (rows[:, None] * tl.num_programs(1) + head) * HEAD_DIM + features[None, :]
    tl.store(context + places, mixed.to(context.dtype.element_ty), mask=inside[:, None])
    tl.store(log_sum + head * num_queries + rows, highest + tl.log2(total), mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _backward(  # type: ignore[no-untyped-def]
    query, key, value, context, log_sum, gradient, d_query, d_key, d_value,
    first_key, last_key, first_query, last_query,
    query_token, query_head, key_token, key_head, value_token, value_head,
    d_query_token, d_key_token, d_value_token,
    num_queries, num_keys, scale, plain_scale, num_query_blocks,
    HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    head, num_heads = tl.program_id(1), tl.num_programs(1)
    features = tl.arange(0, HEAD_DIM)
    if tl.program_id(0) < num_query_blocks:
        # The gradient of a block of queries: over the keys they saw.
        rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = rows < num_queries
        first = tl.load(first_key + rows, mask=inside, other=0)
        last = tl.load(last_key + rows, mask=inside, other=0)
        begin = tl.load(first_key + tl.program_id(0) * BLOCK)
        end = tl.max(last, 0)
        q = tl.load(query + rows[:, None] * query_token + head * query_head + features[None, :], inside[:, None], 0.0)
        places = (rows[:, None] * num_heads + head) * HEAD_DIM + features[None, :]
        given = tl.load(gradient + places, mask=inside[:, None], other=0.0)
        mixed = tl.load(context + places, mask=inside[:, None], other=0.0)
        sums = tl.load(log_sum + head * num_queries + rows, mask=inside, other=0.0)
        along = tl.sum(given.to(tl.float32) * mixed.to(tl.float32), 1)
        d_q = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
        for start in range(begin, end, TILE):
            columns = start + tl.arange(0, TILE)
            there = columns < end
            k = tl.load(key + columns[:, None] * key_token + head * key_head + features[None, :], there[:, None], 0.0)
            v = tl.load(
                value + columns[None, :] * value_token + head * value_head + features[:, None], there[None, :], 0.0
            )
            visible = (columns[None, :] >= first[:, None]) & (columns[None, :] < last[:, None])
            scores = tl.dot(q, tl.trans(k)) * scale
            weights = tl.where(visible, tl.exp2(scores - sums[:, None]), 0.0)
            d_scores = weights * (tl.dot(given, v) - along[:, None])
            d_q += tl.dot(d_scores.to(k.dtype), k)
        places = rows[:, None] * d_query_token + head * HEAD_DIM + features[None, :]
        tl.store(d_query + places, (d_q * plain_scale).to(d_query.dtype.element_ty), mask=inside[:, None])
    else:
        # The gradients of a block of keys and values: over the queries that saw them.
        block = tl.program_id(0) - num_query_blocks
        columns = block * BLOCK + tl.arange(0, BLOCK)
        there = columns < num_keys
        first = tl.load(first_query + columns, mask=there, other=0)
        last = tl.load(last_query + columns, mask=there, other=0)
        begin = tl.load(first_query + block * BLOCK)
        end = tl.max(last, 0)
        k = tl.load(key + columns[:, None] * key_token + head * key_head + features[None, :], there[:, None], 0.0)
        v = tl.load(value + columns[:, None] * value_token + head * value_head + features[None, :], there[:, None], 0.0)
        d_k = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
        d_v = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
        for start in range(begin, end, TILE):
            rows = start + tl.arange(0, TILE)
            inside = rows < end
            q = tl.load(
                query + rows[:, None] * query_token + head * query_head + features[None, :], inside[:, None], 0.0
            )
            places = (rows[:, None] * num_heads + head) * HEAD_DIM + features[None, :]
            given = tl.load(gradient + places, mask=inside[:, None], other=0.0)
            mixed = tl.load(context + places, mask=inside[:, None], other=0.0)
            sums = tl.load(log_sum + head * num_queries + rows, mask=inside, other=0.0)
            along = tl.sum(given.to(tl.float32) * mixed.to(tl.float32), 1)
            visible = (rows[None, :] >= first[:, None]) & (rows[None, :] < last[:, None])
            scores = tl.dot(k, tl.trans(q)) * scale
            weights = tl.where(visible, tl.exp2(scores - sums[None, :]), 0.0)
            d_v += tl.dot(weights.to(given.dtype), given)
            d_scores = weights * (tl.dot(v, tl.trans(given)) - along[None, :])
            d_k += tl.dot(d_scores.to(q.dtype), q)
        places = columns[:, None] * d_key_token + head * HEAD_DIM + features[None, :]
        tl.store(d_key + places, (d_k * plain_scale).to(d_key.dtype.element_ty), mask=there[:, None])
        places = columns[:, None] * d_value_token + head * HEAD_DIM + features[None, :]
        tl.store(d_value + places, d_v.to(d_value.dtype.element_ty), mask=there[:, None])


@torch.library.custom_op(
    "regard::packed_attention",
    mutates_args=(),
    schema="(Tensor[] projected, Tensor first_key, Tensor last_key, Tensor first_query, "
    "Tensor last_query) -> (Tensor, Tensor)",
)
def packed_attention(
    projected: Sequence[Float[Tensor, "_ _ heads head_dim"]],
    first_key: Int[Tensor, " queries"],
    last_key: Int[Tensor, " queries"],
    first_query: Int[Tensor, " keys"],
    last_query: Int[Tensor, " keys"],
) -> tuple[Float[Tensor, "queries heads head_dim"], Float[Tensor, "heads queries"]]:
    """The context, and the logarithm (to base 2) of each query's sum over its keys.

    projected: queries, keys and values, some of them side by side in one tensor: their gradients then come in one as
    well, and nothing has to be put together again. Query `i` sees the keys from `first_key[i]` up to and without
    `last_key[i]`; the other two say the same the other way round. None of the four ever falls.
    """
    query, key, value = _separate(projected)
    num_queries, num_heads, head_dim = query.shape
    context, log_sum = _empty_outputs(projected)
    _forward[(triton.cdiv(num_queries, BLOCK), num_heads)](
        query, key, value, context, log_sum, first_key, last_key,
        *query.stride()[:2], *key.stride()[:2], *value.stride()[:2],
        num_queries, head_dim**-0.5 * LOG2_E,
        HEAD_DIM=head_dim, BLOCK=BLOCK, TILE=FORWARD_TILE, num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return context, log_sum


def _separate(projected: Sequence[Tensor]) -> list[Tensor]:
    return [part for tensor in projected for part in tensor.unbind(1)]


@packed_attention.register_fake
def _empty_outputs(projected: Sequence[Tensor], *_: Tensor) -> tuple[Tensor, Tensor]:
    num_queries, num_heads, head_dim = projected[0][:, 0].shape
    return (
        projected[0].new_empty(num_queries, num_heads, head_dim),
        projected[0].new_empty(num_heads, num_queries, dtype=torch.float32),
    )


@torch.library.custom_op(
    "regard::packed_attention_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor[] projected, Tensor context, Tensor log_sum, Tensor first_key, "
    "Tensor last_key, Tensor first_query, Tensor last_query) -> Tensor[]",
)
def packed_attention_backward(
    gradient: Tensor,
    projected: Sequence[Tensor],
    context: Tensor,
    log_sum: Tensor,
    first_key: Tensor,
    last_key: Tensor,
    first_query: Tensor,
    last_query: Tensor,
) -> list[Tensor]:
    """The gradients of what was projected, given that of the context."""
    query, key, value = _separate(projected)
    num_queries, num_heads, head_dim = query.shape
    num_keys = len(key)
    gradients = _empty_gradients(gradient, projected)
    d_query, d_key, d_value = _separate(gradients)
    num_query_blocks = triton.cdiv(num_queries, BLOCK)
    _backward[(num_query_blocks + triton.cdiv(num_keys, BLOCK), num_heads)](
        query, key, value, context, log_sum, gradient.contiguous(), d_query, d_key, d_value,
        first_key, last_key, first_query, last_query,
        *query.stride()[:2], *key.stride()[:2], *value.stride()[:2],
        d_query.stride(0), d_key.stride(0), d_value.stride(0),
        num_queries, num_keys, head_dim**-0.5 * LOG2_E, head_dim**-0.5, num_query_blocks,
        HEAD_DIM=head_dim, BLOCK=BLOCK, TILE=BACKWARD_TILE, num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return gradients


@packed_attention_backward.register_fake
def _empty_gradients(_: Tensor, projected: Sequence[Tensor], *__: Tensor) -> list[Tensor]:
    return [tensor.new_empty(tensor.shape) for tensor in projected]


def _save_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    projected, *ranges = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.num_projected = len(projected)
    ctx.save_for_backward(*projected, *output, *ranges)


def _gradients(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[list[Tensor] | None, ...]:
    projected = list(ctx.saved_tensors[: ctx.num_projected])
    others = ctx.saved_tensors[ctx.num_projected :]
    return packed_attention_backward(gradient, projected, *others), None, None, None, None


packed_attention.register_autograd(_gradients, setup_context=_save_for_backward)

"""Attention within the sentences of a packed row, as one GPU kernel: equation 1 of the paper, once more.

    context = softmax(Q K^T / sqrt(d_k)) V   for the keys of the query's own sentence

Vaswani et al. 2017, section 3.2.1; the running softmax, and the backward pass that computes the weights
anew from their logarithmic sums, follow Dao et al. 2022 (algorithms 1 and 4). Each program takes a block of
neighbouring queries with all the keys that any of them may see. Sentences are short, so a block holds
several of them and needs little more than its own width of keys: kernels that take one sentence at a time
leave most of the same matrix unit empty.

Differs from the paper: nowhere.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

BLOCK = 64
"""queries, and keys, a program compares at a time"""
WARPS = 4
LOG2_E = 1.4426950408889634
"""the kernels raise 2, not e, to a power"""


@triton.jit  # type: ignore[untyped-decorator]
def _forward(  # type: ignore[no-untyped-def]
    query, key, value, context, log_sum, first_key, last_key,
    query_token, query_head, key_token, key_head, value_token, value_head,
    num_queries, scale,
    HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    features = tl.arange(0, HEAD_DIM)
    inside = rows < num_queries
    first = tl.load(first_key + rows, mask=inside, other=0)
    last = tl.load(last_key + rows, mask=inside, other=0)
    begin = tl.load(first_key + tl.program_id(0) * BLOCK)
    end = tl.max(last, 0)
    q = tl.load(
        query + rows[:, None] * query_token + head * query_head + features[None, :],
        mask=inside[:, None], other=0.0,
    )  # fmt: skip
    highest = tl.full([BLOCK], -1e30, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    mixed = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
    for start in range(begin, end, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        there = columns < end
        k = tl.load(
            key + columns[None, :] * key_token + head * key_head + features[:, None],
            mask=there[None, :], other=0.0,
        )  # fmt: skip
        v = tl.load(
            value + columns[:, None] * value_token + head * value_head + features[None, :],
            mask=there[:, None], other=0.0,
        )  # fmt: skip
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
    num_queries, num_keys, scale, plain_scale, num_query_blocks,
    HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr,
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
        q = tl.load(
            query + rows[:, None] * query_token + head * query_head + features[None, :],
            mask=inside[:, None], other=0.0,
        )  # fmt: skip
        places = (rows[:, None] * num_heads + head) * HEAD_DIM + features[None, :]
        given = tl.load(gradient + places, mask=inside[:, None], other=0.0)
        mixed = tl.load(context + places, mask=inside[:, None], other=0.0)
        sums = tl.load(log_sum + head * num_queries + rows, mask=inside, other=0.0)
        along = tl.sum(given.to(tl.float32) * mixed.to(tl.float32), 1)
        d_q = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
        for start in range(begin, end, BLOCK):
            columns = start + tl.arange(0, BLOCK)
            there = columns < end
            k = tl.load(
                key + columns[:, None] * key_token + head * key_head + features[None, :],
                mask=there[:, None], other=0.0,
            )  # fmt: skip
            v = tl.load(
                value + columns[None, :] * value_token + head * value_head + features[:, None],
                mask=there[None, :], other=0.0,
            )  # fmt: skip
            visible = (columns[None, :] >= first[:, None]) & (columns[None, :] < last[:, None])
            scores = tl.dot(q, tl.trans(k)) * scale
            weights = tl.where(visible, tl.exp2(scores - sums[:, None]), 0.0)
            d_scores = weights * (tl.dot(given, v) - along[:, None])
            d_q += tl.dot(d_scores.to(k.dtype), k)
        tl.store(
            d_query + places, (d_q * plain_scale).to(d_query.dtype.element_ty), mask=inside[:, None]
        )
    else:
        # The gradients of a block of keys and values: over the queries that saw them.
        block = tl.program_id(0) - num_query_blocks
        columns = block * BLOCK + tl.arange(0, BLOCK)
        there = columns < num_keys
        first = tl.load(first_query + columns, mask=there, other=0)
        last = tl.load(last_query + columns, mask=there, other=0)
        begin = tl.load(first_query + block * BLOCK)
        end = tl.max(last, 0)
        k = tl.load(
            key + columns[:, None] * key_token + head * key_head + features[None, :],
            mask=there[:, None], other=0.0,
        )  # fmt: skip
        v = tl.load(
            value + columns[:, None] * value_token + head * value_head + features[None, :],
            mask=there[:, None], other=0.0,
        )  # fmt: skip
        d_k = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
        d_v = tl.zeros([BLOCK, HEAD_DIM], tl.float32)
        for start in range(begin, end, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            inside = rows < end
            q = tl.load(
                query + rows[:, None] * query_token + head * query_head + features[None, :],
                mask=inside[:, None], other=0.0,
            )  # fmt: skip
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
        places = (columns[:, None] * num_heads + head) * HEAD_DIM + features[None, :]
        tl.store(
            d_key + places, (d_k * plain_scale).to(d_key.dtype.element_ty), mask=there[:, None]
        )
        tl.store(d_value + places, d_v.to(d_value.dtype.element_ty), mask=there[:, None])


@torch.library.custom_op(
    "regard::packed_attention",
    mutates_args=(),
    schema="(Tensor query, Tensor key, Tensor value, Tensor first_key, Tensor last_key, "
    "Tensor first_query, Tensor last_query) -> (Tensor, Tensor)",
)
def packed_attention(
    query: Float[Tensor, "queries heads head_dim"],
    key: Float[Tensor, "keys heads head_dim"],
    value: Float[Tensor, "keys heads head_dim"],
    first_key: Int[Tensor, " queries"],
    last_key: Int[Tensor, " queries"],
    first_query: Int[Tensor, " keys"],
    last_query: Int[Tensor, " keys"],
) -> tuple[Float[Tensor, "queries heads head_dim"], Float[Tensor, "heads queries"]]:
    """The context, and the logarithm (to base 2) of each query's sum over its keys.

    Query `i` sees the keys from `first_key[i]` up to and without `last_key[i]`; the other two say the
    same the other way round. All four never fall from one place to the next.
    """
    num_queries, num_heads, head_dim = query.shape
    context, log_sum = _empty_outputs(query)
    _forward[(triton.cdiv(num_queries, BLOCK), num_heads)](
        query, key, value, context, log_sum, first_key, last_key,
        *query.stride()[:2], *key.stride()[:2], *value.stride()[:2],
        num_queries, head_dim**-0.5 * LOG2_E,
        HEAD_DIM=head_dim, BLOCK=BLOCK, num_warps=WARPS,
    )  # fmt: skip
    return context, log_sum


@packed_attention.register_fake
def _empty(query: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
    return _empty_outputs(query)


def _empty_outputs(query: Tensor) -> tuple[Tensor, Tensor]:
    num_queries, num_heads, _ = query.shape
    log_sum = torch.empty(num_heads, num_queries, dtype=torch.float32, device=query.device)
    return torch.empty(query.shape, dtype=query.dtype, device=query.device), log_sum


@torch.library.custom_op(
    "regard::packed_attention_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor context, Tensor log_sum, "
    "Tensor first_key, Tensor last_key, Tensor first_query, Tensor last_query) "
    "-> (Tensor, Tensor, Tensor)",
)
def packed_attention_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,
    log_sum: Tensor,
    *ranges: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, given that of the context."""
    num_queries, num_heads, head_dim = query.shape
    num_keys = len(key)
    gradients = _empty_gradients(gradient, query, key, value)
    num_query_blocks = triton.cdiv(num_queries, BLOCK)
    _backward[(num_query_blocks + triton.cdiv(num_keys, BLOCK), num_heads)](
        query, key, value, context, log_sum, gradient.contiguous(), *gradients, *ranges,
        *query.stride()[:2], *key.stride()[:2], *value.stride()[:2],
        num_queries, num_keys, head_dim**-0.5 * LOG2_E, head_dim**-0.5, num_query_blocks,
        HEAD_DIM=head_dim, BLOCK=BLOCK, num_warps=WARPS,
    )  # fmt: skip
    return gradients


@packed_attention_backward.register_fake
def _empty_gradients(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = (
        torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        for tensor in (query, key, value)
    )
    return query, key, value


def _remember(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(*inputs[:3], *output, *inputs[3:])


def _go_back(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    gradients = packed_attention_backward(gradient, *ctx.saved_tensors)
    return (*gradients, None, None, None, None)


packed_attention.register_autograd(_go_back, setup_context=_remember)

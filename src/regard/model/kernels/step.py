"""The GPU kernels of a decoding step: Add & Norm, rotary positions, and attention of one new word a row.

    LayerNorm(x + Sublayer(x)),   LayerNorm(x) = gain * (x - mean) / sqrt(variance + epsilon) + bias
    (x, y) -> (x cos a - y sin a, x sin a + y cos a)    for each pair of features of a query or key
    Attention(q, K, V) = softmax(q K^T / sqrt(d_k)) V   for a single query q

Vaswani et al. 2017, sections 3.1 and 3.2.1; Ba et al. 2016; Su et al. 2021; the running softmax follows Dao et al.
2022. A step has so few rows that starting a kernel takes longer than its work, so two in one is half the time. A
program of `added_norm` takes one row; the sum is not rounded in between. A program of `turned` takes one head of one
word. A program of `step_attention` takes one head of one row: it writes the row's newest key and value to their place,
and reads as many earlier ones as the row has, wherever their owners wrote them. Padding costs nothing.

Differs from the paper: nowhere.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor, nn

BLOCK = 32
"""keys a program of `step_attention` compares at a time"""
WARPS = 2


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


@triton.jit  # type: ignore[untyped-decorator]
def _turn(  # type: ignore[no-untyped-def]
    x, cos, sin, turned, x_row, x_head, x_place, angle_row, angle_place, HALF: tl.constexpr, BLOCK: tl.constexpr
):
    row, head, place = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    pairs = tl.arange(0, BLOCK)
    there = pairs < HALF
    at = x + row * x_row + head * x_head + place * x_place + 2 * pairs
    even, odd = tl.load(at, there, 0).to(tl.float32), tl.load(at + 1, there, 0).to(tl.float32)
    angle = row * angle_row + place * angle_place + pairs
    cosine, sine = tl.load(cos + angle, there, 0), tl.load(sin + angle, there, 0)
    out = ((row * tl.num_programs(1) + head) * tl.num_programs(2) + place) * 2 * HALF + 2 * pairs
    tl.store(turned + out, (even * cosine - odd * sine).to(turned.dtype.element_ty), there)
    tl.store(turned + out + 1, (even * sine + odd * cosine).to(turned.dtype.element_ty), there)


def turned(
    x: Float[Tensor, "batch heads length head_dim"],
    cos: Float[Tensor, "angles 1 length half"],
    sin: Float[Tensor, "angles 1 length half"],
) -> Float[Tensor, "batch heads length head_dim"]:
    """Each pair of neighbouring features, turned by the angle of its position; one row of angles may serve the batch."""
    assert x.stride(3) == cos.stride(3) == 1 and cos.stride() == sin.stride()
    batch, heads, length, head_dim = x.shape
    found = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    angles = cos.stride(0) if len(cos) > 1 else 0, cos.stride(2)
    half = head_dim // 2
    _turn[(batch, heads, length)](
        x, cos, sin, found, *x.stride()[:3], *angles, half, triton.next_power_of_2(half), num_warps=1
    )
    return found


def fits(query: Tensor) -> bool:
    """Whether the kernel can take heads of this width."""
    head_dim = query.shape[-1]
    return head_dim >= 16 and head_dim & (head_dim - 1) == 0


@triton.jit  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    query, key, value, lengths, owners, sentence, new_key, new_value, context,
    query_row, query_head, key_row, key_head, key_place,
    new_key_row, new_key_head, new_value_row, new_value_head, owners_row,
    scale,
    GROUP: tl.constexpr, WINDOW: tl.constexpr, NUM_BEAMS: tl.constexpr, HAS_NEW: tl.constexpr, HAS_OWNERS: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    features = tl.arange(0, HEAD_DIM)
    q = tl.load(query + row * query_row + head * query_head + features).to(tl.float32) * scale
    shared = head // GROUP  # heads that share their keys all write the same newest one
    first = 0
    if HAS_NEW:
        home = row
        length = tl.load(lengths + row).to(tl.int32)
        newest_key = tl.load(new_key + row * new_key_row + shared * new_key_head + features)
        newest_value = tl.load(new_value + row * new_value_row + shared * new_value_head + features)
        place = row * key_row + shared * key_head + length * key_place + features
        tl.store(key + place, newest_key)
        tl.store(value + place, newest_value)
        highest = tl.sum(q * newest_key.to(tl.float32), 0)
        total = 1.0
        mixed = newest_value.to(tl.float32)
        if WINDOW:
            first = tl.maximum(length + 1 - WINDOW, 0)
    else:
        home = tl.load(sentence + row // NUM_BEAMS).to(tl.int64)
        length = tl.load(lengths + home).to(tl.int32)
        highest = -1e30
        total = 0.0
        mixed = tl.zeros([HEAD_DIM], tl.float32)
    for start in range(first, length, BLOCK):
        places = start + tl.arange(0, BLOCK)
        there = places < length
        if HAS_OWNERS:
            holders = tl.load(owners + row * owners_row + places, mask=there, other=0).to(tl.int64)
        else:
            holders = home + tl.zeros([BLOCK], tl.int64)
        at = (holders * key_row + shared * key_head + places * key_place)[:, None] + features[None, :]
        k = tl.load(key + at, mask=there[:, None], other=0.0).to(tl.float32)
        v = tl.load(value + at, mask=there[:, None], other=0.0).to(tl.float32)
        scores = tl.where(there, tl.sum(k * q[None, :], 1), -1e30)
        higher = tl.maximum(highest, tl.max(scores, 0))
        weights = tl.where(there, tl.exp(scores - higher), 0.0)
        shrink = tl.exp(highest - higher)
        total = total * shrink + tl.sum(weights, 0)
        mixed = mixed * shrink + tl.sum(v * weights[:, None], 0)
        highest = higher
    out = (row * tl.num_programs(1) + head) * HEAD_DIM + features
    tl.store(context + out, (mixed / total).to(context.dtype.element_ty))


def step_attention(
    query: Float[Tensor, "rows heads 1 head_dim"],
    key: Float[Tensor, "homes key_heads key_len head_dim"],
    value: Float[Tensor, "homes key_heads key_len head_dim"],
    lengths: Int[Tensor, " homes"],
    *,
    owners: Int[Tensor, "rows key_len"] | None = None,
    sentence: Int[Tensor, " slots"] | None = None,
    new: tuple[Tensor, Tensor] | None = None,
    window: int | None = None,
) -> Float[Tensor, "rows heads 1 head_dim"]:
    """The context of each row.

    With `new`, a row's own earlier words, of which there are `lengths`, and the newest, which is written
    behind them, or as many of the last as fill a window; otherwise the sentence of the row's slot. Neighbouring heads
    share keys and values where these have fewer heads.
    """
    num_rows, num_heads, _, head_dim = query.shape
    assert key.stride() == value.stride() and key.stride(3) == query.stride(3) == 1
    assert (new is None) != (sentence is None)
    new_key, new_value = (key, value) if new is None else new
    assert new_key.stride(3) == new_value.stride(3) == 1
    context = torch.empty((num_rows, 1, num_heads, head_dim), dtype=query.dtype, device=query.device)
    _attend[(num_rows, num_heads)](
        query, key, value, lengths,
        lengths if owners is None else owners,
        lengths if sentence is None else sentence,
        new_key, new_value, context,
        *query.stride()[:2], *key.stride()[:3],
        *new_key.stride()[:2], *new_value.stride()[:2],
        0 if owners is None else owners.stride(0),
        head_dim**-0.5,
        GROUP=num_heads // key.shape[1], WINDOW=window or 0,
        NUM_BEAMS=1 if sentence is None else num_rows // len(sentence),
        HAS_NEW=new is not None, HAS_OWNERS=owners is not None,
        HEAD_DIM=head_dim, BLOCK=BLOCK, num_warps=WARPS,
    )  # fmt: skip
    return context.transpose(1, 2)

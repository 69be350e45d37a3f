"""Scaled dot-product attention and multi-head attention: Figure 2 of the paper.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                               (equation 1)
    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O,   head_i = Attention(Q W_i, K W_i, V W_i)

Vaswani et al. 2017, sections 3.2.1 to 3.2.3. The decoder gives the queries of the cross-attention, the
encoder its keys and values. A key that may not be seen gets the score minus infinity before the softmax,
so that its weight is exactly zero.

`written_out` is the formula as drawn; `fused` and `packed` are kernels that give the same result faster.

Differs from the paper: the four projections carry a bias, as in the authors' own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.config import ModelConfig
from regard.model.layout import Visibility
from regard.model.linear import Linear, linear
from regard.model.norm import SubLayer
from regard.model.position import Rotation, rotate
from regard.trace import Trace, keep

if torch.version.cuda is not None:
    # It brings the compiler with it, two seconds that a build for the CPU need not spend.
    from torch.nn.attention.varlen import varlen_attn

    from regard.model.packed_attention import packed_attention

# Without cuDNN's, which plans anew for every shape, a tenth of a second each: sentences vary in length.
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


KERNEL_HEAD_DIMS = (16, 32, 64, 128)
"""what our own kernel for packed rows takes; torch's takes the others"""
MOST_SCORES = 1 << 24
"""that one attention may hold for the backward pass, where a kernel would hold none"""


@runtime_checkable
class Seen(Protocol):
    """What is attended to, wherever it is kept; see also `regard.model.static`."""

    def followed_by(self, new: KeyValue) -> Seen:
        """The same with newer words behind it."""

    def attended_by(
        self,
        query: Float[Tensor, "batch heads query_len head_dim"],
        visibility: Visibility | None,
        trace: Trace | None,
    ) -> Float[Tensor, "batch heads query_len head_dim"]:
        """Equation 1."""


class KeyValue(NamedTuple):
    """What is attended to: the keys that are compared with, and the values that are mixed."""

    key: Float[Tensor, "batch heads key_len head_dim"]
    value: Float[Tensor, "batch heads key_len head_dim"]

    def followed_by(self, new: KeyValue) -> KeyValue:
        return KeyValue(
            torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2)
        )

    def attended_by(
        self,
        query: Float[Tensor, "batch heads query_len head_dim"],
        visibility: Visibility | None,
        trace: Trace | None,
    ) -> Float[Tensor, "batch heads query_len head_dim"]:
        key, value = keep(trace, "key", self.key), keep(trace, "value", self.value)
        return attend(query, key, value, visibility, trace)

    def select(self, rows: Tensor) -> KeyValue:
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))


def written_out(
    query: Float[Tensor, "batch heads query_len head_dim"],
    key: Float[Tensor, "batch heads key_len head_dim"],
    value: Float[Tensor, "batch heads key_len head_dim"],
    visibility: Visibility | None,
    trace: Trace | None = None,
) -> Float[Tensor, "batch heads query_len head_dim"]:
    """Equation 1, step by step. Without a visibility every key may be seen."""
    scores = keep(trace, "scores", query @ key.transpose(-2, -1))
    scaled = keep(trace, "scaled", scores * query.shape[-1] ** -0.5)
    masked = scaled
    if visibility is not None and visibility.bias is not None:
        masked = scaled + visibility.bias
    if visibility is not None:
        masked = masked.masked_fill(~visibility.may_attend(), float("-inf"))
    masked = keep(trace, "masked", masked)
    weights = keep(trace, "weights", masked.softmax(dim=-1))
    return keep(trace, "context", weights @ value)


def fused(
    query: Float[Tensor, "batch heads query_len head_dim"],
    key: Float[Tensor, "batch heads key_len head_dim"],
    value: Float[Tensor, "batch heads key_len head_dim"],
    visibility: Visibility | None,
) -> Float[Tensor, "batch heads query_len head_dim"]:
    """The same in one call of `scaled_dot_product_attention`."""
    # Padding stands last, so a word that cannot see the future cannot see padding either.
    causal = visibility is not None and visibility.causal and not visibility.query.is_packed
    causal = causal and visibility is not None and visibility.bias is None
    mask = None if visibility is None or causal else visibility.mask()
    if mask is not None and mask.is_floating_point():
        mask = mask.to(query.dtype)
    with sdpa_kernel(BACKENDS):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)


def packed(
    projected: Sequence[Float[Tensor, "_ _ heads head_dim"]], visibility: Visibility
) -> Float[Tensor, "query_len heads head_dim"]:
    """The same for packed rows on a GPU: each sentence attends within its own boundaries only.

    projected: queries, keys and values in this order, side by side in as many tensors as they came in.
    """
    if projected[0].shape[-1] in KERNEL_HEAD_DIMS:
        ranges = (*visibility.key_ranges(), *visibility.query_ranges())
        return packed_attention(projected, *ranges)[0]
    boundaries = visibility.query.boundaries
    assert boundaries is not None
    query, key, value = (part for tensor in projected for part in tensor.unbind(1))
    context = varlen_attn(
        query,
        key,
        value,
        boundaries,
        visibility.key.boundaries,
        visibility.query.longest,
        visibility.key.longest,
        window_size=(-1, 0) if visibility.causal else (-1, -1),
    )
    assert isinstance(context, Tensor)
    return context


def takes_packed(projected: Tensor, visibility: Visibility | None) -> bool:
    """Whether `packed` is the kernel for these."""
    narrow = projected.is_cuda and projected.dtype in (torch.bfloat16, torch.float16)
    if visibility is None or visibility.bias is not None:
        return False
    return narrow and visibility.query.is_packed


def _trains_narrow(query: Tensor, key: Tensor) -> bool:
    """In bf16 on a processor the kernel's backward pass takes twice as long as that of the plain products."""
    if torch.compiler.is_compiling() or query.device.type != "cpu" or not query.requires_grad:
        return False
    return query.dtype == torch.bfloat16 and query[..., 0].numel() * key.shape[2] <= MOST_SCORES


def attend(
    query: Float[Tensor, "batch heads query_len head_dim"],
    key: Float[Tensor, "batch heads key_len head_dim"],
    value: Float[Tensor, "batch heads key_len head_dim"],
    visibility: Visibility | None = None,
    trace: Trace | None = None,
) -> Float[Tensor, "batch heads query_len head_dim"]:
    """Equation 1 by the fastest kernel that fits; written out when someone is looking."""
    # For a single query the plain products are as fast as any kernel.
    if trace is not None or query.shape[2] == 1 or _trains_narrow(query, key):
        return written_out(query, key, value, visibility, trace)
    if visibility is not None and takes_packed(query, visibility):
        by_token = [tensor.transpose(1, 2).transpose(0, 1) for tensor in (query, key, value)]
        return packed(by_token, visibility).transpose(0, 1)[None]
    return fused(query, key, value, visibility)


def together(
    x: Float[Tensor, "batch length d_model"], maps: Sequence[nn.Linear]
) -> Float[Tensor, "batch length features"]:
    """Several linear maps of the same vectors as one wide product, which keeps a processor busier."""
    if x.shape[1] == 1:
        # For a single word, laying the weights side by side would cost as much as the product.
        return torch.cat([each(x) for each in maps], dim=-1)
    weight, bias = (
        torch.cat([getattr(each, name) for each in maps]) for name in ("weight", "bias")
    )
    return linear(x, weight, bias)


class MultiHeadAttention(SubLayer):
    """The orange boxes of Figure 1, with the Add & Norm above each."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__(config, dropout)
        self.num_heads = config.num_heads
        self.query = Linear(config.d_model, config.d_attention)
        self.key = Linear(config.d_model, config.d_attention)
        self.value = Linear(config.d_model, config.d_attention)
        self.output = Linear(config.d_attention, config.d_model)
        self.joined: nn.Linear | None = None

    def join(self) -> None:
        """Lay query, key and value side by side once, for weights that will not change any more."""
        maps = [self.query, self.key, self.value]
        joined = nn.Linear(maps[0].in_features, 3 * maps[0].out_features).to(maps[0].weight)
        with torch.no_grad():
            joined.weight.copy_(torch.cat([linear.weight for linear in maps]))
            joined.bias.copy_(torch.cat([linear.bias for linear in maps]))
        self.joined = joined

    def forward(
        self,
        x: Float[Tensor, "batch query_len d_model"],
        visibility: Visibility | None = None,
        *,
        past: Seen | None = None,
        rotation: Rotation | None = None,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "batch query_len d_model"], Seen]:
        """Self-attention: the words attend to one another, and to the `past` words before them."""
        layout = None if visibility is None else visibility.query
        inputs = self.before(x, layout, trace)
        if self.joined is None:
            projected = together(inputs, [self.query, self.key, self.value])
        else:
            projected = self.joined(inputs)
        query, key, value = map(self.split_heads, projected.chunk(3, dim=-1))
        if trace is None and rotation is None and past is None and visibility is not None:
            if takes_packed(projected, visibility):
                side_by_side = projected.flatten(0, 1).unflatten(-1, (3, self.num_heads, -1))
                context = packed([side_by_side], visibility)
                output = self.output(context.flatten(1)[None])
                return self.after(x, output, layout, trace), KeyValue(key, value)
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        query = keep(trace, "query", query)
        new = KeyValue(key, value)
        present: Seen = new if past is None else past.followed_by(new)
        return self._mix(x, query, present, visibility, trace), present

    def across(
        self,
        x: Float[Tensor, "batch query_len d_model"],
        remembered: Seen,
        visibility: Visibility | None = None,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch query_len d_model"]:
        """Cross-attention: the words attend to what was `remembered` of the other sentence."""
        layout = None if visibility is None else visibility.query
        inputs = self.before(x, layout, trace)
        query = keep(trace, "query", self.split_heads(self.query(inputs)))
        return self._mix(x, query, remembered, visibility, trace)

    def _mix(
        self,
        x: Float[Tensor, "batch query_len d_model"],
        query: Float[Tensor, "batch heads query_len head_dim"],
        seen: Seen,
        visibility: Visibility | None,
        trace: Trace | None,
    ) -> Float[Tensor, "batch query_len d_model"]:
        context = seen.attended_by(query, visibility, trace)
        concatenated = keep(trace, "concatenated", context.transpose(1, 2).flatten(2))
        output = keep(trace, "output", self.output(concatenated))
        layout = None if visibility is None else visibility.query
        return self.after(x, output, layout, trace)

    def split_heads(
        self, x: Float[Tensor, "batch length d_attention"]
    ) -> Float[Tensor, "batch heads length head_dim"]:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

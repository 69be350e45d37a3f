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
from typing import NamedTuple, Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.config import ModelConfig
from regard.model.layout import Visibility
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
    if visibility is not None:
        masked = scaled.masked_fill(~visibility.may_attend(), float("-inf"))
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
    mask = None if visibility is None or causal else visibility.may_attend()
    with sdpa_kernel(BACKENDS):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)


def packed(
    query: Float[Tensor, "1 heads query_len head_dim"],
    key: Float[Tensor, "1 heads key_len head_dim"],
    value: Float[Tensor, "1 heads key_len head_dim"],
    visibility: Visibility,
) -> Float[Tensor, "1 heads query_len head_dim"]:
    """The same for packed rows on a GPU: each sentence attends within its own boundaries only."""
    boundaries = visibility.query.boundaries
    assert boundaries is not None
    query, key, value = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    if query.shape[-1] in KERNEL_HEAD_DIMS:
        ranges = (*visibility.key_ranges(), *visibility.query_ranges())
        return packed_attention(query, key, value, *ranges)[0].transpose(0, 1)[None]
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
    return context.transpose(0, 1)[None]


def attend(
    query: Float[Tensor, "batch heads query_len head_dim"],
    key: Float[Tensor, "batch heads key_len head_dim"],
    value: Float[Tensor, "batch heads key_len head_dim"],
    visibility: Visibility | None = None,
    trace: Trace | None = None,
) -> Float[Tensor, "batch heads query_len head_dim"]:
    """Equation 1 by the fastest kernel that fits; written out when someone is looking."""
    if trace is not None or query.shape[2] == 1:
        # For a single query the plain products are as fast as any kernel.
        return written_out(query, key, value, visibility, trace)
    if visibility is not None and visibility.query.is_packed:
        if query.is_cuda and query.dtype in (torch.bfloat16, torch.float16):
            return packed(query, key, value, visibility)
    return fused(query, key, value, visibility)


def together(
    x: Float[Tensor, "batch length d_model"], maps: Sequence[nn.Linear]
) -> Sequence[Float[Tensor, "batch length features"]]:
    """Several linear maps of the same vectors as one wide product, which keeps a processor busier."""
    if x.shape[1] == 1:
        # For a single word, laying the weights side by side would cost as much as the product.
        return [linear(x) for linear in maps]
    weight, bias = (
        torch.cat([getattr(linear, name) for linear in maps]) for name in ("weight", "bias")
    )
    return F.linear(x, weight, bias).chunk(len(maps), dim=-1)


class MultiHeadAttention(SubLayer):
    """The orange boxes of Figure 1, with the Add & Norm above each."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__(config, dropout)
        self.num_heads = config.num_heads
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.output = nn.Linear(config.d_model, config.d_model)

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
        inputs = self.before(x, trace)
        query, key, value = map(
            self.split_heads, together(inputs, [self.query, self.key, self.value])
        )
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        query = keep(trace, "query", query)
        present: Seen = KeyValue(key, value)
        if past is not None:
            present = past.followed_by(present)
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
        query = keep(trace, "query", self.split_heads(self.query(self.before(x, trace))))
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
        return self.after(x, output, trace)

    def split_heads(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch heads length head_dim"]:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

"""Scaled dot-product attention and multi-head attention: Figure 2 of the paper.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                               (equation 1)
    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O,   head_i = Attention(Q W_i, K W_i, V W_i)

Vaswani et al. 2017, sections 3.2.1 to 3.2.3. The decoder gives the queries of the cross-attention, the
encoder its keys and values. A key that may not be seen gets the score minus infinity before the softmax,
so that its weight is exactly zero.

`written_out` is the formula as drawn; `regard.model.kernels.attention` computes the same faster.

Differs from the paper: the four projections carry a bias, as in the authors' own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.kernels.attention import fastest, packed, takes_packed
from regard.model.layout import Visibility
from regard.model.linear import Linear, linear
from regard.model.norm import AddAndNorm
from regard.model.position import Rotation, rotate
from regard.trace import Trace, keep


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
        masked = scaled if visibility.bias is None else scaled + visibility.bias
        masked = masked.masked_fill(~visibility.may_attend(), float("-inf"))
    masked = keep(trace, "masked", masked)
    weights = keep(trace, "weights", masked.softmax(dim=-1))
    return keep(trace, "context", weights @ value)


def attention(
    query: Float[Tensor, "batch heads query_len head_dim"],
    key: Float[Tensor, "batch heads key_len head_dim"],
    value: Float[Tensor, "batch heads key_len head_dim"],
    visibility: Visibility | None = None,
    trace: Trace | None = None,
) -> Float[Tensor, "batch heads query_len head_dim"]:
    """Equation 1 by the fastest kernel; written out when there is a trace."""
    heads = None if trace is not None else fastest(query, key, value, visibility)
    return written_out(query, key, value, visibility, trace) if heads is None else heads


@runtime_checkable
class KeyValueCache(Protocol):
    """The keys and values to attend to, wherever they are stored; see also `regard.model.static_cache`."""

    def append(self, new: KeyValue) -> KeyValueCache:
        """The cache with the keys and values of newer words at its end."""

    def attend(
        self, query: Float[Tensor, "batch heads query_len head_dim"], visibility: Visibility | None, trace: Trace | None
    ) -> Float[Tensor, "batch heads query_len head_dim"]:
        """Equation 1."""


class KeyValue(NamedTuple):
    """Keys and values as plain tensors: a cache that is copied when it grows."""

    key: Float[Tensor, "batch heads key_len head_dim"]
    value: Float[Tensor, "batch heads key_len head_dim"]

    def append(self, new: KeyValue) -> KeyValue:
        return KeyValue(torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2))

    def attend(
        self, query: Float[Tensor, "batch heads query_len head_dim"], visibility: Visibility | None, trace: Trace | None
    ) -> Float[Tensor, "batch heads query_len head_dim"]:
        key, value = keep(trace, "key", self.key), keep(trace, "value", self.value)
        return attention(query, key, value, visibility, trace)

    def select(self, rows: Tensor) -> KeyValue:
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))


class MultiHeadAttention(AddAndNorm):
    """The orange boxes of Figure 1, with the Add & Norm above each."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__(config, dropout)
        self.num_heads = config.num_heads
        self.query = Linear(config.d_model, config.d_attention)
        self.key = Linear(config.d_model, config.d_attention)
        self.value = Linear(config.d_model, config.d_attention)
        self.output = Linear(config.d_attention, config.d_model)
        self.joined: nn.Linear | None = None

    def forward(
        self,
        x: Float[Tensor, "batch query_len d_model"],
        visibility: Visibility | None = None,
        *,
        past: KeyValueCache | None = None,
        rotation: Rotation | None = None,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "batch query_len d_model"], KeyValueCache]:
        """Self-attention, MultiHead(x, x, x): each word attends to all words here and in the `past`."""
        inputs = self.norm_input(x, trace)
        # Queries, keys and values side by side.
        projected = self.joined(inputs) if self.joined else fused_linear(inputs, [self.query, self.key, self.value])
        query, key, value = map(self.split_heads, projected.chunk(3, dim=-1))
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        query = keep(trace, "query", query)
        new = KeyValue(key, value)
        present: KeyValueCache = new if past is None else past.append(new)
        is_plain = trace is None and rotation is None and past is None
        heads = self._attend_packed(projected, visibility) if is_plain else None
        if heads is None:
            heads = present.attend(query, visibility, trace)
        return self.add_and_norm(x, self.concatenate(heads, trace), trace), present

    def cross_attend(
        self,
        x: Float[Tensor, "batch query_len d_model"],
        memory: KeyValueCache,
        visibility: Visibility | None = None,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch query_len d_model"]:
        """Cross-attention, MultiHead(x, memory, memory): the words attend to the other sentence."""
        query = self.split_heads(self.query(self.norm_input(x, trace)))
        heads = memory.attend(keep(trace, "query", query), visibility, trace)
        return self.add_and_norm(x, self.concatenate(heads, trace), trace)

    def split_heads(self, x: Float[Tensor, "batch length d_attention"]) -> Float[Tensor, "batch heads length head_dim"]:
        """Q W_i, K W_i or V W_i of every head i, from the product with all heads' weights."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def concatenate(
        self, heads: Float[Tensor, "batch heads length head_dim"], trace: Trace | None
    ) -> Float[Tensor, "batch length d_model"]:
        """Concat(head_1, ..., head_h) W_O."""
        concatenated = keep(trace, "concatenated", heads.transpose(1, 2).flatten(2))
        return keep(trace, "output", self.output(concatenated))

    def join(self) -> None:
        """Store the weights of query, key and value side by side, once they no longer change."""
        maps = [self.query, self.key, self.value]
        joined = nn.Linear(maps[0].in_features, 3 * maps[0].out_features).to(maps[0].weight)
        with torch.no_grad():
            joined.weight.copy_(torch.cat([linear.weight for linear in maps]))
            joined.bias.copy_(torch.cat([linear.bias for linear in maps]))
        self.joined = joined

    def _attend_packed(
        self, projected: Float[Tensor, "batch length features"], visibility: Visibility | None
    ) -> Float[Tensor, "batch heads length head_dim"] | None:
        """Equation 1 without taking queries, keys and values apart, where a kernel can; else None."""
        if visibility is None or not takes_packed(projected, visibility):
            return None
        side_by_side = projected.flatten(0, 1).unflatten(-1, (3, self.num_heads, -1))
        return packed([side_by_side], visibility).transpose(0, 1)[None]


def fused_linear(
    x: Float[Tensor, "batch length d_model"], maps: Sequence[nn.Linear]
) -> Float[Tensor, "batch length features"]:
    """Several linear maps of the same vectors as one wide product, which keeps a processor busier."""
    if x.shape[1] == 1:
        # For a single word, laying the weights side by side would cost as much as the product.
        return torch.cat([each(x) for each in maps], dim=-1)
    weight, bias = (torch.cat([getattr(each, name) for each in maps]) for name in ("weight", "bias"))
    return linear(x, weight, bias)

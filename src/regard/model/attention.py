"""Scaled dot-product attention and multi-head attention: Figure 2 of the paper.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                               (equation 1)
    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O,   head_i = Attention(Q W_i, K W_i, V W_i)

Vaswani et al. 2017, sections 3.2.1 to 3.2.3. The decoder gives the queries of the cross-attention, the
encoder its keys and values. A key that may not be seen gets the score minus infinity before the softmax,
so that its weight is exactly zero.

Llama and Qwen have fewer heads of keys and values than of queries: neighbouring heads share one (grouped-query
attention, Ainslie et al. 2023; multi-query with a single one, Shazeer 2019), so that the cache is smaller. Qwen 3
normalises the queries and keys of each head before their product.

`written_out` is the formula as drawn; `regard.model.kernels.attention` computes the same faster.

Differs from the paper: the four projections carry a bias, as in the authors' own code (`biases`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.kernels.attention import fastest, packed, takes_packed
from regard.model.layout import Keys, Queries, Visibility
from regard.model.linear import Linear, linear
from regard.model.norm import AddAndNorm, make_head_norm
from regard.model.position import Rotation, rotate
from regard.trace import Trace, keep


def written_out(
    query: Queries, key: Keys, value: Keys, visibility: Visibility | None, trace: Trace | None = None
) -> Queries:
    """Equation 1, step by step. Without a visibility every key may be seen."""
    shape = query.shape[:3]
    # The queries that share a head of keys are so many rows of one product.
    groups = query.reshape(len(key), key.shape[1], -1, query.shape[3])
    scores = keep(trace, "scores", (groups @ key.transpose(-2, -1)).reshape(*shape, -1))
    scaled = keep(trace, "scaled", scores * query.shape[-1] ** -0.5)
    masked = scaled
    if visibility is not None:
        masked = scaled if visibility.bias is None else scaled + visibility.bias.to(scaled.dtype)
        masked = masked.masked_fill(~visibility.may_attend(), float("-inf"))
    masked = keep(trace, "masked", masked)
    weights = keep(trace, "weights", masked.softmax(dim=-1))
    mixed = weights.reshape(*groups.shape[:3], -1) @ value
    return keep(trace, "context", mixed.reshape(query.shape))


def attention(
    query: Queries, key: Keys, value: Keys, visibility: Visibility | None = None, trace: Trace | None = None
) -> Queries:
    """Equation 1 by the fastest kernel; written out when there is a trace."""
    heads = None if trace is not None else fastest(query, key, value, visibility)
    return written_out(query, key, value, visibility, trace) if heads is None else heads


@runtime_checkable
class KeyValueCache(Protocol):
    """The keys and values to attend to, wherever they are stored; see also `regard.model.static_cache`."""

    def append(self, new: KeyValue) -> KeyValueCache:
        """The cache with the keys and values of newer words at its end."""

    def attend(self, query: Queries, visibility: Visibility | None, trace: Trace | None) -> Queries:
        """Equation 1."""


class KeyValue(NamedTuple):
    """Keys and values as plain tensors: a cache that is copied when it grows."""

    key: Keys
    value: Keys

    def append(self, new: KeyValue) -> KeyValue:
        return KeyValue(torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2))

    def attend(self, query: Queries, visibility: Visibility | None, trace: Trace | None) -> Queries:
        key, value = keep(trace, "key", self.key), keep(trace, "value", self.value)
        return attention(query, key, value, visibility, trace)

    def latest(self, count: int) -> KeyValue:
        """Those of the last words, as many as this."""
        first = max(self.key.shape[2] - count, 0)
        return KeyValue(self.key[:, :, first:], self.value[:, :, first:])

    def select(self, rows: Tensor) -> KeyValue:
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))


class MultiHeadAttention(AddAndNorm):
    """The orange boxes of Figure 1, with the Add & Norm above each."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__(config, dropout)
        self.head_dim = config.head_dim
        has_bias, d_key = config.biases != "none", config.num_key_heads * config.head_dim
        self.query = Linear(config.d_model, config.d_attention, has_bias)
        self.key = Linear(config.d_model, d_key, has_bias)
        self.value = Linear(config.d_model, d_key, has_bias)
        self.output = Linear(config.d_attention, config.d_model, config.biases == "all")
        self.query_norm, self.key_norm = make_head_norm(config), make_head_norm(config)
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
        words = self.norm_input(x, trace)
        output, present = self.multi_head(words, words, words, visibility, past=past, rotation=rotation, trace=trace)
        return self.add_and_norm(x, output, trace), present

    def multi_head(
        self,
        queries: Float[Tensor, "batch query_len d_model"],
        keys: Float[Tensor, "batch key_len d_model"],
        values: Float[Tensor, "batch key_len d_model"],
        visibility: Visibility | None = None,
        *,
        past: KeyValueCache | None = None,
        rotation: Rotation | None = None,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "batch query_len d_model"], KeyValueCache]:
        """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O, where head_i = Attention(Q W_i, K W_i, V W_i).

        The projected keys and values, after those of the `past`, are returned too: later words attend to them.
        """
        query, key, value, joint = self._project(queries, keys, values, rotation)
        query = keep(trace, "query", query)
        new = KeyValue(key, value)
        present: KeyValueCache = new if past is None else past.append(new)
        heads = None
        if joint is not None and visibility is not None and past is None and trace is None:
            heads = self._attend_packed(joint, visibility)
        if heads is None:
            heads = present.attend(query, visibility, trace)
        return self.concatenate(heads, trace), present

    def cross_attend(
        self,
        x: Float[Tensor, "batch query_len d_model"],
        memory: KeyValueCache,
        visibility: Visibility | None = None,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch query_len d_model"]:
        """Cross-attention, MultiHead(x, memory, memory): the words attend to the other sentence.

        The keys and values of the `memory` are projected already, once for all words.
        """
        query = self.split_heads(self.query(self.norm_input(x, trace)))
        heads = memory.attend(keep(trace, "query", query), visibility, trace)
        return self.add_and_norm(x, self.concatenate(heads, trace), trace)

    def split_heads(self, x: Float[Tensor, "batch length d_attention"]) -> Float[Tensor, "batch heads length head_dim"]:
        """Q W_i, K W_i or V W_i of every head i, from the product with all heads' weights."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def concatenate(
        self, heads: Float[Tensor, "batch heads length head_dim"], trace: Trace | None
    ) -> Float[Tensor, "batch length d_model"]:
        """Concat(head_1, ..., head_h) W_O."""
        concatenated = keep(trace, "concatenated", heads.transpose(1, 2).flatten(2))
        return keep(trace, "output", self.output(concatenated))

    def join(self) -> None:
        """Store the weights of query, key and value side by side, once they no longer change."""
        maps = [self.query, self.key, self.value]
        width = sum(linear.out_features for linear in maps)
        self.joined = nn.Linear(maps[0].in_features, width, maps[0].bias is not None).to(maps[0].weight)
        with torch.no_grad():
            for name, parameter in self.joined.named_parameters():
                parameter.copy_(torch.cat([getattr(linear, name) for linear in maps]))

    def _project(
        self,
        queries: Float[Tensor, "batch query_len d_model"],
        keys: Float[Tensor, "batch key_len d_model"],
        values: Float[Tensor, "batch key_len d_model"],
        rotation: Rotation | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Q W_i, K W_i and V W_i of every head; in self-attention also as one tensor, unless norm or rotation follow."""
        maps, joint = [self.query, self.key, self.value], None
        if queries is keys is values:
            joint = self.joined(queries) if self.joined else fused_linear(queries, maps)
            projected = joint.split([linear.out_features for linear in maps], dim=-1)
        else:
            projected = (self.query(queries), self.key(keys), self.value(values))
        query, key, value = map(self.split_heads, projected)
        if self.query_norm is not None and self.key_norm is not None:
            query, key, joint = self.query_norm(query), self.key_norm(key), None
        if rotation is not None:
            query, key, joint = rotate(query, rotation), rotate(key, rotation), None
        return query, key, value, joint if query.shape[1] == key.shape[1] else None

    def _attend_packed(
        self, joint: Float[Tensor, "batch length features"], visibility: Visibility
    ) -> Float[Tensor, "batch heads length head_dim"] | None:
        """Equation 1 without taking queries, keys and values apart, where a kernel can; else None."""
        if not takes_packed(joint, visibility):
            return None
        side_by_side = joint.flatten(0, 1).unflatten(-1, (3, -1, self.head_dim))
        return packed([side_by_side], visibility).transpose(0, 1)[None]


def fused_linear(
    x: Float[Tensor, "batch length d_model"], maps: Sequence[Linear]
) -> Float[Tensor, "batch length features"]:
    """Several linear maps of the same vectors as one wide product, which keeps a processor busier."""
    if x.shape[1] == 1 or maps[0].adapter is not None:
        # For a single word, laying the weights side by side would cost as much as the product.
        return torch.cat([each(x) for each in maps], dim=-1)
    bias = torch.cat([each.bias for each in maps]) if maps[0].bias is not None else None
    return linear(x, torch.cat([each.weight for each in maps]), bias)

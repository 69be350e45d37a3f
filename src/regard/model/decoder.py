"""The decoder: the right half of Figure 1. N layers write the target, each word seeing only those before it.

Vaswani et al. 2017, section 3.1: masked self-attention, attention over the encoder's output, feed-forward.
In training all positions are computed at once under the look-ahead mask; in generation one position at a
time, and a `DecoderState` holds the keys and values of the earlier ones, which never change.

Differs from the paper: nowhere in the default. With pre-norm a last norm closes the stack. A decoder-only
model is the same stack without the cross-attention (Radford et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.attention import KeyValue, KeyValueCache, MultiHeadAttention, fused_linear
from regard.model.encoder import Stack
from regard.model.feedforward import FeedForward
from regard.model.layout import Layout, Visibility
from regard.model.position import Rotation
from regard.trace import Trace, at


@dataclass(frozen=True)
class DecoderState:
    """The decoder's cache between two steps; passed in and returned, never kept on a module."""

    position: int
    """Number of tokens read."""
    past: tuple[KeyValue, ...] | None
    """For each layer, the keys and values of those tokens."""
    memory: tuple[KeyValue, ...] = ()
    """For each layer, the keys and values of the encoder's output; empty in a decoder-only model."""
    source_lengths: Int[Tensor, " batch"] | None = None

    def select(self, rows: Int[Tensor, " chosen"]) -> DecoderState:
        """The state of these rows; a row may be repeated or left out."""
        past = None if self.past is None else tuple(layer.select(rows) for layer in self.past)
        memory = tuple(layer.select(rows) for layer in self.memory)
        lengths = None if self.source_lengths is None else self.source_lengths.index_select(0, rows)
        return replace(self, past=past, memory=memory, source_lengths=lengths)

    @property
    def longest(self) -> int:
        """Upper bound of the positions, the newest token included."""
        return self.position + 1

    def positions_of(self, tokens: Int[Tensor, " batch"]) -> Int[Tensor, " batch"]:
        """The position of each row's newest token."""
        return torch.full_like(tokens, self.position)

    def advanced(self, past: tuple[KeyValueCache, ...], window: int | None, count: int = 1) -> DecoderState:
        """The state after more tokens, given all keys and values so far; a window keeps what the next token sees."""
        kept = cast(tuple[KeyValue, ...], past)
        if window is not None:
            kept = tuple(layer.latest(window - 1) for layer in kept)
        return replace(self, past=kept, position=self.position + count)

    def cross_visibility(self, num_rows: int) -> Visibility | None:
        """Each new word sees its own source sentence, not the padding behind it."""
        if self.source_lengths is None:
            return None
        source_len = self.memory[0].key.shape[2]
        ones = self.source_lengths.new_ones(num_rows)
        return Visibility(Layout.padded(ones, 1), Layout.padded(self.source_lengths, source_len))


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the memory, then feed-forward."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, dropout)
        self.cross_attention = MultiHeadAttention(config, dropout) if config.has_encoder else None
        self.feed_forward = FeedForward(config, dropout)

    def forward(
        self,
        x: Float[Tensor, "batch target_len d_model"],
        visibility: Visibility | None,
        memory: KeyValueCache | None = None,
        cross_visibility: Visibility | None = None,
        *,
        past: KeyValueCache | None = None,
        rotation: Rotation | None = None,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "batch target_len d_model"], KeyValueCache]:
        x, present = self.self_attention(x, visibility, past=past, rotation=rotation, trace=at(trace, "self_attention"))
        if self.cross_attention is not None:
            assert memory is not None
            x = self.cross_attention.cross_attend(x, memory, cross_visibility, trace=at(trace, "cross_attention"))
        return self.feed_forward(x, trace=at(trace, "feed_forward")), present


class Decoder(Stack):
    """The stack of N layers."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        layers = (DecoderLayer(config, dropout) for _ in range(config.num_decoder_layers))
        super().__init__(config, layers, looks_ahead=False)

    def project_memory(self, memory: Float[Tensor, "batch source_len d_model"]) -> tuple[KeyValue, ...]:
        """For each layer, the keys and values of the encoder's output, computed once a sentence."""
        attentions = [cast(DecoderLayer, layer).cross_attention for layer in self.layers]
        crossing = [attention for attention in attentions if attention is not None]
        maps = [linear for attention in crossing for linear in (attention.key, attention.value)]
        split = iter(map(crossing[0].split_heads, fused_linear(memory, maps).chunk(len(maps), dim=-1)))
        return tuple(KeyValue(key, value) for key, value in zip(split, split, strict=True))

    def forward(
        self,
        x: Float[Tensor, "batch target_len d_model"],
        positions: Int[Tensor, "batch target_len"],
        visibility: Visibility | None,
        memory: tuple[KeyValueCache, ...] = (),
        cross_visibility: Visibility | None = None,
        *,
        past: tuple[KeyValueCache, ...] | None = None,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "batch target_len d_model"], tuple[KeyValueCache, ...]]:
        """The new hidden vectors, and for each layer the keys and values of all words so far."""
        visibility, turned = self._place(positions, visibility, trace)
        present = []
        for i, layer in enumerate(self.layers):
            source, earlier = memory[i] if memory else None, None if past is None else past[i]
            here = at(trace, f"layers.{i}")
            x, keys = layer(x, visibility, source, cross_visibility, past=earlier, rotation=turned, trace=here)
            present.append(keys)
        return self._normalised(x, trace), tuple(present)

"""The encoder: the left half of Figure 1. N identical layers read all words of the source at once.

Vaswani et al. 2017, section 3.1.

Differs from the paper: nowhere in the default. With pre-norm a last norm closes the stack, since nothing
else normalises what leaves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import ModelConfig
from regard.model.attention import MultiHeadAttention
from regard.model.feedforward import FeedForward
from regard.model.layout import Layout, Tokens, Visibility, Words
from regard.model.norm import make_norm
from regard.model.position import Rotation, scheme_of
from regard.trace import Trace, at, keep


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, dropout)
        self.feed_forward = FeedForward(config, dropout)

    def forward(
        self, x: Words, visibility: Visibility, rotation: Rotation | None = None, *, trace: Trace | None = None
    ) -> Words:
        x, _ = self.self_attention(x, visibility, rotation=rotation, trace=at(trace, "self_attention"))
        output: Tensor = self.feed_forward(x, trace=at(trace, "feed_forward"))
        return output


class Stack(nn.Module):
    """What encoder and decoder share: N layers, the positions that enter their attention, the last norm."""

    def __init__(self, config: ModelConfig, layers: Iterable[nn.Module], *, looks_ahead: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        _, self.rotated, biased = scheme_of(config)
        self.position_bias = None if biased is None else biased(config, looks_ahead=looks_ahead)
        self.final_norm = make_norm(config) if config.norm_placement == "pre" else None
        self.config = config

    def _place(
        self, positions: Tokens, visibility: Visibility | None, trace: Trace | None
    ) -> tuple[Visibility | None, Rotation | None]:
        """The visibility with the bias of its positions, and the angles of rotary ones, where the model has them."""
        if self.position_bias is not None:
            assert visibility is not None
            bias = self.position_bias(positions, visibility.key.positions())
            visibility = replace(visibility, bias=keep(trace, "position_bias", bias))
        return visibility, None if self.rotated is None else self.rotated(positions, self.config)

    def _normalised(self, x: Words, trace: Trace | None) -> Words:
        return x if self.final_norm is None else keep(trace, "final_norm", self.final_norm(x))


class Encoder(Stack):
    """The stack of N layers."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        layers = (EncoderLayer(config, dropout) for _ in range(config.num_encoder_layers))
        super().__init__(config, layers, looks_ahead=True)

    def forward(self, x: Words, layout: Layout, *, trace: Trace | None = None) -> Words:
        visibility, turned = self._place(layout.positions(), Visibility(layout, layout), trace)
        for i, layer in enumerate(self.layers):
            x = layer(x, visibility, turned, trace=at(trace, f"layers.{i}"))
        return self._normalised(x, trace)


def sentence_vectors(memory: Words, layout: Layout) -> Float[Tensor, "sequences d_model"]:
    """One vector a sentence: the mean of its words' vectors in context, brought to length 1; 0 for an empty one.

    So the dot product of two texts is the cosine of the angle between them. Reimers and Gurevych 2019, section 3,
    found the mean better than the vector of one special token.
    """
    if layout.is_packed:
        numbers = torch.arange(len(layout.lengths), device=memory.device)
        # A matrix product: faster than a sum over rows of unequal length, and compiled better.
        belongs = (layout.sequence_of() == numbers[:, None]).to(memory.dtype)
        total = belongs @ memory[0]
    else:
        inside = layout.positions() < layout.lengths[:, None]
        total = (memory * inside[:, :, None]).sum(dim=1)
    mean = total.float() / layout.lengths.clamp(min=1)[:, None]
    return F.normalize(mean, dim=-1)

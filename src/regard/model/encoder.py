"""The encoder: the left half of Figure 1. N identical layers read all words of the source at once.

Vaswani et al. 2017, section 3.1.

Differs from the paper: nowhere in the default. With pre-norm a last norm closes the stack, since nothing
else normalises what leaves it.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.attention import MultiHeadAttention
from regard.model.feedforward import FeedForward
from regard.model.layout import Visibility
from regard.model.norm import make_norm
from regard.model.position import RelativePositionBias, Rotation
from regard.trace import Trace, at, keep


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, dropout)
        self.feed_forward = FeedForward(config, dropout)

    def forward(
        self,
        x: Float[Tensor, "batch source_len d_model"],
        visibility: Visibility,
        rotation: Rotation | None = None,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch source_len d_model"]:
        x, _ = self.self_attention(
            x, visibility, rotation=rotation, trace=at(trace, "self_attention")
        )
        output: Tensor = self.feed_forward(x, trace=at(trace, "feed_forward"))
        return output


class Encoder(nn.Module):
    """The stack of N layers."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(config, dropout) for _ in range(config.num_encoder_layers)
        )
        self.position_bias = (
            RelativePositionBias(config, looks_ahead=True)
            if config.position == "relative"
            else None
        )
        self.final_norm = make_norm(config) if config.norm_placement == "pre" else None

    def forward(
        self,
        x: Float[Tensor, "batch source_len d_model"],
        visibility: Visibility,
        rotation: Rotation | None = None,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch source_len d_model"]:
        for i, layer in enumerate(self.layers):
            x = layer(x, visibility, rotation, trace=at(trace, f"layers.{i}"))
        if self.final_norm is not None:
            x = keep(trace, "final_norm", self.final_norm(x))
        return x

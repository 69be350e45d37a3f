"""One more map before the output's table: where BERT turns a vector in context into a word.

    transformed = LayerNorm(activation(hidden W + b)),   logits = transformed E^T + output bias

Devlin et al. 2019, whose own code has it; the activation is the feed-forward's.

Differs from the paper of 2017: it has none of this, and neither has the default.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.feedforward import ACTIVATIONS
from regard.model.norm import make_norm
from regard.trace import Trace, keep


class OutputTransform(nn.Module):
    """A linear map, its activation and a norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.hidden = nn.Linear(config.d_model, config.d_model)
        self.activation = ACTIVATIONS[config.feed_forward]
        self.norm = make_norm(config)

    def forward(
        self, x: Float[Tensor, "*batch d_model"], *, trace: Trace | None = None
    ) -> Float[Tensor, "*batch d_model"]:
        hidden = keep(trace, "hidden", self.hidden(x))
        activated = keep(trace, "activated", self.activation(hidden))
        return keep(trace, "norm", self.norm(activated))

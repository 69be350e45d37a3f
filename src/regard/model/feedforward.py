"""The position-wise feed-forward network: the blue boxes of Figure 1.

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                                          (equation 2)

Vaswani et al. 2017, section 3.3: the same two linear maps at every position. GELU (Hendrycks and Gimpel
2016; GPT-2 has its approximation by tanh) or SiLU may replace the ReLU. The gated kinds multiply the
activated vector by a second projection (Shazeer 2020); with SiLU that is SwiGLU, of Llama and Qwen:

    FFN(x) = (SiLU(x W_1) * x V) W_2

Differs from the paper: nowhere in the default.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F

from regard.config import ModelConfig
from regard.config.fields import registered
from regard.model.layout import Words
from regard.model.linear import Linear
from regard.model.norm import AddAndNorm
from regard.trace import Trace, keep

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": functools.partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(AddAndNorm):
    """One feed-forward sub-layer, with the Add & Norm above it."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__(config, dropout)
        self.activation = registered(ACTIVATIONS, "feed_forward", config.feed_forward.removeprefix("gated-"))
        has_bias = config.biases == "all"
        self.hidden = Linear(config.d_model, config.d_ff, has_bias)
        self.gate = Linear(config.d_model, config.d_ff, has_bias) if config.is_gated else None
        self.output = Linear(config.d_ff, config.d_model, has_bias)

    def forward(self, x: Words, *, trace: Trace | None = None) -> Words:
        inputs = self.norm_input(x, trace)
        hidden = keep(trace, "hidden", self.hidden(inputs))
        activated = self.activation(hidden)
        if self.gate is not None:
            activated = activated * keep(trace, "gate", self.gate(inputs))
        activated = keep(trace, "activated", activated)
        output = keep(trace, "output", self.output(activated))
        return self.add_and_norm(x, output, trace)

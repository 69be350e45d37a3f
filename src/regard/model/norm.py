"""Add & Norm: the yellow boxes of Figure 1.

    LayerNorm(x + Sublayer(x)),   LayerNorm(x) = gain * (x - mean) / sqrt(variance + epsilon) + bias

Vaswani et al. 2017, section 3.1; Ba et al. 2016. Mean and variance are those of one position's features;
gain and bias are one number a feature. RMSNorm (Zhang and Sennrich 2019) leaves out the mean and the bias.

Differs from the paper: nowhere in the default. `norm_placement="pre"` normalises the input of each
sub-layer instead and leaves the residual path untouched (Xiong et al. 2020).
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.dropout import Dropout
from regard.trace import Trace, keep

EPSILON = 1e-5


def make_norm(config: ModelConfig) -> nn.Module:
    kind = nn.RMSNorm if config.norm == "rms" else nn.LayerNorm
    return kind(config.d_model, eps=EPSILON)


class SubLayer(nn.Module):
    """What surrounds every attention and feed-forward: dropout, residual sum and norm."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.dropout = Dropout(dropout)
        self.norm_first = config.norm_placement == "pre"

    def before(
        self, x: Float[Tensor, "batch length d_model"], trace: Trace | None
    ) -> Float[Tensor, "batch length d_model"]:
        """What the sub-layer reads."""
        return self._normalised(x, trace) if self.norm_first else x

    def after(
        self,
        x: Float[Tensor, "batch length d_model"],
        output: Float[Tensor, "batch length d_model"],
        trace: Trace | None,
    ) -> Float[Tensor, "batch length d_model"]:
        """What flows on: the sub-layer's output added to what it was given."""
        residual = keep(trace, "residual", x + self.dropout(output))
        return residual if self.norm_first else self._normalised(residual, trace)

    def _normalised(
        self, x: Float[Tensor, "batch length d_model"], trace: Trace | None
    ) -> Float[Tensor, "batch length d_model"]:
        # Under autocast a norm gives fp32 whatever it is given; what flows on stays as narrow as it was.
        return keep(trace, "norm", self.norm(x).to(x.dtype))

"""Add & Norm: the yellow boxes of Figure 1.

    LayerNorm(x + Sublayer(x)),   LayerNorm(x) = gain * (x - mean) / sqrt(variance + epsilon) + bias

Vaswani et al. 2017, section 3.1; Ba et al. 2016. Mean and variance are those of one position's features;
gain and bias are one number a feature. RMSNorm (Zhang and Sennrich 2019) leaves out the mean and the bias;
`batch_norm` takes mean and variance over the words of a batch instead.

Differs from the paper: nowhere in the default. `norm_placement="pre"` normalises the input of each
sub-layer instead and leaves the residual path untouched (Xiong et al. 2020).
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.batch_norm import MaskedBatchNorm
from regard.model.dropout import Dropout
from regard.trace import Trace, keep

if torch.version.cuda is not None:
    from regard.model.kernels.added_norm import added_norm


def make_norm(config: ModelConfig) -> nn.Module:
    kinds = {"layer": nn.LayerNorm, "rms": nn.RMSNorm, "batch": MaskedBatchNorm}
    return kinds[config.norm](config.d_model, eps=config.norm_epsilon)


class AddAndNorm(nn.Module):
    """Base of every sub-layer (attention, feed-forward): dropout, residual sum and norm around it."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.dropout = Dropout(dropout)
        self.norm_first = config.norm_placement == "pre"

    def norm_input(
        self, x: Float[Tensor, "batch length d_model"], trace: Trace | None
    ) -> Float[Tensor, "batch length d_model"]:
        """The sub-layer's input: x, normalised with pre-norm."""
        return self._normalise(x, trace) if self.norm_first else x

    def add_and_norm(
        self,
        x: Float[Tensor, "batch length d_model"],
        output: Float[Tensor, "batch length d_model"],
        trace: Trace | None,
    ) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(x + Sublayer(x)), given the sub-layer's output."""
        if self._is_one_kernel(x, trace):
            assert isinstance(self.norm, nn.LayerNorm)
            return added_norm(x, output, self.norm)
        residual = keep(trace, "residual", x + self.dropout(output))
        return residual if self.norm_first else self._normalise(residual, trace)

    def _is_one_kernel(self, x: Tensor, trace: Trace | None) -> bool:
        """For inference on a GPU; the compiler joins sum and norm by itself."""
        reads_only = not (self.training or torch.is_grad_enabled() or torch.compiler.is_compiling())
        plain = isinstance(self.norm, nn.LayerNorm) and not self.norm_first
        return x.is_cuda and reads_only and plain and trace is None

    def _normalise(
        self, x: Float[Tensor, "batch length d_model"], trace: Trace | None
    ) -> Float[Tensor, "batch length d_model"]:
        # Under autocast a norm returns fp32 whatever its input; the residual path stays as narrow as it was.
        return keep(trace, "norm", self.norm(x).to(x.dtype))

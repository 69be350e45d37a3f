"""Add & Norm: the yellow boxes of Figure 1.

    LayerNorm(x + Sublayer(x)),   LayerNorm(x) = gain * (x - mean) / sqrt(variance + epsilon) + bias

Vaswani et al. 2017, section 3.1; Ba et al. 2016. Mean and variance are those of one position's features;
gain and bias are one number a feature. RMSNorm (Zhang and Sennrich 2019) leaves out the mean and the bias;
batch normalisation (Ioffe and Szegedy 2015) takes mean and variance over the words of a batch instead.

Differs from the paper: nowhere in the default. `norm_placement="pre"` normalises the input of each
sub-layer instead and leaves the residual path untouched (Xiong et al. 2020).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.config.fields import registered
from regard.model.dropout import Dropout
from regard.model.layout import Words
from regard.trace import Trace, keep

if torch.version.cuda is not None:
    from regard.model.kernels.step import added_norm

MOMENTUM = 0.1
"""Share of the newest batch in the running averages of a batch norm."""


def make_norm(config: ModelConfig) -> nn.Module:
    return registered(NORMS, "norm", config.norm)(config.d_model, eps=config.norm_epsilon)


def make_head_norm(config: ModelConfig) -> nn.Module | None:
    """Qwen 3's norm of the queries or keys of one head, if the model has it."""
    return nn.RMSNorm(config.head_dim, eps=config.norm_epsilon) if config.query_key_norm else None


class AddAndNorm(nn.Module):
    """Base of every sub-layer (attention, feed-forward): dropout, residual sum and norm around it."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.dropout = Dropout(dropout)
        self.norm_first = config.norm_placement == "pre"

    def norm_input(self, x: Words, trace: Trace | None) -> Words:
        """The sub-layer's input: x, normalised with pre-norm."""
        return self._normalise(x, trace) if self.norm_first else x

    def add_and_norm(self, x: Words, output: Words, trace: Trace | None) -> Words:
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

    def _normalise(self, x: Words, trace: Trace | None) -> Words:
        # Under autocast a norm returns fp32 whatever its input; the residual path stays as narrow as it was.
        return keep(trace, "norm", self.norm(x).to(x.dtype))


class MaskedBatchNorm(nn.Module):
    """One mean and one variance a feature, over the words of a batch, padding left out: a rejected idea.

    Evaluation uses running averages from training instead. Its drawbacks, which is why Transformers do without
    it: In training a word's vector depends on its neighbours in the batch, in the decoder on later words too.
    Small batches give coarse statistics, so a step done in parts (`accumulate`) is another step. The running
    averages belong to the newest weights, not to the averaged weights that are saved. Longer sentences than those
    of training are normalised by statistics that are not theirs.
    """

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, width: int, *, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_variance", torch.ones(width))
        self.is_word: Bool[Tensor, "batch length"] | None = None
        """Where the batch holds words and not padding; see `mark_words`."""

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        mean, variance = self.running_mean, self.running_variance
        wide = x.to(torch.promote_types(x.dtype, mean.dtype))
        if self.training:
            assert self.is_word is not None, "training must call mark_words first"
            mean, variance = self._measure(wide, self.is_word)
        scale = self.weight * (variance + self.eps).rsqrt()
        return (wide - mean) * scale + self.bias

    def _measure(
        self, x: Float[Tensor, "batch length width"], is_word: Bool[Tensor, "batch length"]
    ) -> tuple[Float[Tensor, " width"], Float[Tensor, " width"]]:
        counts = is_word[..., None]
        count = is_word.sum()
        mean = x.where(counts, 0).sum(dim=(0, 1)) / count
        variance = (x - mean).square().where(counts, 0).sum(dim=(0, 1)) / count
        with torch.no_grad():
            # The unbiased estimate of the variance of all text, of which the batch is a sample.
            unbiased = variance * (count / (count - 1).clamp(min=1))
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), MOMENTUM)
            self.running_variance.lerp_(unbiased.to(self.running_variance.dtype), MOMENTUM)
        return mean, variance


NORMS: dict[str, Callable[..., nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm, "batch": MaskedBatchNorm}


def mark_words(module: nn.Module, is_word: Bool[Tensor, "batch length"]) -> None:
    """Tell every batch norm of a module where the words of the batch to come are.

    Only this rejected idea needs to know, so that no other signature carries it.
    """
    for norm in module.modules():
        if isinstance(norm, MaskedBatchNorm):
            norm.is_word = is_word

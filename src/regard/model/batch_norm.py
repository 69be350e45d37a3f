"""Batch normalisation over the real words of a batch: the alternative to layer normalisation.

    BatchNorm(x) = gain * (x - mean) / sqrt(variance + epsilon) + bias

Ioffe and Szegedy 2015. Mean and variance are those of one feature over all words of the batch; a layer norm's are
those of one word over all its features. Evaluation uses running averages from training instead.

Its drawbacks, which is why Transformers do without it: In training a word's vector depends on its neighbours in the
batch, in the decoder on later words too. Small batches give coarse statistics, so a step done in parts (`accumulate`)
is another step. The running averages belong to the newest weights, not to the averaged weights that are saved. Longer
sentences than those of training are normalised by statistics that are not theirs.

Differs from the paper: padding is left out of the statistics.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

MOMENTUM = 0.1
"""Share of the newest batch in the running averages."""


class MaskedBatchNorm(nn.Module):
    """One mean and one variance a feature."""

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

    def forward(
        self, x: Float[Tensor, "batch length width"]
    ) -> Float[Tensor, "batch length width"]:
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


def mark_words(module: nn.Module, is_word: Bool[Tensor, "batch length"]) -> None:
    """Tell every batch norm of a module where the words of the batch to come are.

    Only this rejected idea needs to know, so that no other signature carries it.
    """
    for norm in module.modules():
        if isinstance(norm, MaskedBatchNorm):
            norm.is_word = is_word

"""What training minimises: cross-entropy with label smoothing (Vaswani et al. 2017, section 5.4).

    q(k) = (1 - epsilon) [k = correct] + epsilon / vocabulary,   loss = - sum_k q(k) log p(k)

Szegedy et al. 2016, section 7. R-Drop (Liang et al. 2021) adds how far two passes with different dropout
disagree, in both directions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.model.layout import Layout
from regard.model.transformer import EncoderDecoder


class Tensors(NamedTuple):
    """A batch on the device that trains."""

    source: Int[Tensor, "batch source_len"]
    source_lengths: Int[Tensor, " sequences"]
    target_input: Int[Tensor, "batch target_len"]
    target_output: Int[Tensor, "batch target_len"]
    target_lengths: Int[Tensor, " sequences"]


class Sums(NamedTuple):
    """Summed over the target's tokens, so that batches of unequal size can be added."""

    loss: Float[Tensor, ""]
    """what is minimised: smoothed, and with the R-Drop term"""
    negative_log_likelihood: Float[Tensor, ""]
    """the plain cross-entropy, which perplexity is made of"""


def smoothed_cross_entropy(
    logits: Float[Tensor, "tokens vocab"],
    correct: Int[Tensor, " tokens"],
    pad_id: int,
    label_smoothing: float,
) -> Sums:
    """Both sums; places where `correct` is `pad_id` do not count."""
    log_probabilities = logits.float().log_softmax(dim=-1)
    counts = correct != pad_id
    likelihood = log_probabilities.gather(-1, correct[:, None])[:, 0]
    plain = -(likelihood * counts).sum()
    uniform = -(log_probabilities.mean(dim=-1) * counts).sum()
    return Sums((1 - label_smoothing) * plain + label_smoothing * uniform, plain)


def disagreement(
    first: Float[Tensor, "tokens vocab"],
    second: Float[Tensor, "tokens vocab"],
    counts: Tensor,
) -> Float[Tensor, ""]:
    """The mean of the two Kullback-Leibler divergences, summed over the tokens that count."""
    p, q = first.float().log_softmax(dim=-1), second.float().log_softmax(dim=-1)
    forth = F.kl_div(q, p, reduction="none", log_target=True).sum(dim=-1)
    back = F.kl_div(p, q, reduction="none", log_target=True).sum(dim=-1)
    return ((forth + back) / 2 * counts).sum()


def batch_loss(
    model: EncoderDecoder,
    batch: Tensors,
    *,
    packed: bool,
    longest: int,
    label_smoothing: float,
    r_drop: float = 0.0,
) -> Sums:
    """The sums of one batch; `longest` bounds the sentences of a packed one."""

    def layout(lengths: Tensor, tokens: Tensor) -> Layout:
        length = tokens.shape[1]
        if packed:
            return Layout.packed(lengths, length, longest)
        return Layout.padded(lengths, length)

    def logits() -> Tensor:
        source_layout = layout(batch.source_lengths, batch.source)
        target_layout = layout(batch.target_lengths, batch.target_input)
        return model(batch.source, source_layout, batch.target_input, target_layout).flatten(0, 1)

    correct, pad_id = batch.target_output.flatten(), model.config.pad_id
    first = logits()
    sums = smoothed_cross_entropy(first, correct, pad_id, label_smoothing)
    if r_drop == 0:
        return sums
    second = logits()
    other = smoothed_cross_entropy(second, correct, pad_id, label_smoothing)
    apart = disagreement(first, second, correct != pad_id)
    return Sums(
        (sums.loss + other.loss) / 2 + r_drop * apart / 2,
        torch.stack([sums.negative_log_likelihood, other.negative_log_likelihood]).mean(),
    )

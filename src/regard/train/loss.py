"""What training minimises: cross-entropy with label smoothing (Vaswani et al. 2017, section 5.4).

    q(k) = (1 - epsilon) [k = correct] + epsilon / vocabulary,   loss = - sum_k q(k) log p(k)

Szegedy et al. 2016, section 7. R-Drop (Liang et al. 2021) adds how far two passes with different dropout
disagree, in both directions.

`smoothed_cross_entropy` is the formula; `LinearCrossEntropy` is the same together with the output's linear
map, a part of the tokens at a time: the scores of a large vocabulary are the largest tensor of a step, and
this way they never exist all at once, nor are they kept for the backward pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.model.layout import Layout
from regard.model.transformer import EncoderDecoder

SCORES_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 29}
"""how many scores of the vocabulary are held at a time; on a processor they should stay in its cache"""


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


class LinearCrossEntropy(torch.autograd.Function):
    """Both sums from the vectors before the output's linear map.

    The gradient of the scores is softmax minus q, so it is at hand as soon as the scores are, and what it
    gives for `hidden` and `weight` is computed in the forward pass.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "tokens d_model"],
        weight: Float[Tensor, "vocab d_model"],
        correct: Int[Tensor, " tokens"],
        pad_id: int,
        label_smoothing: float,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        vocab_size = len(weight)
        parts = -(-len(hidden) * vocab_size // SCORES_AT_ONCE[hidden.device.type])
        size = -(-len(hidden) // parts)
        pieces = torch.arange(vocab_size, device=hidden.device)
        loss = plain = hidden.new_zeros((), dtype=torch.float32)
        d_hidden, d_weight = [], torch.zeros_like(weight, dtype=torch.float32)
        for vectors, answers in zip(hidden.split(size), correct.split(size), strict=True):
            logits = vectors @ weight.T
            scores, counts = logits.float(), answers != pad_id
            log_total = scores.logsumexp(dim=-1)
            surprise = log_total - scores.gather(-1, answers[:, None])[:, 0]
            uniform = log_total - scores.mean(dim=-1)
            smoothed = (1 - label_smoothing) * surprise + label_smoothing * uniform
            loss, plain = loss + (smoothed * counts).sum(), plain + (surprise * counts).sum()
            expected = torch.where(pieces == answers[:, None], 1 - label_smoothing, 0.0)
            gradient = (scores - log_total[:, None]).exp() - expected - label_smoothing / vocab_size
            gradient = (gradient * counts[:, None]).to(logits.dtype)
            d_hidden.append(gradient @ weight)
            d_weight += gradient.T @ vectors
        ctx.save_for_backward(torch.cat(d_hidden), d_weight)
        ctx.types = hidden.dtype, weight.dtype
        return loss, plain

    @staticmethod
    def backward(ctx: Any, toward: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_weight = ctx.saved_tensors
        of_hidden, of_weight = ctx.types
        return (
            (d_hidden * toward).to(of_hidden),
            (d_weight * toward).to(of_weight),
            None,
            None,
            None,
        )


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

    def hidden() -> Tensor:
        source_layout = layout(batch.source_lengths, batch.source)
        target_layout = layout(batch.target_lengths, batch.target_input)
        memory = model.encode(batch.source, source_layout)
        return model.decode(batch.target_input, target_layout, memory, source_layout).flatten(0, 1)

    correct, pad_id = batch.target_output.flatten(), model.config.pad_id
    if r_drop == 0 and torch.is_grad_enabled():
        return Sums(
            *LinearCrossEntropy.apply(
                hidden(), model.output.weight, correct, pad_id, label_smoothing
            )
        )
    first = model.project(hidden())
    sums = smoothed_cross_entropy(first, correct, pad_id, label_smoothing)
    if r_drop == 0:
        return sums
    second = model.project(hidden())
    other = smoothed_cross_entropy(second, correct, pad_id, label_smoothing)
    apart = disagreement(first, second, correct != pad_id)
    return Sums(
        (sums.loss + other.loss) / 2 + r_drop * apart / 2,
        torch.stack([sums.negative_log_likelihood, other.negative_log_likelihood]).mean(),
    )

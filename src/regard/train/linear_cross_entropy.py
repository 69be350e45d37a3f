"""The output's linear map and its cross-entropy in one pass, a part of the tokens at a time.

The scores of a large vocabulary are the largest tensor of a step. Here they never exist all at once, nor are they
kept for the backward pass. The result equals `loss.smoothed_cross_entropy` of the scores.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

SCORES_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 29}
"""Maximum vocabulary scores in memory at a time, by device; on a processor they should fit into its cache."""


class LossGradients(NamedTuple):
    """The two sums, and the gradients of the first for the operands of the linear map."""

    loss: Float[Tensor, ""]
    plain: Float[Tensor, ""]
    d_hidden: Float[Tensor, "tokens d_model"]
    d_weight: Float[Tensor, "vocab d_model"]


def by_formula(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    correct: Int[Tensor, " tokens"],
    pad_id: int,
    label_smoothing: float,
) -> LossGradients:
    """The formula step by step, for torch.compile, which fuses it into two passes over the scores."""
    vocab_size = len(weight)
    vocabulary = torch.arange(vocab_size, device=hidden.device)
    size = _tokens_at_once(hidden, vocab_size)
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
        expected = torch.where(vocabulary == answers[:, None], 1 - label_smoothing, 0.0)
        gradient = (scores - log_total[:, None]).exp() - expected - label_smoothing / vocab_size
        gradient = (gradient * counts[:, None]).to(logits.dtype)
        d_hidden.append(gradient @ weight)
        d_weight += gradient.T @ vectors
    return LossGradients(loss, plain, torch.cat(d_hidden), d_weight)


def in_place(hidden: Tensor, weight: Tensor, correct: Tensor, pad_id: int, label_smoothing: float) -> LossGradients:
    """The same for a CPU without a compiler: five cheap passes over one buffer of scores.

    Powers of two cost less than powers of e. Factors of a whole row (softmax's divisor) or of a whole column
    (the smoothing) are applied to the far smaller results instead of the scores.
    """
    vocab_size, doublings = len(weight), 1 / math.log(2)
    size = _tokens_at_once(hidden, vocab_size)
    buffer = hidden.new_empty(size, vocab_size)
    mean = weight.new_full((vocab_size,), 1 / vocab_size) @ weight
    loss = plain = hidden.new_zeros(())
    # Summed in columns: with the longer side last the product is 6 % faster.
    d_hidden, d_columns = torch.empty_like(hidden), hidden.new_zeros(weight.T.shape)
    for start in range(0, len(hidden), size):
        part = slice(start, start + size)
        vectors, answers = hidden[part], correct[part, None]
        counts = (answers != pad_id).to(hidden.dtype)
        powers = torch.mm(vectors * doublings, weight.T, out=buffer[: len(vectors)])
        top, right = powers.amax(dim=-1, keepdim=True), powers.gather(-1, answers)
        total = powers.sub_(top).exp2_().sum(dim=-1, keepdim=True)
        log_total = (top + total.log2()) / doublings
        surprise = log_total - right / doublings
        uniform = log_total - (vectors @ mean)[:, None]
        smoothed = (1 - label_smoothing) * surprise + label_smoothing * uniform
        loss, plain = loss + (smoothed * counts).sum(), plain + (surprise * counts).sum()
        powers.scatter_add_(-1, answers, (label_smoothing - 1) * total)
        torch.mm(powers, weight, out=d_hidden[part])
        d_hidden[part].mul_(counts / total).sub_(counts * (label_smoothing * mean))
        d_columns.addmm_((vectors * (counts / total)).T, powers)
    smoothing = (correct != pad_id).to(hidden.dtype) @ hidden
    d_weight = torch.empty_like(weight)
    torch.sub(d_columns.T, smoothing * (label_smoothing / vocab_size), out=d_weight)
    return LossGradients(loss.float(), plain.float(), d_hidden, d_weight)


def by_softmax(hidden: Tensor, weight: Tensor, correct: Tensor, pad_id: int, label_smoothing: float) -> LossGradients:
    """The same for a CPU that multiplies in bf16: the weights are converted once."""
    of_hidden, vocab_size = hidden.dtype, len(weight)
    hidden, weight = hidden.bfloat16(), weight.bfloat16()
    size = _tokens_at_once(hidden, vocab_size)
    loss = plain = hidden.new_zeros((), dtype=torch.float32)
    d_hidden = torch.empty_like(hidden)
    d_weight = weight.new_zeros(weight.shape, dtype=torch.float32)
    for start in range(0, len(hidden), size):
        part = slice(start, start + size)
        vectors, answers = hidden[part], correct[part, None]
        counts = (answers != pad_id).float()
        logits = vectors @ weight.T
        probabilities = logits.softmax(dim=-1, dtype=torch.float32)
        top, place = logits.max(dim=-1, keepdim=True)
        log_total = top.float() - probabilities.gather(-1, place).log()
        surprise = log_total - logits.gather(-1, answers).float()
        smoothed = (1 - label_smoothing) * surprise
        if label_smoothing:
            uniform = log_total - logits.mean(dim=-1, keepdim=True, dtype=torch.float32)
            smoothed = smoothed + label_smoothing * uniform
            probabilities.sub_(label_smoothing / vocab_size)
        loss, plain = loss + (smoothed * counts).sum(), plain + (surprise * counts).sum()
        taken = torch.full_like(surprise, label_smoothing - 1)
        gradient = probabilities.scatter_add_(-1, answers, taken).mul_(counts).bfloat16()
        torch.mm(gradient, weight, out=d_hidden[part])
        d_weight += gradient.T @ vectors
    return LossGradients(loss, plain, d_hidden.to(of_hidden), d_weight)


def _tokens_at_once(hidden: Float[Tensor, "tokens d_model"], vocab_size: int) -> int:
    num_parts = -(-len(hidden) * vocab_size // SCORES_AT_ONCE[hidden.device.type])
    return -(-len(hidden) // num_parts)


def kernel_for(hidden: Tensor) -> Callable[..., LossGradients]:
    """The fastest kernel for these vectors."""
    if hidden.device.type != "cpu" or torch.compiler.is_compiling():
        return by_formula
    return by_softmax if torch.is_autocast_enabled("cpu") else in_place


class LinearCrossEntropy(torch.autograd.Function):
    """Both sums from the vectors before the output's linear map.

    The gradient of the scores is softmax minus q. It is known as soon as the scores are, so the gradients of
    `hidden` and `weight` are computed in the forward pass.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, correct: Tensor, pad_id: int, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        result = kernel_for(hidden)(hidden, weight, correct, pad_id, label_smoothing)
        ctx.save_for_backward(result.d_hidden, result.d_weight if ctx.needs_input_grad[1] else None)
        ctx.types = hidden.dtype, weight.dtype
        return result.loss, result.plain

    @staticmethod
    def backward(ctx: Any, toward: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_weight = ctx.saved_tensors
        of_hidden, of_weight = ctx.types
        weight = None if d_weight is None else (d_weight * toward).to(of_weight)
        return (d_hidden * toward).to(of_hidden), weight, None, None, None

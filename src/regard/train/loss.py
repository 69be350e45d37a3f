"""What training minimises: cross-entropy with label smoothing (Vaswani et al. 2017, section 5.4).

    q(k) = (1 - epsilon) [k = correct] + epsilon / vocabulary,   loss = - sum_k q(k) log p(k)

Szegedy et al. 2016, section 7. R-Drop (Liang et al. 2021) adds how far two passes with different dropout
disagree, in both directions.

`smoothed_cross_entropy` is the formula; `LinearCrossEntropy` is the same together with the output's linear
map, a part of the tokens at a time: the scores of a large vocabulary are the largest tensor of a step, and
this way they never exist all at once, nor are they kept for the backward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.data.masking import num_asked
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, EncoderOnly, Model, Translating

SCORES_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 29}
"""how many scores of the vocabulary are held at a time; on a processor they should stay in its cache"""


class Tensors(NamedTuple):
    """A batch on the device that trains; running text has no source, and its blanks stand in the target's input."""

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


class Found(NamedTuple):
    """The two sums, and what the first of them gives for the operands of the output's linear map."""

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
) -> Found:
    """Step by step; a compiler makes two passes over the scores of it."""
    vocab_size = len(weight)
    pieces = torch.arange(vocab_size, device=hidden.device)
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
        expected = torch.where(pieces == answers[:, None], 1 - label_smoothing, 0.0)
        gradient = (scores - log_total[:, None]).exp() - expected - label_smoothing / vocab_size
        gradient = (gradient * counts[:, None]).to(logits.dtype)
        d_hidden.append(gradient @ weight)
        d_weight += gradient.T @ vectors
    return Found(loss, plain, torch.cat(d_hidden), d_weight)


def in_place(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    correct: Int[Tensor, " tokens"],
    pad_id: int,
    label_smoothing: float,
) -> Found:
    """The same for a processor without a compiler: five cheap passes over one buffer of scores.

    Powers of two cost less than powers of e. What is the same for a whole row, softmax's divisor, or for a
    whole column, the smoothing, is left out of the scores and put into the far smaller results.
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
    return Found(loss.float(), plain.float(), d_hidden, d_weight)


def by_softmax(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    correct: Int[Tensor, " tokens"],
    pad_id: int,
    label_smoothing: float,
) -> Found:
    """The same for a processor that multiplies in bf16: the weights are converted once, and few passes are left."""
    of_hidden, vocab_size = hidden.dtype, len(weight)
    hidden, weight = hidden.bfloat16(), weight.bfloat16()
    size = _tokens_at_once(hidden, vocab_size)
    loss = plain = hidden.new_zeros((), dtype=torch.float32)
    d_hidden, d_weight = (
        torch.empty_like(hidden),
        weight.new_zeros(weight.shape, dtype=torch.float32),
    )
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
    return Found(loss, plain, d_hidden.to(of_hidden), d_weight)


def _tokens_at_once(hidden: Float[Tensor, "tokens d_model"], vocab_size: int) -> int:
    num_parts = -(-len(hidden) * vocab_size // SCORES_AT_ONCE[hidden.device.type])
    return -(-len(hidden) // num_parts)


def kernel_for(hidden: Tensor) -> Callable[..., Found]:
    """The fastest of them."""
    if hidden.device.type != "cpu" or torch.compiler.is_compiling():
        return by_formula
    return by_softmax if torch.is_autocast_enabled("cpu") else in_place


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
        found = kernel_for(hidden)(hidden, weight, correct, pad_id, label_smoothing)
        ctx.save_for_backward(found.d_hidden, found.d_weight)
        ctx.types = hidden.dtype, weight.dtype
        return found.loss, found.plain

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


def _asked_places(
    asked: Bool[Tensor, " tokens"], share: float | None
) -> Int[Tensor, " places"] | None:
    """Where there are answers, few places among many; None where all are as well scored."""
    if share is not None:
        # A recorded step has one shape: as many places as may be asked for, some of them without an answer.
        first = asked.int().argsort(descending=True, stable=True)
        return first[: num_asked(share, len(asked))]
    waits = asked.device.type != "cpu" or torch.compiler.is_compiling()
    return None if waits or not asked.any() else asked.nonzero()[:, 0]


def batch_loss(
    model: Model,
    batch: Tensors,
    *,
    packed: bool,
    longest: int,
    label_smoothing: float,
    r_drop: float = 0.0,
    asked_share: float | None = None,
) -> Sums:
    """The sums of one batch; `longest` bounds the sentences of a packed one.

    asked_share: of the pieces of the whole batch no more have an answer, and no other places are scored.
    """

    def layout(lengths: Tensor, tokens: Tensor) -> Layout:
        length = tokens.shape[1]
        if packed:
            return Layout.packed(lengths, length, longest)
        return Layout.padded(lengths, length)

    def hidden() -> Tensor:
        target_layout = layout(batch.target_lengths, batch.target_input)
        if isinstance(model, DecoderOnly):
            return model.decode(batch.target_input, target_layout).flatten(0, 1)
        if isinstance(model, EncoderOnly):
            found = model.encode(batch.target_input, target_layout).flatten(0, 1)
            return found if asked is None else found[asked]
        source_layout = layout(batch.source_lengths, batch.source)
        memory = model.encode(batch.source, source_layout)
        found = cast(Translating, model).decode(
            batch.target_input, target_layout, memory, source_layout
        )
        return found.flatten(0, 1)

    correct, pad_id = batch.target_output.flatten(), model.config.pad_id
    asked = None
    if isinstance(model, EncoderOnly):
        asked = _asked_places(correct != pad_id, asked_share)
    if asked is not None:
        correct = correct[asked]
    if r_drop == 0 and torch.is_grad_enabled() and not model.config.output_bias:
        return Sums(
            *LinearCrossEntropy.apply(
                model.transformed(hidden()), model.output.weight, correct, pad_id, label_smoothing
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

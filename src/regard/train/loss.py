"""Training objectives: cross-entropy with label smoothing (Vaswani et al. 2017, section 5.4), and InfoNCE.

    q(k) = (1 - epsilon) [k = correct] + epsilon / vocabulary,   loss = - sum_k q(k) log p(k)

Szegedy et al. 2016, section 7. R-Drop (Liang et al. 2021) adds the divergence between two passes with different
dropout, in both directions. An encoder for search is trained with

    s_ij = cos(query_i, passage_j) / temperature
    loss = mean_i [ - log softmax_j(s_ij)[i] - log softmax_j(s_ji)[i] ] / 2

van den Oord et al. 2018 (InfoNCE), in both directions as Radford et al. 2021: every other passage of the batch is a
wrong answer to a query. The same encoder reads both sides, or a teacher the passages, whose vectors are then learnt:

    loss + mean_i |query_i - passage_i|^2 / temperature

Reimers and Gurevych 2020: a learner that reads the translations of what the teacher reads has the teacher's vectors in
both languages. Differs from the paper: it has the distance alone.
"""

from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import TrainConfig
from regard.data.batches import num_asked
from regard.engine.torch import load_model
from regard.errors import UsageError
from regard.folder.catalogue import find
from regard.model.encoder import sentence_vectors
from regard.model.layout import Layout
from regard.model.recurrent import RecurrentEncoderDecoder
from regard.model.transformer import DecoderOnly, EncoderOnly, Model, Translating
from regard.train.linear_cross_entropy import LinearCrossEntropy

HIDDEN = -1e4  # Score of a padding row: low enough that its softmax weight is exactly 0.


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """bf16 matrix products where asked for, or by default on a GPU; the weights stay fp32."""
    enabled = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    # A cache of converted weights would outlive the recording it was made in.
    return torch.autocast(device.type, torch.bfloat16, enabled=enabled, cache_enabled=False)


class Tensors(NamedTuple):
    """A batch on the training device; running text has no source, and its masks are in the target's input."""

    source: Int[Tensor, "batch source_len"]
    source_lengths: Int[Tensor, " sequences"]
    target_input: Int[Tensor, "batch target_len"]
    target_output: Int[Tensor, "batch target_len"]
    target_lengths: Int[Tensor, " sequences"]


class Sums(NamedTuple):
    """Sums over the target tokens, so that batches of unequal size can be added."""

    loss: Float[Tensor, ""]  # the minimised loss: with label smoothing and the R-Drop term
    negative_log_likelihood: Float[Tensor, ""]  # the plain cross-entropy, for perplexity


class BatchLoss(nn.Module):
    """The loss of a batch under the run's settings, as a module: DDP and FSDP wrap modules only."""

    def __init__(self, model: Model, settings: TrainConfig) -> None:
        super().__init__()
        self.model = model
        device = next(model.parameters()).device
        self.function: Any = batch_loss
        self.options: dict[str, Any] = {"label_smoothing": settings.label_smoothing or 0.0, "r_drop": settings.r_drop}
        if settings.objective == "contrastive":
            self.function = contrastive_loss
            self.options = {"temperature": settings.contrast_temperature}
            if settings.teacher:
                self.options["teacher"] = _teacher(settings.teacher, model.config.d_model).to(device)
        # Elsewhere a step may be split, and a part may hold more masks than its share.
        elif settings.objective == "masked" and settings.packing and device.type == "cuda":
            self.options["asked_share"] = settings.mask_share
        if settings.compile and isinstance(model, RecurrentEncoderDecoder):
            # Sentences vary in length, and a loop would be compiled anew for each; a step of it is not.
            model.decoder.compile_step()
        elif settings.compile:
            # Summing a norm's gradient over tokens and over features in one kernel is slower than in two.
            options: Any = {"triton.mix_order_reduction": False} if device.type == "cuda" else None
            self.function = torch.compile(self.function, dynamic=False, options=options)

    def forward(self, tensors: Tensors, *, packed: bool, longest: int) -> Sums:
        sums: Sums = self.function(self.model, tensors, packed=packed, longest=longest, **self.options)
        return sums


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
    """The sums of one batch.

    longest: bound of the sentence lengths of a packed batch, in tokens.
    asked_share: largest share of the batch's tokens that has an answer; only so many positions are scored.
    """
    correct, pad_id = batch.target_output.flatten(), model.config.pad_id
    asked = None
    if isinstance(model, EncoderOnly):
        asked = _asked_positions(correct != pad_id, asked_share)
    if asked is not None:
        correct = correct[asked]
    if r_drop == 0 and torch.is_grad_enabled() and not model.config.output_bias:
        hidden = model.transformed(_hidden(model, batch, packed, longest, asked))
        weight = model.output.weight
        return Sums(*LinearCrossEntropy.apply(hidden, weight, correct, pad_id, label_smoothing))
    first = model.project(_hidden(model, batch, packed, longest, asked))
    sums = smoothed_cross_entropy(first, correct, pad_id, label_smoothing)
    if r_drop == 0:
        return sums
    second = model.project(_hidden(model, batch, packed, longest, asked))
    other = smoothed_cross_entropy(second, correct, pad_id, label_smoothing)
    divergence = symmetric_divergence(first, second, correct != pad_id)
    return Sums(
        (sums.loss + other.loss) / 2 + r_drop * divergence / 2,
        torch.stack([sums.negative_log_likelihood, other.negative_log_likelihood]).mean(),
    )


def _hidden(
    model: Model, batch: Tensors, packed: bool, longest: int, asked: Tensor | None
) -> Float[Tensor, "tokens d_model"]:
    """The vectors before the output layer."""
    target_layout = _layout(batch.target_lengths, batch.target_input, packed, longest)
    if isinstance(model, DecoderOnly):
        return model.decode(batch.target_input, target_layout).flatten(0, 1)
    if isinstance(model, EncoderOnly):
        hidden = model.encode(batch.target_input, target_layout).flatten(0, 1)
        return hidden if asked is None else hidden[asked]
    source_layout = _layout(batch.source_lengths, batch.source, packed, longest)
    memory = model.encode(batch.source, source_layout)
    translating = cast(Translating, model)
    hidden = translating.decode(batch.target_input, target_layout, memory, source_layout)
    return hidden.flatten(0, 1)


def _layout(lengths: Tensor, tokens: Tensor, packed: bool, longest: int) -> Layout:
    if packed:
        return Layout.packed(lengths, tokens.shape[1], longest)
    return Layout.padded(lengths, tokens.shape[1])


def _asked_positions(asked: Bool[Tensor, " tokens"], share: float | None) -> Int[Tensor, " positions"] | None:
    """The positions that have an answer; None where scoring all of them is as good."""
    if share is not None:
        # A recorded step has one shape: as many positions as may have an answer, some of them without one.
        first = asked.int().argsort(descending=True, stable=True)
        return first[: num_asked(share, len(asked))]
    waits = asked.device.type != "cpu" or torch.compiler.is_compiling()
    return None if waits or not asked.any() else asked.nonzero()[:, 0]


def smoothed_cross_entropy(
    logits: Float[Tensor, "tokens vocab"], correct: Int[Tensor, " tokens"], pad_id: int, label_smoothing: float
) -> Sums:
    """Both sums; positions where `correct` is `pad_id` do not count."""
    log_probabilities = logits.float().log_softmax(dim=-1)
    counts = correct != pad_id
    likelihood = log_probabilities.gather(-1, correct[:, None])[:, 0]
    plain = -(likelihood * counts).sum()
    uniform = -(log_probabilities.mean(dim=-1) * counts).sum()
    return Sums((1 - label_smoothing) * plain + label_smoothing * uniform, plain)


def symmetric_divergence(
    first: Float[Tensor, "tokens vocab"], second: Float[Tensor, "tokens vocab"], counts: Tensor
) -> Float[Tensor, ""]:
    """The mean of the two Kullback-Leibler divergences, summed over the tokens that count."""
    p, q = first.float().log_softmax(dim=-1), second.float().log_softmax(dim=-1)
    forward = F.kl_div(q, p, reduction="none", log_target=True).sum(dim=-1)
    backward = F.kl_div(p, q, reduction="none", log_target=True).sum(dim=-1)
    return ((forward + backward) / 2 * counts).sum()


def contrastive_loss(
    model: EncoderOnly,
    batch: Tensors,
    *,
    packed: bool,
    longest: int,
    temperature: float,
    teacher: EncoderOnly | None = None,
) -> Sums:
    """The mean over the pairs, times the number of target tokens, because a step divides by these.

    The passage is the target's output: its tokens and the end, as the encoder reads any text; a teacher's are its own.
    """
    source_layout = _layout(batch.source_lengths, batch.source, packed, longest)
    queries = sentence_vectors(model.encode(batch.source, source_layout), source_layout)
    passage_layout = _layout(batch.target_lengths, batch.target_output, packed, longest)
    passages = sentence_vectors((teacher or model).encode(batch.target_output, passage_layout), passage_layout)
    pad_id = model.config.pad_id
    is_pair = _begins_with_a_token(batch.target_output, passage_layout, pad_id)
    with torch.autocast(queries.device.type, enabled=False):
        loss = surprise = pair_loss(queries, passages, is_pair, temperature)
        if teacher is not None:
            distances = (queries - passages).square().sum(dim=1) / temperature
            loss = surprise + (distances * is_pair).sum() / is_pair.sum().clamp(min=1)
    num_tokens = (batch.target_output != pad_id).sum()
    return Sums(loss * num_tokens, surprise * num_tokens)


def pair_loss(
    queries: Float[Tensor, "pairs d_model"],
    passages: Float[Tensor, "pairs d_model"],
    is_pair: Bool[Tensor, " pairs"],
    temperature: float,
) -> Float[Tensor, ""]:
    """InfoNCE over the rows that are pairs; the other rows only keep the shape constant."""
    scores = (queries @ passages.T / temperature).masked_fill(~(is_pair[:, None] & is_pair), HIDDEN)
    right = scores.diagonal()
    surprise = (scores.logsumexp(dim=0) + scores.logsumexp(dim=1)) / 2 - right
    return (surprise * is_pair).sum() / is_pair.sum().clamp(min=1)


def _teacher(name: str, width: int) -> EncoderOnly:
    """The encoder whose vectors are learnt."""
    model, manifest = load_model(find(name))
    if not isinstance(model, EncoderOnly) or manifest.pooling != "mean" or model.config.d_model != width:
        got = f"{model.config.architecture} with pooling={manifest.pooling} and d_model={model.config.d_model}"
        raise UsageError(
            f"a teacher must be an encoder with mean vectors as wide as the learner, {width}: got {got}; set d_model"
        )
    return model.requires_grad_(False)


def _begins_with_a_token(tokens: Tensor, layout: Layout, pad_id: int) -> Bool[Tensor, " sequences"]:
    """False for the padding sequences at the end of a packed row, and in batches without answers."""
    if layout.boundaries is None:
        first = tokens[:, 0]
    else:
        first = tokens[0, layout.boundaries[:-1].clamp(max=layout.length - 1)]
    return (first != pad_id) & (layout.lengths > 0)

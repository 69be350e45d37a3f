"""What training for search minimises: texts that belong together lie close, all others of a batch apart.

    s_ij = cos(query_i, passage_j) / temperature
    loss = mean_i [ - log softmax_j(s_ij)[i] - log softmax_j(s_ji)[i] ] / 2

van den Oord et al. 2018 (InfoNCE), in both directions as Radford et al. 2021; every other passage of the batch is a
wrong answer to a query. The two sides are read by the same encoder.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.model.layout import Layout
from regard.model.pooling import sentence_vectors
from regard.model.transformer import EncoderOnly
from regard.train.loss import Sums, Tensors

HIDDEN = -1e4
"""in place of the score of a text that is none: its share of a softmax is exactly 0"""


def contrastive_loss(
    model: EncoderOnly, batch: Tensors, *, packed: bool, longest: int, temperature: float
) -> Sums:
    """The mean over the pairs, as often as the batch has target tokens, by which a step divides.

    The target's output, pieces and end, is what the encoder reads of any text.
    """
    vectors, layouts = [], []
    for tokens, lengths in (
        (batch.source, batch.source_lengths),
        (batch.target_output, batch.target_lengths),
    ):
        length = tokens.shape[1]
        layout = (
            Layout.packed(lengths, length, longest) if packed else Layout.padded(lengths, length)
        )
        vectors.append(sentence_vectors(model.encode(tokens, layout), layout))
        layouts.append(layout)
    pad_id = model.config.pad_id
    is_pair = _begins_with_a_word(batch.target_output, layouts[1], pad_id)
    with torch.autocast(vectors[0].device.type, enabled=False):
        loss = pair_loss(vectors[0], vectors[1], is_pair, temperature)
    loss = loss * (batch.target_output != pad_id).sum()
    return Sums(loss, loss)


def pair_loss(
    queries: Float[Tensor, "pairs d_model"],
    passages: Float[Tensor, "pairs d_model"],
    is_pair: Bool[Tensor, " pairs"],
    temperature: float,
) -> Float[Tensor, ""]:
    """The formula above over those that are pairs; the others stand there for the shape's sake."""
    scores = (queries @ passages.T / temperature).masked_fill(~(is_pair[:, None] & is_pair), HIDDEN)
    right = scores.diagonal()
    surprise = (scores.logsumexp(dim=0) + scores.logsumexp(dim=1)) / 2 - right
    return (surprise * is_pair).sum() / is_pair.sum().clamp(min=1)


def _begins_with_a_word(tokens: Tensor, layout: Layout, pad_id: int) -> Bool[Tensor, " sequences"]:
    """Not so the dummies at the end of a packed row, nor the batches that count nothing."""
    if layout.boundaries is None:
        first = tokens[:, 0]
    else:
        first = tokens[0, layout.boundaries[:-1].clamp(max=layout.length - 1)]
    return (first != pad_id) & (layout.lengths > 0)

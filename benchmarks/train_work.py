"""The work of a training benchmark: sentences of mixed lengths, their batches, and the arithmetic they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regard.config import ModelConfig
from regard.data.batches import Batch, Buffer, group_by_length, make_batch, pack
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from regard.train.batches import DeviceBatch, to_tensors

MEAN_LENGTH, SPREAD = 27.0, 0.6
"""tokens of a sentence, its end included, and the standard deviation of the logarithm"""
SHORTEST, LONGEST = 3, 256
MAX_LENGTH = 256
"""as `regard train` has it by default: it decides the longest sequence a packed batch is prepared for"""


@dataclass(frozen=True)
class Sentences:
    """Pairs of random tokens, as the batches of `regard train` are made of."""

    source: Ragged
    """each with its end"""
    target: Ragged
    """each with beginning and end, so one longer than what the decoder reads"""

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        return self.source.lengths, self.target.lengths - 1

    def packed(self, batch_tokens: int, num_batches: int) -> list[Batch]:
        """Some of the batches, in the layout and proportions of `BatchStream`."""
        source, target = self.lengths
        longest = max(MAX_LENGTH, int(max(source.max(), target.max())))
        buffer = Buffer.sized(batch_tokens, float(source.mean()), float(target.mean()), longest)
        groups = pack(source, target, buffer)[:-1][:num_batches]
        return [make_batch(self.source, self.target, rows, buffer) for rows in groups]

    def padded(self, batch_tokens: int, num_batches: int) -> list[Batch]:
        """Some of the batches of like lengths, as many short as long ones, in random order."""
        groups = group_by_length(*self.lengths, batch_tokens)[:-1]
        places = (np.arange(num_batches) + 0.5) * len(groups) / num_batches
        chosen = np.random.default_rng(1).permutation(np.unique(places.astype(np.int64)))
        return [make_batch(self.source, self.target, groups[place]) for place in chosen]

    def packed_whole(self) -> Batch:
        """All of them in one packed row, with room to spare."""
        source, target = self.lengths
        room = 2 * MAX_LENGTH
        tokens = int(source.sum()) + room, int(target.sum()) + room
        buffer = Buffer(*tokens, slots=len(source) + 16 + sum(tokens) // MAX_LENGTH, max_length=MAX_LENGTH)
        return make_batch(self.source, self.target, np.arange(len(source)), buffer)

    def padded_whole(self) -> Batch:
        return make_batch(self.source, self.target, np.arange(len(self.source)))


def mixed(num_tokens: int, vocab_size: int) -> Sentences:
    """Log-normal lengths of a fixed mean; a translation is about as long as its source."""
    random = np.random.default_rng(1)
    num_pairs = int(num_tokens / (2 * MEAN_LENGTH))
    middle = np.log(MEAN_LENGTH) - SPREAD**2 / 2
    source = np.exp(random.normal(middle, SPREAD, num_pairs))
    target = source * np.exp(random.normal(0, 0.15, num_pairs))
    lengths = [np.clip(side.round(), SHORTEST, LONGEST).astype(np.int64) for side in (source, target)]
    return _random_tokens(lengths[0], lengths[1], vocab_size)


def equal(num_pairs: int, length: int, vocab_size: int) -> Sentences:
    """Every sentence of either side has this many tokens."""
    lengths = np.full(num_pairs, length, np.int64)
    return _random_tokens(lengths, lengths, vocab_size)


def _random_tokens(source: np.ndarray, target: np.ndarray, vocab_size: int) -> Sentences:
    random = np.random.default_rng(2)

    def tokens(lengths: np.ndarray) -> Ragged:
        ids = random.integers(EOS_ID + 1, vocab_size, int(lengths.sum()), np.int32)
        ragged = Ragged.of_lengths(ids, lengths)
        ragged.ids[ragged.offsets[1:] - 1] = EOS_ID
        return ragged

    return Sentences(tokens(source), tokens(target).beginning_with(BOS_ID))


def fed(batch: Batch, device: torch.device) -> DeviceBatch:
    """As `Feed` hands a batch to the loop."""
    tensors = to_tensors(batch)
    if device.type == "cuda":
        tensors = type(tensors)(*(tensor.pin_memory() for tensor in tensors))
    num_targets = int((batch.target_output != PAD_ID).sum())
    return DeviceBatch(tensors, batch.packed, batch.num_tokens, num_targets, {})


def useful_flops(config: ModelConfig, batches: Sequence[Batch]) -> float:
    """What forward and backward must multiply and add, on real tokens only.

    6 for every weight of a matrix product and token it meets (2 forward, 4 backward), the output layer on
    the target's tokens; attention's two products on real lengths, half of them where the future is hidden.
    """
    d, ff = config.d_model, config.d_ff
    encoder, decoder = config.num_encoder_layers, config.num_decoder_layers
    a_source_token = encoder * (4 * d * d + 2 * d * ff) + decoder * 2 * d * d
    a_target_token = decoder * (6 * d * d + 2 * d * ff) + d * config.target_vocab_size
    weights = products = 0.0
    for batch in batches:
        source, target = real_lengths(batch)
        assert source.sum() + target.sum() == batch.num_tokens
        weights += a_source_token * source.sum() + a_target_token * target.sum()
        hidden = (target * (target + 1) / 2).sum()
        seen = encoder * (source**2).sum() + decoder * (hidden + (source * target).sum())
        products += 2 * d * seen
    return 6 * (weights + products)


def real_lengths(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Of the sentences; a packed row ends in dummies of padding, which are no work of anyone's."""
    source, target = (lengths.astype(np.float64) for lengths in (batch.source_lengths, batch.target_lengths))
    if not batch.packed:
        return source, target
    starts = np.concatenate([[0], np.cumsum(batch.target_lengths)[:-1]])
    inside = np.minimum(starts, batch.target_output.shape[1] - 1)
    real = (batch.target_lengths > 0) & (batch.target_output[0, inside] != PAD_ID)
    return source[real], target[real]

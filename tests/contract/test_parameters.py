"""How many weights there are."""

import math

import pytest
import torch

from regard.config import ModelConfig, sized
from regard.folder.tensors import expected_tensors
from regard.model.transformer import build

# About 37,000 tokens: section 5.1 of the paper.
TOKENS = 37_000


def linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def by_formula(config: ModelConfig) -> int:
    """Term by term, for the paper's model: biases everywhere, one shared table."""
    d_model, d_ff = config.d_model, config.d_ff
    attention, norm = 4 * linear(d_model, d_model), 2 * d_model
    feed_forward = linear(d_model, d_ff) + linear(d_ff, d_model)
    encoder = config.num_encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.num_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    return config.source_vocab_size * d_model + encoder + decoder


def count(config: ModelConfig) -> int:
    """Of the built model, without its memory."""
    with torch.device("meta"):
        return sum(weight.numel() for weight in build(config).parameters())


@pytest.mark.parametrize(("size", "expected"), [("base", 63_082_496), ("big", 214_245_376)])
def test_the_paper_sizes(size, expected):
    config = sized(size, source_vocab_size=TOKENS, target_vocab_size=TOKENS)
    assert by_formula(config) == count(config) == expected


def test_a_recurrent_model_has_as_many_weights_as_the_transformer_of_its_size():
    """Tables left out, which are the same: within 3 per cent in the smallest size, 1.5 in the others."""

    def without_tables(config: ModelConfig) -> int:
        shapes = expected_tensors(config).items()
        return sum(math.prod(shape) for name, shape in shapes if "embedding" not in name)

    cells = {"tiny": ("rnn", "none"), "small": ("lstm", "dot"), "base": ("gru", "additive"), "big": ("lstm", "general")}
    for size, (cell, attention) in cells.items():
        recurrent = sized(size, architecture=cell, attention=attention)
        assert recurrent.d_model == sized(size).d_model
        ratio = without_tables(recurrent) / without_tables(sized(size))
        assert ratio == pytest.approx(1, abs=0.03 if size == "tiny" else 0.015)

"""BERT (Devlin et al. 2019): an encoder alone that fills in blanks.

It adds to every word the vector of its segment. A text here is one segment, the first, so that its vector is added
to the table of positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.exchange.foreign import FEED_FORWARDS, Foreign, refuse_unless
from regard.exchange.names import Entry, entry, linear, to_ours
from regard.folder.tensors import Tensors

# What tells whether two sentences follow one another, and copies of the table and of the output's bias.
IGNORED = r"pooler\.|seq_relationship\.|predictions\.decoder\.|position_ids$"
SEGMENTS = "bert.embeddings.token_type_embeddings.weight"
POSITIONS = "bert.embeddings.position_embeddings.weight"


def config_of(values: Mapping[str, Any], theirs: Mapping[str, np.ndarray]) -> ModelConfig:
    kind = values.get("position_embedding_type", "absolute")
    refuse_unless(kind == "absolute", "position_embedding_type", kind, "absolute")
    refuse_unless(not values.get("is_decoder"), "is_decoder", True, False)
    return ModelConfig(
        architecture="encoder-only",
        source_vocab_size=values["vocab_size"],
        target_vocab_size=values["vocab_size"],
        num_encoder_layers=values["num_hidden_layers"],
        d_model=values["hidden_size"],
        d_ff=values["intermediate_size"],
        num_heads=values["num_attention_heads"],
        position="learned",
        max_positions=values["max_position_embeddings"],
        scaled_embedding=False,
        norm_epsilon=values.get("layer_norm_eps", 1e-12),
        embedding_norm=True,
        feed_forward=FEED_FORWARDS.of(values, "hidden_act"),
        output_bias=True,
        output_transform=True,
        pad_id=values.get("pad_token_id") or 0,
    )


def table(config: ModelConfig) -> Iterator[Entry]:
    yield entry("bert.embeddings.word_embeddings.weight", "source.embedding.weight")
    yield entry(POSITIONS, "source.position.weight")
    yield from linear("bert.embeddings.LayerNorm", "source.norm")
    for i in range(config.num_encoder_layers):
        theirs, ours = f"bert.encoder.layer.{i}", f"encoder.layers.{i}"
        for part in ("query", "key", "value"):
            yield from linear(f"{theirs}.attention.self.{part}", f"{ours}.self_attention.{part}")
        yield from linear(f"{theirs}.attention.output.dense", f"{ours}.self_attention.output")
        yield from linear(f"{theirs}.attention.output.LayerNorm", f"{ours}.self_attention.norm")
        yield from linear(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.hidden")
        yield from linear(f"{theirs}.output.dense", f"{ours}.feed_forward.output")
        yield from linear(f"{theirs}.output.LayerNorm", f"{ours}.feed_forward.norm")
    yield from linear("cls.predictions.transform.dense", "transform.hidden")
    yield from linear("cls.predictions.transform.LayerNorm", "transform.norm")
    yield entry("cls.predictions.bias", "output.bias")


def tensors_of(theirs: Mapping[str, np.ndarray], config: ModelConfig) -> Tensors:
    theirs = {_today(name): tensor for name, tensor in theirs.items()}
    segments = theirs.pop(SEGMENTS, None)
    if segments is not None and POSITIONS in theirs:
        theirs[POSITIONS] = theirs[POSITIONS] + segments[0]
    return to_ours(table(config), theirs, IGNORED)


def _today(name: str) -> str:
    """The first files that were published say gamma and beta."""
    for old, new in (("gamma", "weight"), ("beta", "bias")):
        if name.endswith(f"LayerNorm.{old}"):
            return name.removesuffix(old) + new
    return name


FOREIGN = Foreign(("bert",), "fill", config_of, tensors_of)

"""BERT (Devlin et al. 2019): an encoder alone that fills in blanks.

It adds a segment vector to every word. Here a text is one segment, so the vector of the first segment is added to the
position table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.exchange import name_table as names
from regard.exchange.name_table import Family, TensorEntry, entry, linear
from regard.folder.tensors import Tensors

# The next-sentence head, and copies of the embedding table and of the output's bias.
_IGNORED = r"pooler\.|seq_relationship\.|predictions\.decoder\.|position_ids$"
_SEGMENTS = "bert.embeddings.token_type_embeddings.weight"
_POSITIONS = "bert.embeddings.position_embeddings.weight"


def config_of(values: Mapping[str, Any], theirs: Mapping[str, np.ndarray]) -> ModelConfig:
    names.require(values, "position_embedding_type", "absolute")
    names.require(values, "is_decoder", False)
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
        feed_forward=names.feed_forward_of(values, "hidden_act"),
        output_bias=True,
        output_transform=True,
        pad_id=values.get("pad_token_id") or 0,
    )


def table(config: ModelConfig) -> Iterator[TensorEntry]:
    yield entry("bert.embeddings.word_embeddings.weight", "source.embedding.weight")
    yield entry(_POSITIONS, "source.position.weight")
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
    # The first published files say gamma and beta.
    renamed = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
    theirs = {
        re.sub(r"LayerNorm\.(gamma|beta)$", lambda match: renamed[match[0]], name): tensor
        for name, tensor in theirs.items()
    }
    segments = theirs.pop(_SEGMENTS, None)
    if segments is not None and _POSITIONS in theirs:
        theirs[_POSITIONS] = theirs[_POSITIONS] + segments[0]
    return names.to_ours(table(config), theirs, _IGNORED)


FAMILY = Family(("bert",), "fill", config_of, tensors_of)

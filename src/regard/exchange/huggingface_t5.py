"""T5 (Raffel et al. 2020): relative positions, RMS norms first, no biases.

Its differences go into the weights, so that the formulas stay those of the paper. Its attention scores are not divided
by sqrt(d_k), so the query weights are multiplied by it. Its embedding is not multiplied by sqrt(d_model), so the table
is divided by it; the first T5 does the same before its output. The biases that it lacks are zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regard.config import FeedForwardKind, ModelConfig
from regard.errors import ModelError
from regard.exchange import name_table as names
from regard.exchange.name_table import Family, TensorEntry, entry
from regard.folder.tensors import Tensors, expected_tensors

# Copies of the shared table, and an unused bias of the cross-attention in old files.
_IGNORED = r"embed_tokens\.weight$|EncDecAttention\.relative_attention_bias\.weight$"
_FEED_FORWARDS: dict[str, FeedForwardKind] = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh", "silu": "silu",
    "gated-gelu": "gated-gelu-tanh", "gated-silu": "gated-silu",
}  # fmt: skip


def config_of(values: Mapping[str, Any], theirs: Mapping[str, np.ndarray]) -> ModelConfig:
    kind = values.get("feed_forward_proj", "relu")
    if kind not in _FEED_FORWARDS:
        names.require(values, "feed_forward_proj", "relu", " or ".join(_FEED_FORWARDS))
    # Whether its output divides by sqrt(d_model), as the first T5 does; version 1.1 says that it does not.
    scaled = values.get("scale_decoder_outputs", values.get("tie_word_embeddings")) is not False
    own, shared = theirs.get("lm_head.weight"), theirs.get("shared.weight")
    if scaled and own is not None and shared is not None and not np.array_equal(own, shared):
        expected = "false where lm_head differs"
        names.require({"tie_word_embeddings": True}, "tie_word_embeddings", False, expected)
    num_layers = values["num_layers"]
    return ModelConfig(
        source_vocab_size=values["vocab_size"],
        target_vocab_size=values["vocab_size"],
        num_encoder_layers=num_layers,
        num_decoder_layers=values.get("num_decoder_layers") or num_layers,
        d_model=values["d_model"],
        d_ff=values["d_ff"],
        num_heads=values["num_heads"],
        d_k=values["d_kv"],
        position="relative",
        num_buckets=values.get("relative_attention_num_buckets", 32),
        max_distance=values.get("relative_attention_max_distance", 128),
        norm="rms",
        norm_epsilon=values.get("layer_norm_epsilon", 1e-6),
        norm_placement="pre",
        feed_forward=_FEED_FORWARDS[kind],
        tied="all" if scaled else "none",
        pad_id=values.get("pad_token_id", 0),
        bos_id=values.get("decoder_start_token_id", values.get("pad_token_id", 0)),
        eos_id=values.get("eos_token_id", 1),
    )


def table(config: ModelConfig) -> Iterator[TensorEntry]:
    """All tensors except the embedding tables, which depend on more than the names."""
    gated = config.feed_forward.startswith("gated-")
    num_layers = {"encoder": config.num_encoder_layers, "decoder": config.num_decoder_layers}
    for stack in num_layers:
        bias = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield entry(bias, f"{stack}.position_bias.weight")
        yield entry(f"{stack}.final_layer_norm.weight", f"{stack}.final_norm.weight")
        for i in range(num_layers[stack]):
            theirs, ours = f"{stack}.block.{i}.layer", f"{stack}.layers.{i}"
            parts = [("SelfAttention", "self_attention")]
            if stack == "decoder":
                parts.append(("EncDecAttention", "cross_attention"))
            for place, (their_name, our_name) in enumerate(parts):
                name, inner = f"{ours}.{our_name}", f"{theirs}.{place}.{their_name}"
                yield entry(f"{theirs}.{place}.layer_norm.weight", f"{name}.norm.weight")
                for part in ("query", "key", "value", "output"):
                    yield entry(f"{inner}.{part[0]}.weight", f"{name}.{part}.weight")
            last, name = f"{theirs}.{len(parts)}", f"{ours}.feed_forward"
            yield entry(f"{last}.layer_norm.weight", f"{name}.norm.weight")
            inner = f"{last}.DenseReluDense"
            yield entry(f"{inner}.{'wi_0' if gated else 'wi'}.weight", f"{name}.hidden.weight")
            if gated:
                yield entry(f"{inner}.wi_1.weight", f"{name}.gate.weight")
            yield entry(f"{inner}.wo.weight", f"{name}.output.weight")


def tensors_of(theirs: Mapping[str, np.ndarray], config: ModelConfig) -> Tensors:
    theirs = dict(theirs)
    shared = theirs.pop("shared.weight", None)
    if shared is None:
        raise ModelError(
            "the model must have a tensor shared.weight, as a T5 has: it has none; get it again"
        )
    output = theirs.pop("lm_head.weight", shared)
    ours = names.to_ours(table(config), theirs, _IGNORED)
    root = np.float32(config.d_model**0.5)
    ours["source.embedding.weight"] = shared / root
    if config.tied == "none":
        ours["target.embedding.weight"] = ours["source.embedding.weight"]
        ours["output.weight"] = output
    for name in list(ours):
        if name.endswith("query.weight"):
            ours[name] = ours[name] * np.float32(config.head_dim**0.5)
    for name, shape in expected_tensors(config).items():
        if name.endswith(".bias"):
            ours.setdefault(name, np.zeros(shape, np.float32))
    return ours


FAMILY = Family(("t5",), "translate", config_of, tensors_of)

"""GPT-2 (Radford et al. 2019): a decoder alone, pre-norm, with learned positions.

Its linear maps are laid out [inputs, outputs]; query, key and value are one map.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.exchange import name_table as names
from regard.exchange.name_table import ACTIVATIONS, Family, TensorEntry, entry, linear
from regard.folder.tensors import Tensors

_SETTINGS = {
    "vocab_size": "target_vocab_size",
    "n_layer": "num_decoder_layers",
    "n_embd": "d_model",
    "n_head": "num_heads",
    "n_positions": "max_positions",
}
# Masks of old files, and the output's copy of the embedding table.
_IGNORED = r"\.attn\.(masked_)?bias$|^lm_head\.weight$"


def config_of(values: Mapping[str, Any], theirs: Mapping[str, np.ndarray]) -> ModelConfig:
    names.require(values, "scale_attn_weights", True)
    names.require(values, "scale_attn_by_inverse_layer_idx", False)
    names.require(values, "add_cross_attention", False)
    end = values.get("eos_token_id", 50256)
    return ModelConfig(
        **names.settings_of(_SETTINGS, values),
        architecture="decoder-only",
        source_vocab_size=values["vocab_size"],
        d_ff=values.get("n_inner") or 4 * values["n_embd"],
        position="learned",
        scaled_embedding=False,
        norm_epsilon=values.get("layer_norm_epsilon", 1e-5),
        norm_placement="pre",
        feed_forward=names.feed_forward_of(values, "activation_function", "gelu_new"),
        tied="none" if values.get("tie_word_embeddings") is False else "all",
        pad_id=end if values.get("pad_token_id") is None else values["pad_token_id"],
        bos_id=end if values.get("bos_token_id") is None else values["bos_token_id"],
        eos_id=end,
    )


def table(config: ModelConfig) -> Iterator[TensorEntry]:
    yield entry("transformer.wte.weight", "target.embedding.weight")
    yield entry("transformer.wpe.weight", "target.position.weight")
    for i in range(config.num_decoder_layers):
        theirs, ours = f"transformer.h.{i}", f"decoder.layers.{i}"
        attention, feed_forward = f"{ours}.self_attention", f"{ours}.feed_forward"
        parts = [f"{attention}.{part}" for part in ("query", "key", "value")]
        yield from linear(f"{theirs}.ln_1", f"{attention}.norm")
        yield from linear(f"{theirs}.attn.c_attn", *parts, transposed=True)
        yield from linear(f"{theirs}.attn.c_proj", f"{attention}.output", transposed=True)
        yield from linear(f"{theirs}.ln_2", f"{feed_forward}.norm")
        yield from linear(f"{theirs}.mlp.c_fc", f"{feed_forward}.hidden", transposed=True)
        yield from linear(f"{theirs}.mlp.c_proj", f"{feed_forward}.output", transposed=True)
    yield from linear("transformer.ln_f", "decoder.final_norm")
    if config.tied == "none":
        yield entry("lm_head.weight", "output.weight")


def tensors_of(theirs: Mapping[str, np.ndarray], config: ModelConfig) -> Tensors:
    # Files of the bare model have no prefix.
    theirs = {
        re.sub(r"^(?=(h|wte|wpe|ln_f)\.)", "transformer.", name): tensor
        for name, tensor in theirs.items()
    }
    return names.to_ours(table(config), theirs, _IGNORED)


FAMILY = Family(("gpt2",), "write", config_of, tensors_of)


def exported(config: ModelConfig, ours: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], Tensors]:
    """config.json and tensors of a GPT-2 folder; positions by formula become a table."""
    names.require_exportable(
        "a GPT-2 folder",
        config,
        norm=("layer",),
        norm_placement=("pre",),
        embedding_norm=(False,),
        d_k=(None, config.d_model // config.num_heads),
        output_bias=(False,),
        feed_forward=tuple(ACTIVATIONS),
        position=("learned", "sinusoidal", "none"),
    )
    ours = dict(ours)
    if config.position != "learned":
        ours["target.position.weight"] = names.position_table(config, config.max_positions)
    scale = config.d_model**0.5 if config.scaled_embedding else 1.0
    tied = config.tied != "none" and not config.scaled_embedding
    entries = (each for each in table(config) if each.theirs != "lm_head.weight")
    theirs = names.to_theirs(entries, ours)
    theirs["transformer.wte.weight"] = theirs["transformer.wte.weight"] * np.float32(scale)
    if not tied:
        theirs["lm_head.weight"] = ours.get("output.weight", ours["target.embedding.weight"])
    values: dict[str, Any] = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        **names.settings_for(_SETTINGS, config),
        "n_inner": config.d_ff,
        "activation_function": ACTIVATIONS[config.feed_forward],
        "layer_norm_epsilon": config.norm_epsilon,
        "tie_word_embeddings": tied,
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
    }
    return values, theirs

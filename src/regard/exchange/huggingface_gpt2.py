"""GPT-2 (Radford et al. 2019): a decoder alone, pre-norm, with learned positions.

Its linear maps are laid [inputs, outputs], and query, key and value are one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.exchange.foreign import ACTIVATIONS, FEED_FORWARDS, Foreign, refuse_unless
from regard.exchange.names import Entry, entry, linear, to_ours, to_theirs
from regard.exchange.positions import position_table
from regard.folder.tensors import Tensors

# Masks that old files hold, and the output's copy of the table.
IGNORED = r"\.attn\.(masked_)?bias$|^lm_head\.weight$"


def config_of(values: Mapping[str, Any], theirs: Mapping[str, np.ndarray]) -> ModelConfig:
    for key, expected in (
        ("scale_attn_weights", True),
        ("scale_attn_by_inverse_layer_idx", False),
        ("add_cross_attention", False),
    ):
        refuse_unless(values.get(key, expected) == expected, key, values.get(key), expected)
    end = values.get("eos_token_id", 50256)
    return ModelConfig(
        architecture="decoder-only",
        source_vocab_size=values["vocab_size"],
        target_vocab_size=values["vocab_size"],
        num_decoder_layers=values["n_layer"],
        d_model=values["n_embd"],
        d_ff=values.get("n_inner") or 4 * values["n_embd"],
        num_heads=values["n_head"],
        position="learned",
        max_positions=values["n_positions"],
        scaled_embedding=False,
        norm_epsilon=values.get("layer_norm_epsilon", 1e-5),
        norm_placement="pre",
        feed_forward=FEED_FORWARDS.of(
            {"activation_function": "gelu_new", **values}, "activation_function"
        ),
        tied="none" if values.get("tie_word_embeddings") is False else "all",
        pad_id=_or(values.get("pad_token_id"), end),
        bos_id=_or(values.get("bos_token_id"), end),
        eos_id=end,
    )


def _or(value: int | None, other: int) -> int:
    return other if value is None else value


def table(config: ModelConfig) -> Iterator[Entry]:
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
    inside = re.compile(r"^(h\.|wte\.|wpe\.|ln_f\.)")
    theirs = {
        f"transformer.{name}" if inside.match(name) else name: tensor
        for name, tensor in theirs.items()
    }
    return to_ours(table(config), theirs, IGNORED)


FOREIGN = Foreign(("gpt2",), "write", config_of, tensors_of)


def exported(config: ModelConfig, ours: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], Tensors]:
    """config.json and tensors of a GPT-2 folder; positions of a formula become a table of them."""
    for name, value, expected in (
        ("norm", config.norm, "layer"),
        ("norm_placement", config.norm_placement, "pre"),
        ("embedding_norm", config.embedding_norm, False),
        ("d_k", config.head_dim, config.d_model // config.num_heads),
        ("output_bias", config.output_bias, False),
    ):
        refuse_unless(value == expected, name, value, expected, where="a GPT-2 folder")
    refuse_unless(
        config.feed_forward in ACTIVATIONS,
        "feed_forward",
        config.feed_forward,
        " or ".join(ACTIVATIONS),
        where="a GPT-2 folder",
    )
    refuse_unless(
        config.position in ("learned", "sinusoidal", "none"),
        "position",
        config.position,
        "learned, sinusoidal or none",
        where="a GPT-2 folder",
    )
    ours = dict(ours)
    if config.position != "learned":
        ours["target.position.weight"] = position_table(config, config.max_positions)
    scale = config.d_model**0.5 if config.scaled_embedding else 1.0
    tied = config.tied != "none" and not config.scaled_embedding
    theirs = to_theirs((each for each in table(config) if each.theirs != "lm_head.weight"), ours)
    output = ours.get("output.weight", ours["target.embedding.weight"])
    theirs["transformer.wte.weight"] = theirs["transformer.wte.weight"] * np.float32(scale)
    if not tied:
        theirs["lm_head.weight"] = output
    values: dict[str, Any] = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": config.target_vocab_size,
        "n_positions": config.max_positions,
        "n_embd": config.d_model,
        "n_layer": config.num_decoder_layers,
        "n_head": config.num_heads,
        "n_inner": config.d_ff,
        "activation_function": ACTIVATIONS[config.feed_forward],
        "layer_norm_epsilon": config.norm_epsilon,
        "tie_word_embeddings": tied,
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
    }
    return values, theirs

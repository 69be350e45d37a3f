"""BART, Marian (OPUS-MT) and Pegasus: the paper's model with other norms, positions and embeddings.

    marian    post-norm, sinusoids                      Junczys-Dowmunt et al. 2018
    pegasus   pre-norm, sinusoids                       Zhang et al. 2020
    bart      post-norm, learned positions, a norm after the embedding   Lewis et al. 2020

Marian and Pegasus have the sines of their positions in the first half of d_model and the cosines in the second; the
paper alternates them. So our feature 2i is their i, and our 2i + 1 their d_model / 2 + i: every tensor that reads or
writes d_model is reordered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.exchange import name_table as names
from regard.exchange.name_table import ACTIVATIONS, Family, TensorEntry, entry, linear
from regard.folder.tensors import Tensors

_SETTINGS = {
    "vocab_size": "source_vocab_size",
    "d_model": "d_model",
    "encoder_layers": "num_encoder_layers",
    "decoder_layers": "num_decoder_layers",
    "encoder_ffn_dim": "d_ff",
    "decoder_ffn_dim": "d_ff",
    "encoder_attention_heads": "num_heads",
    "decoder_attention_heads": "num_heads",
    "max_position_embeddings": "max_positions",
    "pad_token_id": "pad_id",
    "decoder_start_token_id": "bos_id",
    "eos_token_id": "eos_id",
}
# Copies of the shared table, sinusoids, and heads of other tasks.
_IGNORED = r"embed_tokens\.weight$|lm_head\.weight$|embed_positions\.weight$|^classification_head\."
_BART_OFFSET = 2
"""unused rows at the beginning of BART's position table"""


def config_of(values: Mapping[str, Any], theirs: Mapping[str, np.ndarray]) -> ModelConfig:
    kind = values["model_type"]
    shared = values.get("share_encoder_decoder_embeddings", True)
    untied = values.get("tie_word_embeddings") is False
    if not shared and untied:
        names.require(values, "tie_word_embeddings", True)
    own_vocabulary = None if shared else values.get("decoder_vocab_size")
    return ModelConfig(
        **names.settings_of(_SETTINGS, values),
        target_vocab_size=own_vocabulary or values["vocab_size"],
        position="learned" if kind == "bart" else "sinusoidal",
        scaled_embedding=bool(values.get("scale_embedding")),
        norm_placement="pre" if kind == "pegasus" else "post",
        embedding_norm=kind == "bart",
        feed_forward=names.feed_forward_of(values, "activation_function"),
        tied="none" if untied else "all" if shared else "decoder",
        output_bias=bool(np.any(theirs.get("final_logits_bias", 0))),
    )


def table(config: ModelConfig) -> Iterator[TensorEntry]:
    if config.tied == "all":
        yield entry("model.shared.weight", "source.embedding.weight")
    else:
        yield entry("model.encoder.embed_tokens.weight", "source.embedding.weight")
        yield entry("model.decoder.embed_tokens.weight", "target.embedding.weight")
    if config.tied == "none":
        yield entry("lm_head.weight", "output.weight")
    if config.output_bias:
        yield entry("final_logits_bias", "output.bias")
    num_layers = {"encoder": config.num_encoder_layers, "decoder": config.num_decoder_layers}
    for side, stack in (("source", "encoder"), ("target", "decoder")):
        if config.position == "learned":
            yield entry(f"model.{stack}.embed_positions.weight", f"{side}.position.weight")
        if config.embedding_norm:
            yield from linear(f"model.{stack}.layernorm_embedding", f"{side}.norm")
        for i in range(num_layers[stack]):
            yield from _layer(f"model.{stack}.layers.{i}", f"{stack}.layers.{i}")
        if config.norm_placement == "pre":
            yield from linear(f"model.{stack}.layer_norm", f"{stack}.final_norm")


def _layer(theirs: str, ours: str) -> Iterator[TensorEntry]:
    attentions = [("self_attn", "self_attention"), ("encoder_attn", "cross_attention")]
    for their_name, our_name in attentions if ours.startswith("decoder") else attentions[:1]:
        for part, name in (("q", "query"), ("k", "key"), ("v", "value"), ("out", "output")):
            yield from linear(f"{theirs}.{their_name}.{part}_proj", f"{ours}.{our_name}.{name}")
        yield from linear(f"{theirs}.{their_name}_layer_norm", f"{ours}.{our_name}.norm")
    yield from linear(f"{theirs}.fc1", f"{ours}.feed_forward.hidden")
    yield from linear(f"{theirs}.fc2", f"{ours}.feed_forward.output")
    yield from linear(f"{theirs}.final_layer_norm", f"{ours}.feed_forward.norm")


def _halves(d_model: int) -> np.ndarray:
    """Their feature for each of ours."""
    return np.arange(d_model).reshape(2, -1).T.reshape(-1)


def tensors_of(theirs: Mapping[str, np.ndarray], config: ModelConfig) -> Tensors:
    theirs = dict(theirs)
    bias = theirs.pop("final_logits_bias", None)
    if config.output_bias and bias is not None:
        theirs["final_logits_bias"] = bias.reshape(-1)
    if config.position == "learned":
        for stack in ("encoder", "decoder"):
            name = f"model.{stack}.embed_positions.weight"
            if name in theirs:
                theirs[name] = theirs[name][_BART_OFFSET:]
    ours = names.to_ours(table(config), theirs, _IGNORED)
    is_moved = config.position == "sinusoidal"
    return names.reordered(ours, _halves(config.d_model)) if is_moved else ours


FAMILY = Family(("marian", "bart", "pegasus"), "translate", config_of, tensors_of)


def exported(
    config: ModelConfig, ours: Mapping[str, np.ndarray], longest: int
) -> tuple[dict[str, Any], Tensors]:
    """config.json and tensors of a Marian folder, or a Pegasus one where the norm comes first."""
    kind = "pegasus" if config.norm_placement == "pre" else "marian"
    names.require_exportable(
        f"a {kind} folder",
        config,
        position=("sinusoidal",),
        d_k=(None, config.d_model // config.num_heads),
        norm=("layer",),
        norm_epsilon=(1e-5,),
        embedding_norm=(False,),
        feed_forward=tuple(ACTIVATIONS),
        tied=("all",) if kind == "pegasus" else ("all", "decoder"),
    )
    back = np.argsort(_halves(config.d_model))
    theirs = names.to_theirs(table(config), names.reordered(ours, back))
    bias = theirs.get("final_logits_bias", np.zeros(config.target_vocab_size, np.float32))
    theirs["final_logits_bias"] = bias.reshape(1, -1)
    if config.tied == "decoder":
        theirs["lm_head.weight"] = theirs["model.decoder.embed_tokens.weight"]
    model_class = "PegasusForConditionalGeneration" if kind == "pegasus" else "MarianMTModel"
    values: dict[str, Any] = {
        "model_type": kind,
        "architectures": [model_class],
        **names.settings_for(_SETTINGS, config),
        "activation_function": ACTIVATIONS[config.feed_forward],
        "max_position_embeddings": max(config.max_positions, 2 * longest + 64),
        "scale_embedding": config.scaled_embedding,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "forced_eos_token_id": None,
    }
    if kind == "marian":
        values["share_encoder_decoder_embeddings"] = config.tied == "all"
        values["decoder_vocab_size"] = config.target_vocab_size
    return values, theirs

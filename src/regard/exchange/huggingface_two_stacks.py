"""BART, Marian (OPUS-MT), Pegasus and T5: an encoder and a decoder with other norms, positions and embeddings.

marian    post-norm, sinusoids                                          Junczys-Dowmunt et al. 2018
pegasus   pre-norm, sinusoids                                           Zhang et al. 2020
bart      post-norm, learned positions, a norm after the embedding      Lewis et al. 2020
t5        pre-norm with RMS norms, relative positions, no biases        Raffel et al. 2020
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.exchange import name_table as names
from regard.exchange.name_table import ACTIVATIONS, Family, NameTable, Values
from regard.folder.tensors import Tensors, expected_tensors

_BART, _T5 = names.tables()["bart"], names.tables()["t5"]
# Copies of the shared table, sinusoids, and heads of other tasks.
_BART_IGNORED = r"embed_tokens\.weight$|lm_head\.(weight|bias)$|embed_positions\.weight$|^classification_head\."


def _bart_config(values: Values, theirs: Tensors) -> ModelConfig:
    kind = values["model_type"]
    shared = values.get("share_encoder_decoder_embeddings", True)
    untied = values.get("tie_word_embeddings") is False
    if not shared and untied:
        names.require(values, "tie_word_embeddings", True)
    own_vocabulary = None if shared else values.get("decoder_vocab_size")
    return ModelConfig(
        **names.settings_of(_BART["settings"], values),
        target_vocab_size=own_vocabulary or values["vocab_size"],
        position="learned" if kind == "bart" else "sinusoidal",
        scaled_embedding=bool(values.get("scale_embedding")),
        norm_placement="pre" if kind == "pegasus" else "post",
        embedding_norm=kind == "bart",
        feed_forward=names.feed_forward_of(values, "activation_function"),
        tied="none" if untied else "all" if shared else "decoder",
        output_bias=bool(np.any(theirs.get("final_logits_bias", 0))),
    )


def _bart_names(config: ModelConfig) -> NameTable:
    own = {} if config.tied == "all" else {"source.embedding": "model.encoder.embed_tokens"}
    return {**_BART["modules"], **own}


def _bart_tensors(theirs: Tensors, config: ModelConfig) -> Tensors:
    theirs = dict(theirs)
    theirs["lm_head.bias"] = theirs.pop("final_logits_bias", np.zeros(0)).reshape(-1)
    for name in theirs:
        if config.position == "learned" and name.endswith("embed_positions.weight"):
            theirs[name] = theirs[name][2:]  # its first rows are unused
    ours = names.to_ours(_bart_names(config), expected_tensors(config), theirs, _BART_IGNORED)
    return _reordered(ours, _halves(config)) if config.position == "sinusoidal" else ours


def _halves(config: ModelConfig) -> np.ndarray:
    """Their feature for each of ours.

    Marian and Pegasus have the sines of their positions in the first half of d_model and the cosines in the second;
    the paper alternates them. So every tensor that reads or writes d_model is reordered.
    """
    return np.arange(config.d_model).reshape(2, -1).T.reshape(-1)


def _reordered(tensors: Mapping[str, np.ndarray], order: np.ndarray) -> Tensors:
    """The same model with the features of d_model in another order."""
    moved: Tensors = {}
    for name, tensor in tensors.items():
        *_, part, kind = name.split(".")
        if name == "output.weight" or (part in ("embedding", "query", "key", "value", "hidden") and kind == "weight"):
            tensor = np.ascontiguousarray(tensor[:, order])
        elif part in ("norm", "final_norm", "output") and name != "output.bias":
            tensor = np.ascontiguousarray(tensor[order])
        moved[name] = tensor
    return moved


def to_bart(config: ModelConfig, ours: Mapping[str, np.ndarray], longest: int) -> tuple[dict[str, Any], Tensors]:
    """config.json and tensors of a Marian folder, or a Pegasus one where the norm comes first."""
    kind = "pegasus" if config.norm_placement == "pre" else "marian"
    names.require_exportable(
        f"a {kind} folder",
        config,
        position=("sinusoidal",),
        norm=("layer",),
        norm_epsilon=(1e-5,),
        embedding_norm=(False,),
        feed_forward=tuple(ACTIVATIONS),
        tied=("all",) if kind == "pegasus" else ("all", "decoder"),
    )
    table, ours = _bart_names(config), _reordered(ours, np.argsort(_halves(config)))
    theirs = {names.their_name(table, name): tensor for name, tensor in ours.items()}
    bias = theirs.pop("lm_head.bias", np.zeros(config.target_vocab_size, np.float32))
    theirs["final_logits_bias"] = bias.reshape(1, -1)
    if config.tied == "decoder":
        theirs["lm_head.weight"] = theirs["model.decoder.embed_tokens.weight"]
    values: dict[str, Any] = {
        "model_type": kind,
        "architectures": ["PegasusForConditionalGeneration" if kind == "pegasus" else "MarianMTModel"],
        **{key: getattr(config, name) for key, name in _BART["settings"].items()},
        "activation_function": ACTIVATIONS[config.feed_forward],
        "max_position_embeddings": max(config.max_positions, 2 * longest + 64),
        "scale_embedding": config.scaled_embedding,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "forced_eos_token_id": None,
    }
    positions = names.position_table(config, values["max_position_embeddings"])[:, np.argsort(_halves(config))]
    for stack in ("encoder", "decoder"):  # transformers would compute them, and warn that they were missing
        theirs[f"model.{stack}.embed_positions.weight"] = np.ascontiguousarray(positions)
    if kind == "marian":
        values["share_encoder_decoder_embeddings"] = config.tied == "all"
        values["decoder_vocab_size"] = config.target_vocab_size
    return values, theirs


# Copies of the shared table, and an unused bias of the cross-attention in old files.
_T5_IGNORED = r"embed_tokens\.weight$|lm_head\.weight$|EncDecAttention\.relative_attention_bias\.weight$"


def _t5_config(values: Values, theirs: Tensors) -> ModelConfig:
    # Whether its output divides by sqrt(d_model), as the first T5 does; version 1.1 says that it does not.
    scaled = values.get("scale_decoder_outputs", values.get("tie_word_embeddings")) is not False
    shared = theirs.get("shared.weight", np.zeros(0))
    if scaled and not np.array_equal(theirs.get("lm_head.weight", shared), shared):
        names.require({"tie_word_embeddings": True}, "tie_word_embeddings", False, "false where lm_head differs")
    pad_id = values.get("pad_token_id", 0)
    return ModelConfig(
        **names.settings_of(_T5["settings"], values),
        source_vocab_size=values["vocab_size"],
        target_vocab_size=values["vocab_size"],
        num_encoder_layers=values["num_layers"],
        num_decoder_layers=values.get("num_decoder_layers") or values["num_layers"],
        position="relative",
        num_buckets=values.get("relative_attention_num_buckets", 32),
        max_distance=values.get("relative_attention_max_distance", 128),
        norm="rms",
        norm_epsilon=values.get("layer_norm_epsilon", 1e-6),
        norm_placement="pre",
        feed_forward=names.feed_forward_of(values, "feed_forward_proj", "relu"),
        tied="all" if scaled else "none",
        pad_id=pad_id,
        bos_id=values.get("decoder_start_token_id", pad_id),
        eos_id=values.get("eos_token_id", 1),
    )


def _t5_tensors(theirs: Tensors, config: ModelConfig) -> Tensors:
    """Its differences go into the weights, so that the formulas stay those of the paper.

    Its attention scores are not divided by sqrt(d_k), so the query weights are multiplied by it. Its embedding is not
    multiplied by sqrt(d_model), so the table is divided by it; the first T5 does the same before its output. The
    biases that it lacks are zero.
    """
    if "shared.weight" in theirs:
        theirs = {"lm_head.weight": theirs["shared.weight"], **theirs}
    shapes = expected_tensors(config)
    weights = [name for name in shapes if not name.endswith(".bias")]
    table = {ours: name if config.is_gated else name.replace("wi_0", "wi") for ours, name in _T5["modules"].items()}
    ours = names.to_ours(table, weights, theirs, _T5_IGNORED)
    for name in weights:
        if name.endswith(".embedding.weight"):
            ours[name] = ours[name] / np.float32(config.d_model**0.5)
        if name.endswith(".query.weight"):
            ours[name] = ours[name] * np.float32(config.head_dim**0.5)
    return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()} | ours


BART = Family("translate", _bart_config, _bart_tensors)
T5 = Family("translate", _t5_config, _t5_tensors)

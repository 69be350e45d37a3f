"""GPT-2 (Radford et al. 2019), a decoder that writes, and BERT (Devlin et al. 2019), an encoder that fills in blanks.

Without the head that fills in, a BERT gives vectors, as those of sentence-transformers do (Reimers and Gurevych 2019).
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.exchange import name_table as names
from regard.exchange.name_table import ACTIVATIONS, Family, Values
from regard.folder.tensors import Tensors, expected_tensors

_PARTS = ("query", "key", "value")
_GPT2, _BERT = names.tables()["gpt2"], names.tables()["bert"]
_TRANSPOSED = re.compile(r"\.c_\w+\.weight$")  # linear maps, which are laid out [inputs, outputs]
# Masks of old files, and the output's copy of the embedding table.
_GPT2_IGNORED = r"\.attn\.(masked_)?bias$|^lm_head\.weight$"


def _gpt2_config(values: Values, theirs: Tensors) -> ModelConfig:
    names.require(values, "scale_attn_weights", True)
    names.require(values, "scale_attn_by_inverse_layer_idx", False)
    names.require(values, "add_cross_attention", False)
    end = values.get("eos_token_id", 50256)
    return ModelConfig(
        **names.settings_of(_GPT2["settings"], values),
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


def _gpt2_tensors(theirs: Tensors, config: ModelConfig) -> Tensors:
    split: Tensors = {}
    for name, tensor in theirs.items():
        name = re.sub(r"^(?=(h|wte|wpe|ln_f)\.)", "transformer.", name)  # of the bare model
        tensor = tensor.T if _TRANSPOSED.search(name) else tensor
        if ".c_attn." in name:
            for part, own in zip(_PARTS, np.split(tensor, 3), strict=True):
                split[name.replace("c_attn", part)] = own
        else:
            split[name] = tensor
    return names.to_ours(_GPT2["modules"], expected_tensors(config), split, _GPT2_IGNORED)


def to_gpt2(config: ModelConfig, ours: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], Tensors]:
    """config.json and tensors of a GPT-2 folder; positions by formula become a table."""
    names.require_exportable(
        "a GPT-2 folder",
        config,
        norm=("layer",),
        norm_placement=("pre",),
        embedding_norm=(False,),
        output_bias=(False,),
        feed_forward=tuple(ACTIVATIONS),
        position=("learned", "sinusoidal", "none"),
    )
    ours = dict(ours)
    if config.position != "learned":
        ours["target.position.weight"] = names.position_table(config, config.max_positions)
    tied = config.tied != "none" and not config.scaled_embedding
    if not tied:
        ours.setdefault("output.weight", ours["target.embedding.weight"])
    if config.scaled_embedding:
        ours["target.embedding.weight"] = ours["target.embedding.weight"] * np.float32(config.d_model**0.5)
    theirs = {names.their_name(_GPT2["modules"], name): tensor for name, tensor in ours.items()}
    for name in [name for name in theirs if ".attn.query." in name]:
        parts = [theirs.pop(name.replace("query", part)) for part in _PARTS]
        theirs[name.replace("query", "c_attn")] = np.concatenate(parts)
    for name in filter(_TRANSPOSED.search, theirs):
        theirs[name] = np.ascontiguousarray(theirs[name].T)
    values: dict[str, Any] = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        **{key: getattr(config, name) for key, name in _GPT2["settings"].items()},
        "n_inner": config.d_ff,
        "activation_function": ACTIVATIONS[config.feed_forward],
        "layer_norm_epsilon": config.norm_epsilon,
        "tie_word_embeddings": tied,
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
    }
    return values, theirs


# The next-sentence head, and copies of the embedding table and of the output's bias.
_BERT_IGNORED = r"pooler\.|seq_relationship\.|predictions\.decoder\.|position_ids$|token_type_embeddings\.weight$"


def _bert_config(values: Values, theirs: Tensors) -> ModelConfig:
    names.require(values, "position_embedding_type", "absolute")
    names.require(values, "is_decoder", False)
    has_head = any(name.startswith("cls.") for name in theirs)
    return ModelConfig(
        **names.settings_of(_BERT["settings"], values),
        architecture="encoder-only",
        source_vocab_size=values["vocab_size"],
        target_vocab_size=values["vocab_size"],
        position="learned",
        scaled_embedding=False,
        norm_epsilon=values.get("layer_norm_eps", 1e-12),
        embedding_norm=True,
        feed_forward=names.feed_forward_of(values, "hidden_act"),
        output_bias=has_head,
        output_transform=has_head,
        pad_id=values.get("pad_token_id") or 0,
    )


def _bert_tensors(theirs: Tensors, config: ModelConfig) -> Tensors:
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):  # in the first published files
        theirs = {name.replace(old, new): tensor for name, tensor in theirs.items()}
    theirs = {re.sub(r"^(?=(embeddings|encoder|pooler)\.)", "bert.", name): theirs[name] for name in theirs}
    ours = names.to_ours(_BERT["modules"], expected_tensors(config), theirs, _BERT_IGNORED)
    # It adds a segment vector to every word. Here a text is one segment, so that of the first joins the positions.
    segments = theirs.get("bert.embeddings.token_type_embeddings.weight")
    if segments is not None:
        ours["source.position.weight"] = ours["source.position.weight"] + segments[0]
    return ours


GPT2 = Family("write", _gpt2_config, _gpt2_tensors)
BERT = Family("fill", _bert_config, _bert_tensors)

"""Llama (Touvron et al. 2023) and the models made like it: Mistral, Qwen 2 and Qwen 3, from three kinds of files.

    Hugging Face folders   config.json names the sizes; a head's features are two halves
    GGUF                   the same models for llama.cpp; Llama's features are in our order (`gguf_file`)
    llama2.c               one file: seven numbers, then the tensors; features in our order (`llama2c`)

A rotary pair is two neighbours here, as in the paper of rotary positions (Su et al. 2021). Elsewhere the first half of a
head's features are the first partners, so the rows of queries and keys are put into our order.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from regard.config import ChatTemplate, DecodeConfig, GenerateConfig, ModelConfig
from regard.config.model import Biases, FeedForwardKind
from regard.errors import ModelError
from regard.exchange import name_table as names
from regard.exchange.name_table import Family, NameTable, Values
from regard.folder.manifest import Manifest, TokenizerFiles
from regard.folder.tensors import Tensors, expected_tensors

LLAMA: dict[str, Any] = dict(
    architecture="decoder-only", position="rotary", scaled_embedding=False, norm="rms", norm_placement="pre"
)
"""settings of every model of the family"""
HUGGING_FACE: NameTable = names.tables()["llama"]["modules"]
GGUF: NameTable = names.tables()["gguf"]["modules"]
_TEMPLATES: dict[ChatTemplate, tuple[str, str]] = {
    "chatml": ("<|im_start|>", "<|im_end|>"),
    "llama3": ("<|start_header_id|>", "<|eot_id|>"),
    "llama2": ("<<SYS>>", "</s>"),
}
"""by our name a mark that a template of this kind has, and the token that ends a turn"""
_SYSTEM = re.compile(
    r"<\|im_start\|>system(?:\\n|\n)([^'\"{}<>]+)<\|im_end\|>"
)  # the instructions of a conversation that has none
_WRITE = DecodeConfig(method="sample", top_p=0.95)
_CHAT = DecodeConfig(method="sample", temperature=0.2, top_p=0.9)  # as SmolLM2's makers advise for small models
_IGNORED = r"rotary_emb\.inv_freq$|^lm_head\.weight$|^rope_freqs\.weight$"  # angles, and a copy of the embedding table


def config_of(values: Values, theirs: Tensors, table: NameTable = HUGGING_FACE) -> ModelConfig:
    """The configuration of a config.json; biases and a table of the output's own are seen from the tensors."""
    heads, width = values["num_attention_heads"], values["hidden_size"]
    if not 0 < values["num_hidden_layers"] <= len(theirs):
        raise ValueError(f"{values['num_hidden_layers']} layers, but {len(theirs)} tensors")
    of_first = ("self_attention.query.bias", "feed_forward.output.bias", "self_attention.query_norm.weight")
    query, output, norm = (names.their_name(table, f"decoder.layers.0.{ours}") in theirs for ours in of_first)
    biases: Biases = "all" if output else "query-key-value" if query else "none"
    is_tied = values.get("tie_word_embeddings", False) or f"{table['output']}.weight" not in theirs
    ends = values.get("eos_token_id")
    end = int((ends[0] if isinstance(ends, list) else ends) or 0)
    begin = values.get("bos_token_id")
    pad = values.get("pad_token_id")
    return ModelConfig(
        **names.settings_of(names.tables()["llama"]["settings"], values),
        **_rotary(values),
        **LLAMA,
        source_vocab_size=values["vocab_size"],
        d_k=values.get("head_dim") or width // heads,
        num_key_value_heads=values.get("num_key_value_heads") or heads,
        query_key_norm=norm,
        window=_window(values),
        feed_forward=cast(FeedForwardKind, f"gated-{names.feed_forward_of(values, 'hidden_act', 'silu')}"),
        biases=biases,
        tied="all" if is_tied else "none",
        pad_id=end if pad is None else pad,
        bos_id=end if begin is None else begin,
        eos_id=end,
    )


def tensors_of(
    theirs: Tensors, config: ModelConfig, table: NameTable = HUGGING_FACE, *, halves: bool = True
) -> Tensors:
    """halves: the first partners of all rotary pairs stand before the second ones in a head."""
    ours = names.to_ours(table, expected_tensors(config), theirs, _IGNORED)
    if not halves:
        return ours
    order = np.arange(config.head_dim).reshape(2, -1).T.reshape(-1)
    for name, tensor in ours.items():
        if any(f".{part}{norm}." in name for part in ("query", "key") for norm in ("", "_norm")):
            by_head = tensor.reshape(-1, config.head_dim, *tensor.shape[1:])
            ours[name] = np.ascontiguousarray(by_head[:, order].reshape(tensor.shape))
    return ours


def _rotary(values: Values) -> dict[str, Any]:
    """Base and scaling, which newer folders have in one place."""
    found: Mapping[str, Any] = values.get("rope_parameters") or values.get("rope_scaling") or {}
    base = found.get("rope_theta", values.get("rope_theta", 10000.0))
    kind = found.get("rope_type", found.get("type", "default"))
    settings: dict[str, Any] = {"rotary_base": float(base)}
    if kind == "default":
        return settings
    if kind not in ("linear", "llama3"):
        raise ModelError(
            f"rope_type must be default, linear or llama3 for regard to compute it: got {kind!r}; import another"
        )
    settings["rotary_factor"] = float(found["factor"])
    if kind == "llama3":
        names.require(found, "low_freq_factor", 1.0)
        names.require(found, "high_freq_factor", 4.0)
        settings["rotary_length"] = found["original_max_position_embeddings"]
    return settings


def _window(values: Values) -> int | None:
    """Words that a word sees; None where it sees all, or where no text is longer."""
    window = values.get("sliding_window")
    if not window or values.get("use_sliding_window") is False or window >= values["max_position_embeddings"]:
        return None
    kinds = set(values.get("layer_types") or ("sliding_attention",))
    if values["model_type"] in ("qwen2", "qwen3") and not values.get("layer_types"):
        kinds = {"sliding_attention"} if values.get("max_window_layers", 28) == 0 else {"some layers"}
    if kinds == {"full_attention"}:
        return None
    names.require({"layer_types": sorted(kinds)}, "layer_types", ["sliding_attention"], "alike in all layers")
    return int(window)


def divisors_of(config: ModelConfig) -> np.ndarray:
    """The divisors of the angle of each rotary pair in Llama 3's scaling; see `regard.model.position`."""
    plain = config.rotary_base ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
    kept = np.clip((plain * config.rotary_length / math.tau - 1) / 3, 0, 1)
    return np.asarray(1 / (kept + (1 - kept) / config.rotary_factor))


class DecoderFiles(NamedTuple):
    """A model that was read."""

    kind: str
    config: ModelConfig
    tensors: Tensors
    tokenizer: TokenizerFiles
    files: Mapping[str, bytes]
    ids: Mapping[str, int]  # the id of each token
    template: str = ""  # how a conversation is written, as a program in Jinja


def manifest_of(found: DecoderFiles, decode: DecodeConfig | None = None, **about: Any) -> Manifest:
    """config.json of a model folder of ours: a model with a chat template that regard knows chats, others write.

    A text begins with <|endoftext|> where there is one: that stood before every text in training, while a chat model may
    name the token that opens a turn.
    """
    config = replace(found.config, bos_id=found.ids.get("<|endoftext|>", found.config.bos_id))
    for name, (mark, end) in _TEMPLATES.items():
        if mark in found.template and end in found.ids:
            told = _SYSTEM.search(found.template)
            generate = GenerateConfig(chat_template=name, system=told[1] if told else "")
            config, decode = replace(config, eos_id=found.ids[end]), decode or _CHAT
            return Manifest(
                task="chat", model=config, tokenizer=found.tokenizer, decode=decode, generate=generate, **about
            )
    return Manifest(task="write", model=config, tokenizer=found.tokenizer, decode=decode or _WRITE, **about)


DECODER = Family("write", config_of, tensors_of)

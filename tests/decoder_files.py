"""Llama and Qwen 2 of transformers written as the files of other programs: GGUF by its own package, llama2.c by struct."""

import json
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import transformers as hf

NAMES = {
    "embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "self_attn.o": "attn_output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "model.layers": "blk", "mlp.": "ffn_",
    "self_attn.": "attn_", "_proj": "", "model.": "",
}  # fmt: skip


def neighbours(weight: np.ndarray, heads: int) -> np.ndarray:
    """`permute` of llama.cpp's and llama2.c's converters: halves of a head's rows become neighbours."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def arrays_of(model: hf.PreTrainedModel, is_turned: bool) -> dict[str, np.ndarray]:
    config, arrays = model.config, {}
    for name, tensor in model.state_dict().items():
        array = tensor.numpy()
        if is_turned and ("q_proj" in name or "k_proj" in name):
            array = neighbours(array, config.num_attention_heads if "q_proj" in name else config.num_key_value_heads)
        arrays[name] = array
    if config.tie_word_embeddings:
        del arrays["lm_head.weight"]
    return arrays


def write_gguf(path: Path, model: hf.PreTrainedModel, folder: Path, template: str = "", **changed: Any) -> Path:
    """With the tokenizer.json of a folder."""
    config, kind = model.config, model.config.model_type
    writer = gguf.GGUFWriter(path, kind)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(model.model.layers[0].self_attn.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    described = json.loads((folder / "tokenizer.json").read_text())
    tokens = sorted(described["model"]["vocab"], key=described["model"]["vocab"].__getitem__)
    special = {each["content"] for each in described["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_token_merges([" ".join(each) for each in described["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    if template:
        writer.add_chat_template(template)
    for name, array in arrays_of(model, kind == "llama").items():
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_llama2c(path: Path, model: hf.PreTrainedModel, tokens: list[str], scores: list[float]) -> Path:
    """The checkpoint, and tokenizer.bin beside it."""
    config, arrays = model.config, arrays_of(model, True)
    sizes = config.hidden_size, config.intermediate_size, config.num_hidden_layers, config.num_attention_heads
    sign = 1 if config.tie_word_embeddings else -1
    header = (*sizes, config.num_key_value_heads, sign * config.vocab_size, config.max_position_embeddings)
    own = "input_layernorm", *(f"self_attn.{part}_proj" for part in "qkvo"), "post_attention_layernorm"
    parts = (*own, *(f"mlp.{part}_proj" for part in ("gate", "down", "up")))
    layers = range(config.num_hidden_layers)
    listed = [arrays["model.embed_tokens.weight"]]
    listed += [arrays[f"model.layers.{i}.{part}.weight"] for part in parts for i in layers]
    listed += [arrays["model.norm.weight"], np.zeros(config.max_position_embeddings * (config.head_dim // 2) * 2)]
    if sign < 0:
        listed.append(arrays["lm_head.weight"])
    content = b"".join(np.ascontiguousarray(each, "<f4").tobytes() for each in listed)
    path.write_bytes(struct.pack("<7i", *header) + content)
    entries = [(score, token.replace("▁", " ").encode()) for token, score in zip(tokens, scores, strict=True)]
    packed = [struct.pack("<fi", score, len(token)) + token for score, token in entries]
    (path.parent / "tokenizer.bin").write_bytes(struct.pack("<i", 27) + b"".join(packed))
    return path

"""The weights of a configuration: names, shapes, and the three forms they are stored in.

Names are those of the model's state dict; a tied table is stored once, under its first name. The forms are
fp32, fp16, and int8 rows with scales. Needs no torch.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from regard.config import ModelConfig

WeightForm = Literal["fp32", "fp16", "int8"]
Tensors = dict[str, np.ndarray]

SCALE = "_scale"  # suffix of the name of an int8 tensor's scales


def expected_tensors(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor a model of this configuration has, with its shape."""
    return _of_recurrent(config) if config.is_recurrent else _of_transformer(config)


def _of_transformer(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    d_model, d_ff = config.d_model, config.d_ff
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(name: str, outputs: int, inputs: int, kind: str = "all") -> None:
        shapes[f"{name}.weight"] = (outputs, inputs)
        if config.biases in ("all", kind):
            shapes[f"{name}.bias"] = (outputs,)

    def norm(name: str) -> None:
        shapes[f"{name}.weight"] = (d_model,)
        if config.norm != "rms":
            shapes[f"{name}.bias"] = (d_model,)
        if config.norm == "batch":
            shapes[f"{name}.running_mean"] = shapes[f"{name}.running_variance"] = (d_model,)

    def embedding(name: str, vocab_size: int) -> None:
        if f"{name}.embedding.weight" not in tied_names(config):
            shapes[f"{name}.embedding.weight"] = (vocab_size, d_model)
        if config.position == "learned":
            shapes[f"{name}.position.weight"] = (config.max_positions, d_model)
        if config.embedding_norm:
            norm(f"{name}.norm")

    def stack(name: str, num_layers: int, attentions: list[str]) -> None:
        for layer in (f"{name}.layers.{i}" for i in range(num_layers)):
            for attention in (f"{layer}.{kind}" for kind in attentions):
                norm(f"{attention}.norm")
                for part in ("query", "key", "value"):
                    heads = config.num_heads if part == "query" else config.num_key_heads
                    linear(f"{attention}.{part}", heads * config.head_dim, d_model, "query-key-value")
                for part in ("query", "key") if config.query_key_norm else ():
                    shapes[f"{attention}.{part}_norm.weight"] = (config.head_dim,)
                linear(f"{attention}.output", d_model, config.d_attention)
            norm(f"{layer}.feed_forward.norm")
            linear(f"{layer}.feed_forward.hidden", d_ff, d_model)
            if config.is_gated:
                linear(f"{layer}.feed_forward.gate", d_ff, d_model)
            linear(f"{layer}.feed_forward.output", d_model, d_ff)
        if config.position == "relative":
            shapes[f"{name}.position_bias.weight"] = (config.num_buckets, config.num_heads)
        if config.norm_placement == "pre":
            norm(f"{name}.final_norm")

    if config.has_encoder:
        embedding("source", config.source_vocab_size)
        stack("encoder", config.num_encoder_layers, ["self_attention"])
    if config.has_decoder:
        embedding("target", config.target_vocab_size)
        stack("decoder", config.num_decoder_layers, ["self_attention"] + ["cross_attention"] * config.has_encoder)
    if config.output_transform:
        linear("transform.hidden", d_model, d_model)
        norm("transform.norm")
    last = config.target_vocab_size if config.has_decoder else config.source_vocab_size
    if config.tied == "none":
        shapes["output.weight"] = (last, d_model)
    if config.output_bias:
        shapes["output.bias"] = (last,)
    return shapes


def _of_recurrent(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    d_model, d_state, attention = config.d_model, config.d_state, config.attention
    num_gates = {"rnn": 1, "gru": 3, "lstm": 4}[config.architecture]
    num_parts = 2 if config.architecture == "lstm" else 1
    shapes: dict[str, tuple[int, ...]] = {"source.embedding.weight": (config.source_vocab_size, d_model)}

    def linear(name: str, outputs: int, inputs: int) -> None:
        shapes.update({f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)})

    def cell(name: str, inputs: int, width: int) -> None:
        shapes[f"{name}.weight_ih_l0"] = (num_gates * width, inputs)
        shapes[f"{name}.weight_hh_l0"] = (num_gates * width, width)
        shapes[f"{name}.bias_ih_l0"] = shapes[f"{name}.bias_hh_l0"] = (num_gates * width,)

    for i in range(config.num_encoder_layers):
        for direction in ("forwards", "backwards"):
            cell(f"encoder.layers.{i}.{direction}", d_state if i else d_model, d_state // 2)
    if config.tied != "all":
        shapes["target.embedding.weight"] = (config.target_vocab_size, d_model)
    outputs = config.num_decoder_layers * num_parts * d_state
    linear("decoder.initial", outputs, d_state if attention == "none" else d_state // 2)
    if attention == "additive":
        shapes["decoder.attention.energy"] = (d_state,)
        shapes["decoder.attention.query.weight"] = (d_state, d_state)
    if attention in ("additive", "general"):
        shapes["decoder.attention.key.weight"] = (d_state, d_state)
    fed = d_state if attention in ("none", "additive") else 0
    for i in range(config.num_decoder_layers):
        cell(f"decoder.layers.{i}", d_state if i else d_model + fed, d_state)
    linear("decoder.readout", 2 * d_model, 2 * d_state + d_model)
    if config.tied == "none":
        shapes["output.weight"] = (config.target_vocab_size, d_model)
    return shapes


def tied_names(config: ModelConfig) -> dict[str, str]:
    """For each name of the state dict that shares a tensor, the name it is stored under."""
    if config.tied == "none":
        return {}
    shares_source = not config.has_decoder or (config.has_encoder and config.tied == "all")
    first = "source.embedding.weight" if shares_source else "target.embedding.weight"
    ties = {"output.weight": first}
    if config.has_decoder and shares_source:
        ties["target.embedding.weight"] = first
    return ties


def is_table(name: str) -> bool:
    """Whether a matrix is looked up by row instead of multiplied with."""
    return name.endswith(("embedding.weight", "position.weight", "position_bias.weight"))


def stored_tensors(config: ModelConfig, form: WeightForm) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The content of model.safetensors: for each name its safetensors type and shape."""
    stored: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, shape in expected_tensors(config).items():
        if form == "int8" and len(shape) == 2:
            stored[name] = ("I8", shape if is_table(name) else shape[::-1])
            stored[name + SCALE] = ("F32", shape[:1])
        else:
            stored[name] = ("F16" if form == "fp16" else "F32", shape)
    return stored


def quantize(tensors: Mapping[str, np.ndarray]) -> Tensors:
    """Matrices as int8 with one float32 scale an output row; vectors unchanged.

    A matrix to multiply with is stored [inputs, outputs], as the CPU engine reads it; a table stays [rows,
    features]. The scales have so few bits that every product with an int8 is exact, so that quantizing
    dequantized weights gives the same bytes.
    """
    stored: Tensors = {}
    for name, tensor in tensors.items():
        if tensor.ndim != 2:
            stored[name] = tensor.astype(np.float32)
            continue
        largest = np.abs(tensor).max(axis=1).astype(np.float32)
        largest[largest < np.float32(1e-30)] = 0
        bits = (largest / np.float32(127)).view(np.uint32)
        # Rounded up to 17 bits of mantissa: times 7 more bits of int8 it still fits float32's 24.
        scale = ((bits + np.uint32(127)) & np.uint32(0xFFFFFF80)).view(np.float32)
        scale[largest == 0] = 1
        rows = np.rint(tensor / scale[:, None]).astype(np.int8)
        stored[name] = np.ascontiguousarray(rows if is_table(name) else rows.T)
        stored[name + SCALE] = scale
    return stored


def dequantize(stored: Mapping[str, np.ndarray]) -> Tensors:
    """The reverse of `quantize`, and of storing halves: float32 under the names of the state dict."""
    tensors: Tensors = {}
    for name, tensor in stored.items():
        if name.endswith(SCALE):
            continue
        if tensor.dtype == np.int8:
            rows = tensor if is_table(name) else tensor.T
            tensor = rows * stored[name + SCALE][:, None]
        tensors[name] = np.ascontiguousarray(tensor, dtype=np.float32)
    return tensors


def in_form(tensors: Mapping[str, np.ndarray], form: WeightForm) -> Tensors:
    """The tensors as they are stored."""
    if form == "int8":
        return quantize(tensors)
    kind = np.float16 if form == "fp16" else np.float32
    return {name: np.ascontiguousarray(tensor, dtype=kind) for name, tensor in tensors.items()}

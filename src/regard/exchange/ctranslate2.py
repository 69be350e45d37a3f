"""CTranslate2 folders, written through that package's own model specification; needs the package, not torch.

There, query, key and value of a self-attention are one linear map, and so are key and value of a cross-attention.
"""

from pathlib import Path
from typing import Any

import numpy as np

from regard.config import POSITIONS, ModelConfig
from regard.errors import needs_extra
from regard.exchange.huggingface_files import token_ids
from regard.exchange.name_table import position_table, require_exportable
from regard.files import write_file
from regard.folder.checkpoint import read_files, read_tensors
from regard.folder.manifest import read_manifest
from regard.folder.tensors import Tensors, WeightForm, tied_names

_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu-tanh": "GELUTanh", "silu": "SWISH"}


def export_folder(folder: Path, output: Path, weights: WeightForm) -> None:
    """Write a folder for ctranslate2.Translator, or ctranslate2.Generator for a decoder alone."""
    with needs_extra("ctranslate2", "writing a CTranslate2 folder"):
        from ctranslate2 import specs
    manifest = read_manifest(folder)
    config, files = manifest.model, read_files(folder, manifest)
    positions = tuple(each for each in POSITIONS if "ctranslate2" in POSITIONS[each])
    activations = (*_ACTIVATIONS, *(f"gated-{each}" for each in _ACTIVATIONS))
    kinds = dict(architecture=("encoder-decoder", "decoder-only"), position=positions, feed_forward=activations)
    kinds["biases"] = ("all", "none")
    embedding_norm = (True, False) if config.norm == "layer" else (False,)
    require_exportable("a CTranslate2 folder", config, **kinds, norm=("layer", "rms"), embedding_norm=embedding_norm)
    ours = read_tensors(folder, manifest)
    ours |= {name: ours[first] for name, first in tied_names(config).items()}
    target = _tokens(token_ids(manifest.tokenizer, files, "target"), config.target_vocab_size)
    num_positions = max(config.max_positions, 2 * manifest.longest + 64)
    decoder = _stack(specs.TransformerDecoderSpec, config, "decoder", ours, num_positions)
    spec: Any
    if config.has_encoder:
        encoder = _stack(specs.TransformerEncoderSpec, config, "encoder", ours, num_positions)
        spec = specs.TransformerSpec(encoder, decoder)
        source_ids = token_ids(manifest.tokenizer, files, "source")
        spec.register_source_vocabulary(_tokens(source_ids, config.source_vocab_size))
        spec.register_target_vocabulary(target)
        spec.config.decoder_start_token = target[config.bos_id]
        spec.config.add_source_eos = True
    else:
        spec = specs.TransformerDecoderModelSpec(decoder)
        spec.register_vocabulary(target)
    spec.config.bos_token = target[config.bos_id]
    spec.config.eos_token = target[config.eos_id]
    spec.config.unk_token = next((each for each in ("<unk>", "[UNK]") if each in target), target[0])
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.validate()
    spec.optimize(quantization={"fp32": None, "fp16": "float16", "int8": "int8"}[weights])
    output.mkdir(parents=True, exist_ok=True)
    spec.save(str(output))
    for name, content in files.items():
        write_file(output / name, content)


def _stack(kind: Any, config: ModelConfig, stack: str, ours: Tensors, num_positions: int) -> Any:
    from ctranslate2.specs import common_spec

    is_decoder = stack == "decoder"
    side = "target" if is_decoder else "source"
    options = {"with_encoder_attention": config.has_encoder} if is_decoder else {}
    activation = _ACTIVATIONS[config.feed_forward.removeprefix("gated-")]
    spec = kind(
        config.num_layers[is_decoder],
        config.num_heads,
        pre_norm=config.norm_placement == "pre",
        activation=common_spec.Activation[activation],
        layernorm_embedding=config.embedding_norm,
        ffn_glu=config.is_gated,
        rms_norm=config.norm == "rms",
        rotary_dim=0 if config.position == "rotary" else None,
        **options,
    )
    spec.scale_embeddings = config.d_model**0.5 if config.scaled_embedding else 1.0
    embeddings = spec.embeddings[0] if isinstance(spec.embeddings, list) else spec.embeddings
    embeddings.weight = ours[f"{side}.embedding.weight"]
    if config.position == "learned":
        spec.position_encodings.encodings = ours[f"{side}.position.weight"]
    elif config.position == "sinusoidal":
        spec.position_encodings.encodings = position_table(config, num_positions)
    if config.embedding_norm:
        _norm(spec.layernorm_embedding, f"{side}.norm", ours)
    for i, layer in enumerate(spec.layer):
        name = f"{stack}.layers.{i}"
        _attention(layer.self_attention, f"{name}.self_attention", ours, [3])
        if is_decoder and config.has_encoder:
            _attention(layer.attention, f"{name}.cross_attention", ours, [1, 2])
        _linear(layer.ffn.linear_0, ours, f"{name}.feed_forward.hidden")
        if config.is_gated:
            _linear(layer.ffn.linear_0_noact, ours, f"{name}.feed_forward.gate")
        _linear(layer.ffn.linear_1, ours, f"{name}.feed_forward.output")
        _norm(layer.ffn.layer_norm, f"{name}.feed_forward.norm", ours)
    if config.norm_placement == "pre":
        _norm(spec.layer_norm, f"{stack}.final_norm", ours)
    if is_decoder:
        spec.projection.weight = ours["output.weight"]
        if config.output_bias:
            spec.projection.bias = ours["output.bias"]
    return spec


def _attention(spec: Any, name: str, ours: Tensors, groups: list[int]) -> None:
    """groups: number of our maps (query, key, value) in each of theirs."""
    parts = iter([f"{name}.{part}" for part in ("query", "key", "value")])
    for linear, count in zip(spec.linear, groups, strict=False):
        _linear(linear, ours, *(next(parts) for _ in range(count)))
    _linear(spec.linear[-1], ours, f"{name}.output")
    _norm(spec.layer_norm, f"{name}.norm", ours)


def _linear(spec: Any, ours: Tensors, *names: str) -> None:
    spec.weight = np.concatenate([ours[f"{name}.weight"] for name in names])
    if f"{names[0]}.bias" in ours:
        spec.bias = np.concatenate([ours[f"{name}.bias"] for name in names])


def _norm(spec: Any, name: str, ours: Tensors) -> None:
    spec.gamma = ours[f"{name}.weight"]
    if f"{name}.bias" in ours:
        spec.beta = ours[f"{name}.bias"]


def _tokens(ids: dict[str, int], size: int) -> list[str]:
    """The tokens in the order of their ids; a vocabulary may have rows without a token."""
    tokens = {id: token for token, id in ids.items()}
    return [tokens.get(id, f"<unused{id}>") for id in range(size)]

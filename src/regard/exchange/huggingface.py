"""Hugging Face folders: read into a model folder of ours, and written from one.

What is read: config.json, the weights (safetensors), the tokenizer. Each family of models has its name table in a
file of its own beside this one. Nothing here needs torch or transformers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from regard.config import DecodeConfig
from regard.errors import ModelError, UsageError
from regard.exchange import (
    huggingface_bart,
    huggingface_bert,
    huggingface_gpt2,
    huggingface_t5,
    huggingface_tokenizer,
)
from regard.exchange.foreign import Foreign
from regard.files import write_file
from regard.folder.checkpoint import CARD, WEIGHTS, read_files, read_tensors, save
from regard.folder.manifest import CONFIG, Manifest, read_manifest
from regard.folder.tensors import Tensors, WeightForm

FAMILIES: dict[str, Foreign] = {
    kind: family
    for family in (
        huggingface_bart.FOREIGN,
        huggingface_t5.FOREIGN,
        huggingface_gpt2.FOREIGN,
        huggingface_bert.FOREIGN,
    )
    for kind in family.kinds
}
PICKLED = "pytorch_model.bin"
_INDEX = "model.safetensors.index.json"
_MOST_PIECES = 512
"""of a sentence that is given at once, where a model allows more or does not say"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user adds to what the folder says."""

    weights: WeightForm = "fp32"
    source_language: str = ""
    target_language: str = ""
    prompt: str = ""
    convert_pickle: bool = False


def import_folder(
    folder: Path, output: Path, wanted: Wanted, graphs: Callable[[Path], None] | None
) -> Manifest:
    """Read a Hugging Face folder and write ours."""
    values = read_json(folder, CONFIG)
    family = _family(values, folder)
    theirs = _read_weights(folder, wanted.convert_pickle)
    try:
        config = family.config_of(values, theirs)
    except KeyError as error:
        raise ModelError(
            f"{folder / CONFIG} must have the key {error.args[0]!r}, as a {values['model_type']} has: it "
            "has not; get the model again"
        ) from error
    except UsageError as error:  # it describes a model that there cannot be
        raise ModelError(f"{folder / CONFIG}: {error}") from error
    tokenizer, files = huggingface_tokenizer.read(folder, values)
    tokenizer = replace(tokenizer, prompt=wanted.prompt)
    if family.task == "fill":
        ends = huggingface_tokenizer.ends(tokenizer, files, folder)
        config = replace(config, bos_id=ends[0], eos_id=ends[1])
    described = read_json(folder, "tokenizer_config.json", optional=True)
    manifest = Manifest(
        task=family.task,
        source_language=wanted.source_language or str(described.get("source_lang") or ""),
        target_language=wanted.target_language or str(described.get("target_lang") or ""),
        model=config,
        tokenizer=tokenizer,
        weights=wanted.weights,
        decode=_decode(read_json(folder, "generation_config.json", optional=True), family),
        longest=min(config.max_positions, _MOST_PIECES) - 2,
    )
    try:
        tensors = family.tensors_of(theirs, config)
    except (ValueError, IndexError) as error:  # shapes that cannot be put together
        raise ModelError(
            f"the tensors of {folder} must have the sizes that {CONFIG} names: they have others ({error}); "
            "the two files are not of one model, get it again"
        ) from error
    save(output, manifest, tensors, files, _card(folder, values), graphs=graphs)
    return manifest


def read_json(folder: Path, name: str, optional: bool = False) -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        if optional:
            return {}
        raise ModelError(f"{folder} must be a Hugging Face folder: it has no {name}; name another")
    try:
        values = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{path} must be JSON: it is not ({error}); get the model again") from None
    if not isinstance(values, dict):
        raise ModelError(f"{path} must be a JSON object: it is not; get the model again")
    return values


def _family(values: Mapping[str, Any], folder: Path) -> Foreign:
    kind = values.get("model_type")
    if "format_version" in values:
        raise UsageError(f"{folder} must be a foreign model: it is regard's own; use it as it is")
    if kind not in FAMILIES:
        raise ModelError(
            f"a model to import must be one of {', '.join(FAMILIES)}: {folder} holds {kind!r}; "
            "name another"
        )
    return FAMILIES[kind]


def _decode(values: Mapping[str, Any], family: Foreign) -> DecodeConfig:
    """How to search when nobody says: the folder's beam; a text that goes on is drawn."""
    if family.task != "translate":
        return DecodeConfig(method="sample", top_p=0.95)
    beams = values.get("num_beams")
    return DecodeConfig(beam=beams) if isinstance(beams, int) and beams > 1 else DecodeConfig()


def _card(folder: Path, values: Mapping[str, Any]) -> str:
    own = folder / CARD
    words = (
        f"Imported by regard from `{folder.resolve().name}`, a `{values['model_type']}` model.\n"
    )
    if not own.is_file():
        return f"# {folder.resolve().name}\n\n{words}"
    return own.read_text(encoding="utf-8", errors="replace").rstrip() + f"\n\n---\n\n{words}"


def _read_weights(folder: Path, convert_pickle: bool) -> Tensors:
    names = [WEIGHTS]
    if not (folder / WEIGHTS).is_file() and (folder / _INDEX).is_file():
        shards = read_json(folder, _INDEX).get("weight_map")
        names = sorted(set(shards.values())) if isinstance(shards, dict) else []
    if any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise ModelError(f"{folder / _INDEX} must name files of its folder; get the model again")
    paths = [folder / name for name in names]
    if not paths or not all(path.is_file() for path in paths):
        return _read_pickled(folder, convert_pickle)
    tensors: Tensors = {}
    for path in paths:
        tensors |= read_safetensors(path)
    return tensors


def _read_pickled(folder: Path, convert: bool) -> Tensors:
    path = folder / PICKLED
    if not path.is_file():
        raise ModelError(
            f"{folder} must have its weights in {WEIGHTS}: it has none; get the model again"
        )
    if not convert:
        raise ModelError(
            f"{folder} has its weights only in {PICKLED}, a pickle, which can hold a program: add "
            "--convert-pickle if you trust whoever made it, or get the model as safetensors"
        )
    from regard.exchange.pickled import converted

    with converted(path) as safe:
        return read_safetensors(safe)


def read_safetensors(path: Path) -> Tensors:
    """Every tensor of a file, half ones too, in float32."""
    tensors: Tensors = {}
    try:
        with safetensors.safe_open(path, framework="np") as file:
            kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}
            for name, kind in kinds.items():
                if kind == "BF16":
                    continue
                if kind in ("F16", "F32", "F64"):
                    tensors[name] = file.get_tensor(name).astype(np.float32)
        if "BF16" in kinds.values():
            tensors |= _brain_floats(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"{path} is truncated or corrupt ({error}); get the model again") from None
    return tensors


def _brain_floats(path: Path) -> Tensors:
    """bfloat16, which NumPy does not know: the upper half of a float32."""
    content = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8 : 8 + length].tobytes())
    tensors: Tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "BF16":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            upper = np.frombuffer(content[begin:end].tobytes(), dtype="<u2").astype(np.uint32)
            tensors[name] = (upper << 16).view(np.float32).reshape(entry["shape"])
    return tensors


def export_folder(folder: Path, output: Path) -> None:
    """Write a folder of ours as one that transformers loads: Marian, Pegasus or GPT-2."""
    manifest = read_manifest(folder)
    config = manifest.model
    ours = read_tensors(folder, manifest)
    if config.architecture == "encoder-decoder":
        values, theirs = huggingface_bart.exported(config, ours, manifest.longest)
    elif config.architecture == "decoder-only":
        values, theirs = huggingface_gpt2.exported(config, ours)
    else:
        raise UsageError(
            "--to huggingface writes Transformers with both stacks or a decoder alone: got "
            f"architecture={config.architecture}; use another format"
        )
    tokenizer_files = huggingface_tokenizer.written(manifest, read_files(folder, manifest))
    generation: dict[str, Any] = {
        key: values[key]
        for key in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
        if key in values
    }
    if config.has_encoder:
        generation |= {"num_beams": manifest.decode.beam, "max_length": 2 * manifest.longest + 50}
        generation["bad_words_ids"] = [[id] for id in sorted({config.pad_id, config.bos_id})]
    output.mkdir(parents=True, exist_ok=True)
    for name, content in {
        **tokenizer_files,
        "generation_config.json": _json(generation),
        CARD: (folder / CARD).read_bytes() if (folder / CARD).is_file() else b"",
        WEIGHTS: safetensors.numpy.save(theirs, metadata={"format": "pt"}),
        CONFIG: _json({**values, "dtype": "float32"}),
    }.items():
        write_file(output / name, content)


def _json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=2) + "\n").encode()

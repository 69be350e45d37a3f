"""Hugging Face folders: read into a model folder of ours, and written from one.

What is read: config.json, the weights, the tokenizer (`huggingface_files`). Each family of models has its name table
(`huggingface_one_stack`, `huggingface_two_stacks`). Nothing here needs torch or transformers.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import safetensors.numpy

from regard.config import DecodeConfig, ModelConfig
from regard.errors import MissingExtra, ModelError, UsageError
from regard.exchange import huggingface_files
from regard.exchange.decoders import DECODER, DecoderFiles, manifest_of
from regard.exchange.huggingface_files import read_json, to_json
from regard.exchange.huggingface_one_stack import BERT, GPT2, to_gpt2
from regard.exchange.huggingface_two_stacks import BART, T5, to_bart
from regard.exchange.name_table import Family, require_exportable
from regard.files import write_file
from regard.folder.checkpoint import WEIGHTS, read_card, read_files, read_tensors, save
from regard.folder.manifest import CONFIG, Manifest, read_manifest
from regard.folder.tensors import Tensors, WeightForm
from regard.text.imported_tokenizers import JsonTokenizer

FAMILIES: dict[str, Family] = {
    "marian": BART, "bart": BART, "pegasus": BART, "t5": T5, "gpt2": GPT2, "bert": BERT,
    "llama": DECODER, "mistral": DECODER, "qwen2": DECODER, "qwen3": DECODER,
}  # fmt: skip
"""families by the model_type of config.json"""
_MAX_TOKENS = 512  # of a sentence, where a model allows more or does not say


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user adds to what the folder says."""

    weights: WeightForm = "fp32"
    source_language: str = ""
    target_language: str = ""
    prompt: str = ""
    convert_pickle: bool = False


def import_folder(
    folder: Path, output: Path, options: ImportOptions, graphs: Callable[[Path], None] | None
) -> Manifest:
    """Read a Hugging Face folder and write ours."""
    values = read_json(folder, CONFIG)
    if "format_version" in values:
        raise UsageError(f"{folder} must be a foreign model: it is regard's own; use it as it is")
    kind = values.get("model_type")
    if kind not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ModelError(f"a model to import must be one of {known}: {folder} holds {kind!r}; name another")
    family = FAMILIES[kind]
    theirs = huggingface_files.read_weights(folder, options.convert_pickle)
    try:
        config = family.config_of(values, theirs)
    except KeyError as error:
        raise ModelError(f"{folder / CONFIG} must have the key {error}: it has not; get the model again") from error
    except (UsageError, TypeError, ValueError, ArithmeticError) as error:  # it describes an impossible model
        raise ModelError(f"{folder / CONFIG}: {error}") from error
    tokenizer, files = huggingface_files.read_tokenizer(folder, values)
    vectors = huggingface_files.sentence_vectors(folder, longest_of(config) + 2)
    task = family.task
    if task == "fill":
        bos_id, eos_id = huggingface_files.bert_ends(files, folder)
        config = replace(config, bos_id=bos_id, eos_id=eos_id)
        task = "search" if vectors or not config.output_transform else "fill"
    described = read_json(folder, "tokenizer_config.json", optional=True)
    decode = DecodeConfig(method="sample", top_p=0.95)
    if family.task == "translate":
        beams = read_json(folder, "generation_config.json", optional=True).get("num_beams")
        decode = DecodeConfig(beam=beams) if isinstance(beams, int) and beams > 1 else DecodeConfig()
    about: dict[str, Any] = {
        "source_language": options.source_language or str(described.get("source_lang") or ""),
        "target_language": options.target_language or str(described.get("target_lang") or ""),
        "weights": options.weights,
        "longest": longest_of(config),
        **vectors,
    }
    try:
        tensors = family.tensors_of(theirs, config)
    except (ValueError, IndexError) as error:  # shapes that do not go together
        raise ModelError(f"the tensors of {folder} must have the sizes of {CONFIG}: {error}; get it again") from error
    tokenizer = replace(tokenizer, prompt=options.prompt)
    if family is DECODER:
        ids = huggingface_files.token_ids(tokenizer, files, "target")
        template = huggingface_files.chat_template(folder, described)
        manifest = manifest_of(DecoderFiles(kind, config, tensors, tokenizer, files, ids, template), **about)
    else:
        manifest = Manifest(task=task, model=config, tokenizer=tokenizer, decode=decode, **about)
    _save(folder, output, kind, manifest, tensors, files, graphs)
    return manifest


def import_file(path: Path, output: Path, options: ImportOptions, graphs: Callable[[Path], None] | None) -> Manifest:
    """Read a GGUF file or a checkpoint of llama2.c, and write a model folder."""
    from regard.exchange import gguf_file, llama2c

    with path.open("rb") as file:
        is_gguf = file.read(len(gguf_file.MAGIC)) == gguf_file.MAGIC
    found = (gguf_file if is_gguf else llama2c).read(path)
    about: dict[str, Any] = {"source_language": options.source_language, "target_language": options.target_language}
    about |= {"weights": options.weights, "longest": longest_of(found.config)}
    manifest = manifest_of(found, **about)
    _save(path, output, found.kind, manifest, found.tensors, found.files, graphs)
    return manifest


def longest_of(config: ModelConfig) -> int:
    return min(config.max_positions, _MAX_TOKENS) - 2


def _save(
    source: Path,
    output: Path,
    kind: str,
    manifest: Manifest,
    tensors: Tensors,
    files: Mapping[str, bytes],
    graphs: Callable[[Path], None] | None,
) -> None:
    """Write the folder; its card is theirs, and says where the model is from."""
    if manifest.tokenizer.kind == "tokenizers":
        _check_tokenizer(source, manifest, files)
    name, card = source.resolve().name, read_card(source).rstrip()
    card = f"{card}\n\n---\n\n" if card else f"# {name}\n\n"
    card += f"Imported by regard from `{name}`, a `{kind}` model.\n"
    save(output, manifest, tensors, files, card, graphs=graphs)


def _check_tokenizer(source: Path, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """A damaged tokenizer.json is refused before anything is written, and one whose words the model has no rows for."""
    config, own = manifest.model, manifest.tokenizer
    sides = {own.source: config.source_vocab_size, own.target: config.target_vocab_size}
    with contextlib.suppress(MissingExtra):  # who imports may lack the package that who writes needs
        for name, rows in sides.items():
            tokenizer = JsonTokenizer(files[name], name=f"{name} of {source}")
            last = max(tokenizer.ids - tokenizer.special_ids, default=0)
            if last >= rows:
                raise ModelError(f"{source}: the tokenizer's ids must be below {rows}: got {last}; get the model again")


def export_folder(folder: Path, output: Path) -> None:
    """Write a folder of ours as one that transformers loads: Marian, Pegasus or GPT-2."""
    manifest = read_manifest(folder)
    config = manifest.model
    ours = read_tensors(folder, manifest)
    require_exportable("a Hugging Face folder", config, architecture=("encoder-decoder", "decoder-only"))
    values, theirs = to_bart(config, ours, manifest.longest) if config.has_encoder else to_gpt2(config, ours)
    tokenizer_files = huggingface_files.written_tokenizer(manifest, read_files(folder, manifest))
    keys = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
    generation: dict[str, Any] = {key: values[key] for key in keys if key in values}
    if config.has_encoder:
        generation |= {"num_beams": manifest.decode.beam, "max_length": 2 * manifest.longest + 50}
        generation["bad_words_ids"] = [[id] for id in sorted({config.pad_id, config.bos_id})]
    output.mkdir(parents=True, exist_ok=True)
    for name, content in {
        **tokenizer_files,
        "generation_config.json": to_json(generation),
        WEIGHTS: safetensors.numpy.save(theirs, metadata={"format": "pt"}),
        CONFIG: to_json({**values, "dtype": "float32"}),
    }.items():
        write_file(output / name, content)

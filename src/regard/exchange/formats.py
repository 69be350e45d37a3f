"""Formats: those that a model can be written in (docs/how-to/exchange.md), and those that are read."""

import re
import shutil
import string
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from regard.errors import ModelError, UsageError, needs_extra, suggest
from regard.files import write_file
from regard.folder.checkpoint import CARD, read_card, read_files, read_tensors, save
from regard.folder.manifest import read_manifest
from regard.folder.tensors import WeightForm
from regard.text import check_text

_FORMS: dict[str, tuple[WeightForm, ...]] = {
    "regard": ("int8", "fp16", "fp32"),
    "safetensors": ("fp32", "fp16", "int8"),
    "huggingface": ("fp32",),
    "ctranslate2": ("fp32", "fp16", "int8"),
    "onnx": ("fp32",),
}
"""forms of the weights that each format can hold, the default first"""


def write(folder: Path, output: Path, to: str, weights: str | None, others: Sequence[tuple[Path, float]] = ()) -> None:
    """Write the model of a folder in another format, or in ours with other weights.

    others: models, and the share of their weights that is mixed into its own.
    """
    form = check_format(to, weights)
    check_output(output, to)
    if others:
        with tempfile.TemporaryDirectory() as scratch:
            _mix(folder, others, Path(scratch) / "mixed")
            write(Path(scratch) / "mixed", output, to, weights)
    elif to in ("regard", "safetensors"):
        _write_own(folder, output, form, with_graphs=to == "regard")
    else:
        if to == "huggingface":
            from regard.exchange import huggingface

            huggingface.export_folder(folder, output)
        elif to == "ctranslate2":
            from regard.exchange import ctranslate2

            ctranslate2.export_folder(folder, output, form)
        else:
            _write_onnx(folder, output)
        _add_calls(folder, output, to)


def import_model(
    folder: str | Path, output: str | Path, *, weights: str = "fp32", prompt: str = "", **options: Any
) -> None:
    """Read a Hugging Face folder of Marian, BART, Pegasus, T5, GPT-2, BERT, Llama, Mistral or Qwen, or a GGUF file or a
    checkpoint of llama2.c, and write a model folder, with graphs if onnx is installed.

    prompt: text put before every input, such as T5's "translate English to German: ".
    The options are source_language="", target_language="", and convert_pickle=False: read weights from
    pytorch_model.bin too; nothing of that pickle is run.
    """
    from regard.exchange.huggingface import ImportOptions, import_file, import_folder

    folder, output = Path(folder), Path(output)
    asked = ImportOptions(check_format("regard", weights), prompt=check_text(prompt, "prompt"), **options)
    if not folder.exists():
        raise UsageError(f"a model to import must be a folder or a file: {folder} does not exist; check the path")
    check_output(output, "regard")
    read = import_folder if folder.is_dir() else import_file
    read(folder, output, asked, _onnx().export if find_spec("onnx") else None)


def check_format(to: str, weights: str | None) -> WeightForm:
    """The form of the weights; refused if the format cannot hold it."""
    if to not in _FORMS:
        known = ", ".join([*_FORMS, "web"])
        raise UsageError(f"a format must be one of {known}: got {to!r}{suggest(to, _FORMS)}; use one of these")
    forms = _FORMS[to]
    for form in forms:
        if weights in (form, None):
            return form
    raise UsageError(f"weights must be one of {', '.join(forms)} in the format {to}: got {weights!r}; use one of these")


def check_output(output: Path, to: str) -> None:
    """Refuse a folder that holds other files than a model to replace."""
    if not output.is_dir() or not any(output.iterdir()):
        return
    if to in ("regard", "safetensors"):
        with suppress(ModelError):
            read_manifest(output)
            return
    raise UsageError(
        f"a model is written into a new or empty folder, or over another model: {output} holds other files; name another"
    )


def _add_calls(folder: Path, output: Path, to: str) -> None:
    """Write the card of an exported folder, which says how other programs call it; the code there runs in that folder."""
    parts = tomllib.loads(Path(__file__).with_name("calls.toml").read_text("utf-8"))
    manifest, card = read_manifest(folder), read_card(folder)
    config, own = manifest.model, manifest.tokenizer
    cutter = "tokenizers" if own.kind == "tokenizers" else "sentencepiece"
    code = parts["huggingface"]
    if to != "huggingface":
        code = parts["imports"][to] + parts["tokens"][cutter]
        code += (parts["ids"][own.kind] if to == "onnx" else "") + parts[to][config.architecture]
        if config.has_decoder:
            code += (parts["onnx"]["decoder"] if to == "onnx" else "") + parts["text"][cutter]
    code = string.Template(code).substitute(
        text=repr(own.prompt + ("Bonjour." if manifest.source_language == "fr" else "Hello.")),
        kind="Seq2SeqLM" if config.has_encoder else "CausalLM",
        begin="[]" if config.has_encoder else "[model.config.bos_token_id]",
        has_encoder=config.has_encoder,
        limit="" if config.has_encoder else ", max_new_tokens=40",
        source=own.source,
        target=own.target,
        vocabulary=own.vocabulary,
        target_vocabulary=own.target_vocabulary or own.vocabulary,
        first=list(own.source_beginning),
        prefix=list(own.target_beginning),
    )
    card = card.replace("library_name: regard\n", f"library_name: {'transformers' if to == 'huggingface' else to}\n")
    whole = f"{card.rstrip()}\n\n## How to call it\n\nIn this folder:\n\n```python\n{code}```\n"
    write_file(output / CARD, whole.lstrip().encode())


def _onnx() -> ModuleType:
    with needs_extra("torch", "exporting a model"):
        from regard.exchange import onnx
    return onnx


def _write_own(folder: Path, output: Path, form: WeightForm, *, with_graphs: bool) -> None:
    graphs, manifest = _onnx().export if with_graphs else None, read_manifest(folder)
    tensors, files = read_tensors(folder, manifest), read_files(folder, manifest)
    save(output, replace(manifest, weights=form), tensors, files, read_card(folder), graphs=graphs)


def _write_onnx(folder: Path, output: Path) -> None:
    onnx, manifest = _onnx(), read_manifest(folder)
    if setting := onnx.hindrance(manifest.model):
        raise UsageError(f"an ONNX graph must hold a whole model: it cannot hold {setting}; use another format")
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "model"
        _write_own(folder, whole, "fp32", with_graphs=True)
        output.mkdir(parents=True, exist_ok=True)
        onnx.embed(whole, output)
        for name in (*manifest.tokenizer.names, "config.json"):
            shutil.copyfile(whole / name, output / name)


def _mix(folder: Path, others: Sequence[tuple[Path, float]], output: Path) -> None:
    """Write the first model with a share of each other model's weights, in fp32 and without graphs.

    Weights between a fine-tuned model and the one it started from are often better than either, and keep more of what
    the first had learnt: Wortsman et al. 2022, Robust fine-tuning of zero-shot models (WiSE-FT).
    """
    own_share = 1 - sum(share for _, share in others)
    if own_share <= 0 or any(not share > 0 for _, share in others):
        told = ", ".join(str(share) for _, share in others)
        raise UsageError(f"shares to mix in must be above 0 and together below 1: got {told}; give smaller ones")
    manifest = read_manifest(folder)
    files = read_files(folder, manifest)
    mixed = {name: own_share * tensor for name, tensor in read_tensors(folder, manifest).items()}
    named = [f"{own_share:.3g} of {folder.resolve().name}"]
    for other, share in others:
        theirs = read_manifest(other)
        for what in ("task", "source_language", "target_language", "model", "tokenizer"):
            same_files = what != "tokenizer" or files == read_files(other, theirs)
            if getattr(manifest, what) != getattr(theirs, what) or not same_files:
                raise UsageError(f"models to mix must have one {what}: {other} has another than {folder}; mix others")
        for name, tensor in read_tensors(other, theirs).items():
            mixed[name] += np.float32(share) * tensor
        named.append(f"{share:.3g} of {other.resolve().name}")
    card = re.sub(r"\A---\n.*?\n---\n", "", read_card(folder), flags=re.DOTALL)  # less what a hub reads, scores too
    card = (
        f"> Weights mixed by regard: {', '.join(named)}. What follows, scores too, is the card of the first "
        f"of them.\n\n{card.lstrip()}"
    )
    save(output, replace(manifest, weights="fp32"), mixed, files, card)

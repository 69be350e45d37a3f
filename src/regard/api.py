"""`regard.load("fr-en").translate("Bonjour.")`: models by name, and in and out of other programs' formats."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

from regard.engine import EngineKind, Precision, open_engine
from regard.errors import UsageError
from regard.exchange import formats
from regard.folder.catalogue import ModelInfo, available, find, find_by_languages
from regard.folder.manifest import read_manifest
from regard.generate.chatting import Conversation
from regard.generate.filling import Choice
from regard.loaded_model import Model
from regard.search.finding import Found, Hit
from regard.text.given import check_text
from regard.translate.translation import Candidate, Sentence, Translation

__all__ = [
    "Candidate",
    "Choice",
    "Found",
    "Hit",
    "Conversation",
    "Model",
    "ModelInfo",
    "Sentence",
    "Translation",
    "available",
    "export",
    "import_model",
    "load",
    "translate",
]


def load(
    name_or_folder: str | Path | None = None,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    engine: EngineKind = "auto",
    device: str = "auto",
    threads: int | None = None,
    precision: Precision = "auto",
) -> Model:
    """Load a model by name, as a folder, or by its languages; without any of them French to English.

    engine: onnxruntime (the CPU, no torch needed), torch, or auto.
    """
    folder = find_model(name_or_folder, source_language, target_language)
    options: dict[str, Any] = {"device": device, "threads": threads, "precision": precision}
    return Model(folder, open_engine(folder, engine, **options), kind=engine, **options)


def find_model(
    name_or_folder: str | Path | None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Path:
    """The folder of a model by its name or path, or by its languages."""
    if name_or_folder is None:
        return find_by_languages(source_language, target_language)
    folder = find(name_or_folder)
    manifest = read_manifest(folder)
    for side, wanted in (("source", source_language), ("target", target_language)):
        got = getattr(manifest, f"{side}_language")
        if wanted and got and wanted != got:
            raise UsageError(
                f"the {side} language of {folder.name} is {got}: got {wanted}; name another model"
            )
    return folder


@overload
def translate(text: str, *, model: str | None = ..., **options: Any) -> str: ...
@overload
def translate(text: Sequence[str], *, model: str | None = ..., **options: Any) -> list[str]: ...


def translate(
    text: str | Sequence[str], *, model: str | None = None, **options: Any
) -> str | list[str]:
    """Translate with a model that is loaded once and kept: `regard.translate("Bonjour.")`."""
    return _kept(model).translate(text, **options)


@functools.lru_cache(maxsize=4)
def _kept(name: str | None) -> Model:
    return load(name)


def export(
    model: str | Path,
    output: str | Path,
    *,
    weights: str | None = None,
    to: str = "regard",
    mix: Sequence[tuple[str | Path, float]] = (),
) -> None:
    """Write a model in another format, or in regard's own with its weights as int8, fp16 or fp32.

    to: regard (with the CPU engine's graphs), safetensors, huggingface, ctranslate2 or onnx.
    mix: other models of the same shape, and the share of their weights, `[("runs/first", 0.25)]`.
    """
    others = [(find(other), share) for other, share in mix]
    formats.write(find(model), Path(output), to, weights, others)


def import_model(
    folder: str | Path,
    output: str | Path,
    *,
    weights: str = "fp32",
    source_language: str = "",
    target_language: str = "",
    prompt: str = "",
    convert_pickle: bool = False,
) -> None:
    """Read a Hugging Face folder of Marian, BART, Pegasus, T5, GPT-2 or BERT, and write a model folder.

    prompt: a text before every text that is read, such as T5's "translate English to German: ".
    convert_pickle: read weights from pytorch_model.bin too, in a process of its own.
    """
    from regard.exchange.huggingface import Wanted

    form = formats.check_format("regard", weights)
    prompt = check_text(prompt, "prompt")
    wanted = Wanted(form, source_language, target_language, prompt, convert_pickle)
    formats.read(Path(folder), Path(output), wanted)

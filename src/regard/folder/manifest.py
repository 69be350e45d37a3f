"""config.json: what a model does, its languages, sizes, tokenizer files and default search."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from regard.config import (
    DecodeConfig,
    GenerateConfig,
    ModelConfig,
    from_dict,
    to_dict,
    with_generate_section,
)
from regard.errors import ModelError, UsageError
from regard.folder.tensors import WeightForm

FORMAT_VERSION = 1
CONFIG = "config.json"

Task = Literal["translate", "chat", "write", "fill", "search"]
TokenizerKind = Literal["sentencepiece", "sentencepiece-vocabulary", "tokenizers"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenizerFiles:
    """The tokenizer's files; source and target name the same file when the vocabulary is joint."""

    kind: TokenizerKind = "sentencepiece"
    """regard's own, SentencePiece with a vocabulary in JSON, or a tokenizer.json; see `regard.text.foreign`"""
    source: str = "tokenizer.model"
    target: str = "tokenizer.model"
    vocabulary: str = ""
    """JSON file with the token ids, where SentencePiece has others"""
    target_vocabulary: str = ""
    """the same for the target, where it has its own"""
    prompt: str = ""
    """text put before every input, such as T5's name of a task"""
    source_beginning: tuple[str, ...] = ()
    """tokens before that, such as BERT's [CLS]"""
    target_beginning: tuple[str, ...] = ()
    """first tokens of every output, such as BART's <s>"""
    mask: str = ""
    """the token of a blank to fill"""

    @property
    def joint(self) -> bool:
        return self.source == self.target and not self.target_vocabulary

    @property
    def names(self) -> set[str]:
        """Every file."""
        return {self.source, self.target, self.vocabulary, self.target_vocabulary} - {""}


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What config.json says."""

    task: Task = "translate"
    source_language: str = ""
    target_language: str = ""
    model: ModelConfig
    tokenizer: TokenizerFiles = field(default_factory=TokenizerFiles)
    weights: WeightForm = "fp32"
    """the form of model.safetensors"""
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    """default search"""
    generate: GenerateConfig = field(default_factory=GenerateConfig)
    """how chat and write use the search"""
    longest: int = 256
    """tokens of the longest training sentence; longer ones are split"""

    def to_json(self) -> str:
        return json.dumps({"format_version": FORMAT_VERSION, **to_dict(self)}, indent=2) + "\n"


def read_manifest(folder: str | Path) -> Manifest:
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"expected a model folder: {folder} is not a folder; check the path")
    path = folder / CONFIG
    if not path.is_file() and (folder / "run.json").is_file():
        raise ModelError(
            f"{folder} is no model yet: its training was not finished; go on with  "
            f"regard train --resume --output {folder}"
        )
    if not path.is_file():
        raise ModelError(f"{folder} is not a model: it has no {CONFIG}; name a folder that has one")
    try:
        values = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{path} is not valid JSON ({error}); get the model again") from None
    if not isinstance(values, dict) or "format_version" not in values:
        raise ModelError(
            f"{path} is not a regard model's: it has no format_version; name another folder"
        )
    version = values.pop("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{path}: expected format_version {FORMAT_VERSION}, got {version!r}; "
            f"use a version of regard that knows it, or export the model again"
        )
    return _manifest(values, str(path))


def _manifest(values: dict[str, Any], where: str) -> Manifest:
    parts = dict(
        model=ModelConfig, tokenizer=TokenizerFiles, decode=DecodeConfig, generate=GenerateConfig
    )
    values = {"model": None, **with_generate_section(values)}
    try:
        for name in (name for name in parts if name in values):
            if not isinstance(values[name], dict):
                raise UsageError(
                    f"{where}: {name} must be an object: got {values[name]!r}; get the model again"
                )
            values[name] = from_dict(parts[name], values[name], f"{where}: {name}")
        manifest = from_dict(Manifest, values, where)
    except UsageError as error:
        raise ModelError(str(error)) from None
    for name in manifest.tokenizer.names:
        if Path(name).name != name:
            raise ModelError(
                f"{where}: a tokenizer file must be a plain file name: got {name!r}; get the model again"
            )
    return manifest

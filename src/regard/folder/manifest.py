"""config.json: what a model does, its languages, sizes, tokenizer files and default search."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from regard.config import DecodeConfig, GenerateConfig, ModelConfig, from_dict, to_dict
from regard.config.fields import Settings
from regard.errors import ModelError, UsageError
from regard.folder.tensors import WeightForm

FORMAT_VERSION = 1
CONFIG = "config.json"

Task = Literal["translate", "chat", "write", "fill", "search"]
Pooling = Literal["mean", "cls"]
TokenizerKind = Literal["sentencepiece", "sentencepiece-vocabulary", "tokenizers"]

_MOVED = {"least_probability": "min_probability"}  # settings that older versions kept in [decode]
_GONE = ("attempts", "best_of", "prompt_strength", "context_weight")  # crutches of a story writer, ignored


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenizerFiles(Settings):
    """The tokenizer's files; source and target name the same file when the vocabulary is joint."""

    kind: TokenizerKind = "sentencepiece"
    """regard's own, SentencePiece with a vocabulary in JSON, or a tokenizer.json; see `regard.text.imported_tokenizers`"""
    source: str = "tokenizer.model"
    target: str = "tokenizer.model"
    vocabulary: str = ""  # JSON file with the token ids, where SentencePiece has others
    target_vocabulary: str = ""  # JSON file with the token ids of the target, where they differ
    prompt: str = ""  # text put before every input, such as T5's name of a task
    source_beginning: tuple[str, ...] = ()  # tokens before that, such as BERT's [CLS]
    target_beginning: tuple[str, ...] = ()  # first tokens of every output, such as BART's <s>
    mask: str = ""  # the token of a blank to fill

    def mistakes(self) -> Iterator[str]:
        for name in self.names:
            if Path(name).name != name:
                yield f"a tokenizer file must be a plain file name: got {name!r}; get the model again"

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
    target_languages: tuple[str, ...] = ()  # those of a model that is told by a tag which to write
    model: ModelConfig
    tokenizer: TokenizerFiles = field(default_factory=TokenizerFiles)
    weights: WeightForm = "fp32"  # the form of model.safetensors
    decode: DecodeConfig = field(default_factory=DecodeConfig)  # default search
    generate: GenerateConfig = field(default_factory=GenerateConfig)  # default settings of chat and write
    longest: int = 256  # tokens of the longest training sentence; longer ones are split
    pooling: Pooling = "mean"
    """vector of a text in a search: the mean of its tokens' vectors, or that of the first token, BERT's [CLS]"""

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.source_language, self.target_language

    def toward(self, language: str | None) -> "Manifest":
        """As a model of one target language; it is told by the tag that its sources had in training."""
        if not self.target_languages:
            return self
        if language not in self.target_languages:
            known = ", ".join(self.target_languages)
            raise UsageError(f"the target language must be one of {known}: got {language or 'none'}; say it with --to")
        told = replace(self.tokenizer, prompt=f"<2{language}> ")
        return replace(self, target_language=language, target_languages=(), tokenizer=told)

    def decode_with(self, changes: Mapping[str, Any]) -> DecodeConfig:
        """The model's own search settings with changes; the beam is at least n_best wide."""
        values = {**to_dict(self.decode), **changes}
        if "beam" not in changes and isinstance(values["n_best"], int):
            values["beam"] = max(values["beam"], values["n_best"])
        return from_dict(DecodeConfig, values, "translate")

    def generate_with(self, changes: Mapping[str, Any], *, unsampled: str) -> tuple[DecodeConfig, GenerateConfig]:
        """The model's own settings of the search and of chat and write, with changes.

        A temperature asks for sampling; temperature 0 for the method `unsampled`.
        """
        temperature, own = changes.get("temperature"), to_dict(self.generate)
        if isinstance(temperature, int | float) and temperature < 0:
            raise UsageError(f"temperature must not be negative: got {temperature}; give 0, or one up to 2")
        if temperature == 0:
            changes = {**changes, "method": unsampled, "temperature": 1.0}
        elif temperature is not None:
            changes = {"method": "sample", **changes}
        ours = {key: value for key, value in changes.items() if key in own}
        others = {key: value for key, value in changes.items() if key not in own}
        return self.decode_with(others), from_dict(GenerateConfig, {**own, **ours}, "generate")

    def to_json(self) -> str:
        return json.dumps({"format_version": FORMAT_VERSION, **to_dict(self)}, indent=2) + "\n"


def read_manifest(folder: str | Path) -> Manifest:
    folder = Path(folder)
    path = folder / CONFIG
    if not folder.is_dir():
        raise ModelError(f"expected a model folder: {folder} is not a folder; check the path")
    if not path.is_file() and (folder / "run.json").is_file():
        raise ModelError(f"{folder} is no model yet: go on with  regard train --resume --output {folder}")
    if not path.is_file():
        raise ModelError(f"{folder} is not a model: it has no {CONFIG}; name a folder that has one")
    try:
        values = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{path} is not valid JSON ({error}); get the model again") from None
    version = values.pop("format_version", None) if isinstance(values, dict) else None
    if version != FORMAT_VERSION:
        raise ModelError(f"{path}: expected format_version {FORMAT_VERSION}, got {version!r}; name another folder")
    try:
        return from_dict(Manifest, {"model": None, **settings_of_today(values)}, str(path))
    except UsageError as error:
        raise ModelError(str(error)) from None


def settings_of_today(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Sections with the settings of older versions in their present place, or left out."""
    found, decode = dict(sections), sections.get("decode")
    if isinstance(decode, Mapping) and isinstance(found.setdefault("generate", {}), Mapping):
        moved = {name: decode[old] for old, name in _MOVED.items() if old in decode}
        found["decode"] = {key: value for key, value in decode.items() if key not in (*_MOVED, *_GONE)}
        found["generate"] = {**moved, **{key: value for key, value in found["generate"].items() if key not in _GONE}}
    return found

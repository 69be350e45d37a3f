"""The request for a run: the settings a user has given, from a recipe, from flags and from `--set key=value`.

Its sections are those of docs/reference/settings.md; [model] has besides `size`, the named starting point. File names are
relative to the current folder, as on the command line; those under `data/` to the folder given with --data, where `regard
data get` puts them. `extends = "fr-en"` takes all else from another recipe, named, or a file beside this one.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.config import (
    RECURRENT,
    RUNNING_TEXT,
    SIZES,
    DataConfig,
    DecodeConfig,
    GenerateConfig,
    ModelConfig,
    Objective,
    TrainConfig,
    check_belongs,
    check_types,
    from_dict,
    shape_of,
)
from regard.data.public_corpora import DATA, find_file
from regard.errors import UsageError, suggest
from regard.folder.manifest import read_manifest, settings_of_today

SECTIONS: dict[str, type] = {
    "data": DataConfig,
    "model": ModelConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
    "generate": GenerateConfig,
}

MODEL_SETTINGS = ("tokenizer", "tokenizer_file", "vocabulary", "joint", "embeddings")
"""Data settings that a given model decides."""

SIZE = "size"  # The one key of [model] that is not a field of ModelConfig.

# In a wheel the recipes lie inside the package, in the repository beside `src`.
FOLDERS = (Path(__file__).parents[1] / "recipes", Path(__file__).parents[3] / "recipes")


@dataclass(frozen=True)
class Request:
    """What a user has asked for; everything else is chosen."""

    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    size: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    """changes to the named size, by the field names of ModelConfig"""
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    generate: GenerateConfig = field(default_factory=GenerateConfig)
    init: Path | None = None
    """a model folder whose weights and tokenizers the run starts from"""

    @property
    def objective(self) -> Objective:
        """The given objective, or the one that architecture or text suggest."""
        if self.train.objective is not None:
            return self.train.objective
        architecture = self.model.get("architecture")
        if self.init is not None:
            architecture = read_manifest(self.init).model.architecture
        if architecture is None:
            return "language" if self.data.text else "translation"
        suggested: dict[str, Objective] = {"decoder-only": "language", "encoder-only": "masked"}
        return suggested.get(architecture, "translation")

    @property
    def architecture(self) -> str:
        if self.init is not None and self.objective != "contrastive":
            return read_manifest(self.init).model.architecture
        alone = {**RUNNING_TEXT, "contrastive": "encoder-only"}
        return str(self.model.get("architecture", alone.get(self.objective, "encoder-decoder")))

    def given(self, section: str) -> dict[str, Any]:
        """The settings of a section that differ from their defaults."""
        if section == "model":
            return {**self.model, **({SIZE: self.size} if self.size else {})}
        config = getattr(self, section)
        values = {each: getattr(config, each.name) for each in dataclasses.fields(config)}
        return {each.name: value for each, value in values.items() if value != each.default}

    def changed(self, changes: Mapping[str, Any], where: str) -> Request:
        """The request with these values on top."""
        merged: dict[str, Any] = dict(changes)  # what is no section is refused with the rest
        for name in SECTIONS:
            if isinstance(given := changes.get(name, {}), Mapping):
                merged[name] = {**self.given(name), **given}
        return dataclasses.replace(parse_request(merged, where), init=self.init)

    def with_files(self, folder: Path, but: Collection[str] = ()) -> Request:
        """The request with its files `data/…` found in this folder; other names stay as they are.

        but: settings that are still to be changed, whose files need not be there."""
        files: dict[str, Any] = {
            each.name: tuple(
                find_file(name, folder) if name.startswith(f"{DATA}/") else name
                for name in getattr(self.data, each.name)
            )
            for each in dataclasses.fields(DataConfig)
            if each.default == () and each.name not in but
        }
        return dataclasses.replace(self, data=dataclasses.replace(self.data, **files))


def check(request: Request) -> None:
    """Refuse contradictions before any text is read."""
    decided = [key for key in request.given("data") if key in MODEL_SETTINGS]
    for key in (*request.given("model"), *decided) if request.init is not None else ():
        raise UsageError(f"--init takes shape and tokenizer from the given model: got {key} as well; leave it out")
    data, train, objective = request.data, request.train, request.objective
    is_foreign = request.init is not None and read_manifest(request.init).tokenizer.kind != "sentencepiece"
    architecture, alone = request.architecture, RUNNING_TEXT.get(objective)
    contrasts, is_recurrent = objective == "contrastive", architecture in RECURRENT
    has_files = bool(data.source or data.pairs or data.text)
    has_pairs, translates = bool(data.source or data.pairs or data.lesson), not contrasts and alone is None
    kind, text = f"architecture={architecture}", " and running text" if data.text else ""
    has_other_shape = not is_recurrent and architecture != "encoder-decoder"
    got = "pairs" if has_pairs else "none"
    problems: list[tuple[Any, str]] = [
        (
            data.keep and request.init is None,
            "keep is text that a given model must not get worse at: got none; name it with --init",
        ),
        (data.keep and not translates, f"keep is for pairs to translate: got objective={objective}"),
        (data.lesson and has_files, f"a lesson makes its own text: got lesson={data.lesson} and files of text as well"),
        (contrasts and architecture != "encoder-only", f"objective=contrastive trains an encoder alone: got {kind}"),
        (contrasts and not data.joint, "objective=contrastive reads both sides with one encoder: got joint=false"),
        (train.teacher and not contrasts, f"teacher is for objective=contrastive: got it with {objective=!s}"),
        (contrasts and train.r_drop, f"r_drop is for words that are predicted: got {train.r_drop} with {objective=!s}"),
        (alone and architecture != alone, f"objective={objective} trains a model that is {alone}: got {kind}"),
        (
            alone and (not data.text or has_pairs),
            f"a model that is {architecture} learns from running text: got {got}; give --text, or objective=contrastive",
        ),
        (alone and not data.joint, "running text has one vocabulary: got joint=false, two of them"),
        (
            translates and (data.text or has_other_shape),
            f"objective=translation learns an encoder-decoder model from pairs: got {kind}{text}",
        ),
        (is_recurrent and train.packing, f"{kind} reads one sentence a row: got packing=true"),
        (is_recurrent and train.sharded, f"{kind} steps through its cells and cannot be cut up: got sharded=true"),
        (train.optimizer == "muon" and train.sharded, "optimizer=muon updates whole matrices: got sharded=true"),
        (
            is_foreign and not (translates or alone == "decoder-only"),
            f"an imported model cannot learn {objective}: got it",
        ),
        (len(data.tags) not in (0, len(data.pairs)), f"tags must be as many as files of pairs: got {len(data.tags)}"),
        (train.adapter and request.init is None, "adapter is for a model that is given: got no --init; name one"),
        (train.adapter and is_recurrent, f"adapters are for Transformers: got {kind}"),
        (train.adapter and train.sharded, "adapters have few moments to share: got sharded=true"),
        (train.adapter and data.embeddings, "adapters leave the embeddings as they are: got embeddings"),
        (data.tokenizer_file and not data.joint, "tokenizer_file is one tokenizer for both languages: got joint=false"),
    ]
    no_text = not (has_files or data.lesson)
    problems.append((no_text, "training needs text: got none; give --source and --target, --pairs, or --text"))
    for is_wrong, sentence in problems:
        if is_wrong:
            raise UsageError(sentence if ";" in sentence else f"{sentence}; leave one out")
    check_belongs(request.model)


def parse_request(values: Mapping[str, Any], where: str) -> Request:
    """The request in the sections of a recipe; `where` is their place in an error."""
    for section, given in values.items():
        if section not in SECTIONS:
            meant = suggest(section, SECTIONS)
            raise UsageError(f"{where}: unknown section [{section}]{meant}; known sections: {', '.join(SECTIONS)}")
        if not isinstance(given, Mapping):
            raise UsageError(f"{where}: {section} must be a section: got a value; write [{section}] on a line")
    model = dict(values.get("model", {}))
    size = model.pop(SIZE, None)
    if size is not None and size not in SIZES:
        raise UsageError(f"{where}: size must be one of {', '.join(SIZES)}: got {size!r}; use one of these")
    check_types(ModelConfig, model, f"{where} [model]")
    # Without a size the run chooses one; the smallest has the fewest heads, so it refuses least.
    from_dict(ModelConfig, shape_of(size or "tiny", model), f"{where} [model]")
    sections: dict[str, Any] = {
        name: from_dict(config, values.get(name, {}), f"{where} [{name}]")
        for name, config in SECTIONS.items()
        if name != "model"
    }
    return Request(size=size, model=model, **sections)


def read_recipe(name_or_file: str, *extending: str) -> Request:
    """extending: the recipes on top of this one."""
    values = settings_of_today(read_toml(name_or_file, named_recipes(), "a recipe"))
    base = values.pop("extends", None)
    if base is None:
        return parse_request(values, name_or_file)
    if isinstance(base, str) and base.endswith(".toml"):
        base = str(Path(name_or_file).parent / base)
    if not isinstance(base, str) or base in (name_or_file, *extending):
        raise UsageError(f"{name_or_file}: extends must be the name of another recipe: got {base!r}; correct it")
    return read_recipe(base, name_or_file, *extending).changed(values, name_or_file)


def read_toml(name_or_file: str, known: Mapping[str, Path], kind: str) -> dict[str, Any]:
    """The values of a known file or of a TOML file; `kind` is its name in an error."""
    path = Path(name_or_file)
    if path.suffix != ".toml":
        if name_or_file not in known:
            meant = suggest(name_or_file, known)
            raise UsageError(f"{kind} must be a .toml file or one of {', '.join(known)}: got {name_or_file!r}{meant}")
        path = known[name_or_file]
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{kind} must be readable TOML text: {path}: {reason}; mend it, or its name") from error


def named_recipes(kind: str = "") -> dict[str, Path]:
    """The recipes of the package; `kind` is a folder of other recipes, such as those of comparisons."""
    return {path.stem: path for folder in FOLDERS for path in sorted((folder / kind).glob("*.toml"))}


def parse_settings(settings: Iterable[str], sections: Iterable[str]) -> dict[str, dict[str, Any]]:
    """`key=value` or `section.key=value`, as values of these sections; `none` resets a recipe's value.

    >>> parse_settings(["steps=100", "model.norm=rms"], ["model", "train"])
    {'train': {'steps': 100}, 'model': {'norm': 'rms'}}
    >>> parse_settings(["minutes=none", "position=none"], ["model", "train"])
    {'train': {'minutes': None}, 'model': {'position': 'none'}}
    """
    known = {name: keys_of(name) for name in sections}
    values: dict[str, dict[str, Any]] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"a setting must be key=value: got {setting!r}; write  --set {path}=…")
        section, _, key = path.strip().rpartition(".")
        found = [name for name, keys in known.items() if key in keys and section in ("", name)]
        if not found:
            meant = suggest(key, sorted({key for keys in known.values() for key in keys}))
            raise UsageError(f"unknown setting {path.strip()!r}{meant}; docs/reference/settings.md has them all")
        if len(found) > 1:
            choices = " or ".join(f"{name}.{key}" for name in found)
            raise UsageError(f"{key!r} can be {choices}: write one of them in full")
        try:
            value = tomllib.loads(f"value = {text.strip()}")["value"]
        except tomllib.TOMLDecodeError:  # a bare word
            value = text.strip()
        defaults = {each.name: each.default for each in dataclasses.fields(SECTIONS[found[0]])}
        resets = value == "none" and defaults.get(key, "") is None
        values.setdefault(found[0], {})[key] = None if resets else value
    return values


def keys_of(section: str) -> list[str]:
    keys = [field.name for field in dataclasses.fields(SECTIONS[section])]
    return [*keys, SIZE] if section == "model" else keys

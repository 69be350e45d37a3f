"""A recipe: all settings of a training run, from one TOML file, a named recipe, or `--set key=value`.

    [data]     which text                      DataConfig
    [model]    what the weights are            ModelConfig, and `size`, the named starting point
    [train]    how to train                    TrainConfig
    [decode]   how the test set is translated  DecodeConfig
    [generate] how the model chats and writes  GenerateConfig

File names in a recipe are relative to the current folder, as on the command line; those under `data/` are relative
to the folder given with --data, where `regard data get` puts them.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.config import (
    MOVED,
    SIZES,
    DataConfig,
    DecodeConfig,
    GenerateConfig,
    ModelConfig,
    TrainConfig,
    check_types,
    from_dict,
    shape_of,
    with_generate_section,
)
from regard.data.public_corpora import DATA, find_files
from regard.errors import UsageError, suggest

SECTIONS: dict[str, type] = {
    "data": DataConfig,
    "model": ModelConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
    "generate": GenerateConfig,
}

SIZE = "size"
"""The one key of [model] that is not a field of ModelConfig."""

# In a wheel the recipes lie inside the package, in the repository beside `src`.
FOLDERS = (Path(__file__).parents[1] / "recipes", Path(__file__).parents[3] / "recipes")


@dataclass(frozen=True)
class Recipe:
    """The given settings, by section; all others keep their defaults."""

    values: Mapping[str, Any] = field(default_factory=dict)
    where: str = "the recipe"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", with_generate_section(self.values))
        for section in self.values:
            if section not in SECTIONS:
                raise UsageError(
                    f"{self.where}: unknown section [{section}]{suggest(section, SECTIONS)}; "
                    f"known sections: {', '.join(SECTIONS)}"
                )
            if not isinstance(self.values[section], Mapping):
                raise UsageError(
                    f"{self.where}: {section} must be a section: got a value; write [{section}] on a line"
                )
        size = self.size
        if size is not None and size not in SIZES:
            raise UsageError(
                f"{self.where}: size must be one of {', '.join(SIZES)}: got {size!r}"
                f"{suggest(size, SIZES)}; use one of these"
            )
        # Without a size the run chooses one; the smallest has the fewest heads, so it refuses least.
        where = f"{self.where} [model]"
        check_types(ModelConfig, self.model, where)
        from_dict(ModelConfig, shape_of(size or "tiny", self.model), where)
        _ = self.data, self.train, self.decode, self.generate

    @property
    def size(self) -> str | None:
        return self._section("model").get(SIZE)

    @property
    def model(self) -> dict[str, Any]:
        """Changes to the named size."""
        return {key: value for key, value in self._section("model").items() if key != SIZE}

    @property
    def data(self) -> DataConfig:
        return from_dict(DataConfig, self._section("data"), f"{self.where} [data]")

    @property
    def train(self) -> TrainConfig:
        return from_dict(TrainConfig, self._section("train"), f"{self.where} [train]")

    @property
    def decode(self) -> DecodeConfig:
        return from_dict(DecodeConfig, self._section("decode"), f"{self.where} [decode]")

    @property
    def generate(self) -> GenerateConfig:
        return from_dict(GenerateConfig, self._section("generate"), f"{self.where} [generate]")

    def _section(self, name: str) -> Mapping[str, Any]:
        return self.values.get(name, {})

    def with_files(self, folder: Path) -> Recipe:
        """The recipe with its files `data/…` found in this folder; other names stay as they are."""
        data = dict(self._section("data"))
        for key in (each.name for each in dataclasses.fields(DataConfig) if each.default == ()):
            names = (data[key],) if isinstance(data.get(key), str) else data.get(key, ())
            data[key] = [
                path
                for name in names
                for path in (find_files(name, folder) if name.startswith(f"{DATA}/") else [name])
            ]
        return Recipe({**self.values, "data": data}, self.where)

    def changed(self, changes: Mapping[str, Mapping[str, Any]], where: str) -> Recipe:
        """The recipe with these values on top."""
        merged = {name: {**self._section(name), **changes.get(name, {})} for name in SECTIONS}
        return Recipe(merged, where)


def read_recipe(name_or_file: str) -> Recipe:
    return Recipe(read_toml(name_or_file, named_recipes(), "a recipe"), name_or_file)


def read_toml(name_or_file: str, known: Mapping[str, Path], kind: str) -> dict[str, Any]:
    """The values of a known file or of a TOML file; `kind` is its name in an error."""
    path = Path(name_or_file)
    if path.suffix != ".toml":
        if name_or_file not in known:
            raise UsageError(
                f"{kind} must be a .toml file or one of {', '.join(known)}: got {name_or_file!r}"
                f"{suggest(name_or_file, known)}"
            )
        path = known[name_or_file]
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path} must be a readable recipe: {error.strerror}; check its name"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} must be TOML text: {error}; mend the file") from error


def named_recipes(kind: str = "") -> dict[str, Path]:
    """The recipes of the package; `kind` is a folder of other recipes, such as those of comparisons."""
    return {
        path.stem: path for folder in FOLDERS for path in sorted((folder / kind).glob("*.toml"))
    }


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
        if key in MOVED and section in ("", "decode"):
            section, key = "", MOVED[key]
        found = [name for name, keys in known.items() if key in keys and section in ("", name)]
        if not found:
            every = sorted({key for keys in known.values() for key in keys})
            meant = suggest(key, every)
            advice = "docs/reference/settings.md has them all"
            if not meant:
                advice = f"known are {', '.join(every)}"
            raise UsageError(f"unknown setting {path.strip()!r}{meant}; {advice}")
        if len(found) > 1:
            choices = " or ".join(f"{name}.{key}" for name in found)
            raise UsageError(f"{key!r} can be {choices}: write one of them in full")
        value = _value(text.strip())
        defaults = {each.name: each.default for each in dataclasses.fields(SECTIONS[found[0]])}
        resets = value == "none" and defaults.get(key, "") is None
        values.setdefault(found[0], {})[key] = None if resets else value
    return values


def keys_of(section: str) -> list[str]:
    keys = [field.name for field in dataclasses.fields(SECTIONS[section])]
    return [*keys, SIZE] if section == "model" else keys


def _value(text: str) -> Any:
    """A TOML value; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text

"""The recipe of a comparison: which models, trained on what, measured how.

title, seeds            what it is called, and the seeds that every model is trained with
varied                  the model whose settings are varied
[generated]             a corpus that is made up                Generated
[corpora.NAME]          or one of files                         CorpusConfig, and every key of a recipe's [data]
[data] [model] [train] [decode]   what all have alike           as in a recipe for training
[models.NAME]           the models: keys of [model] and [train] that differ, or `folder`, one that is finished
[variations.NAME]       the varied model with one thing changed; `seeds` where others are meant
[recall] [speed] [alignment]      what else is measured; leaving a section out leaves that out
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.compare.generated import Generated
from regard.config import DataConfig, from_dict, to_dict
from regard.errors import UsageError, suggest
from regard.files import write_file
from regard.train.recipe import Recipe, keys_of, named_recipes, read_toml

GENERATED = "generated"


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusConfig:
    """What a corpus has besides its files."""

    max_pairs: int | None = None
    """a random slice of so many pairs"""
    longest_train: int | None = None
    """words of the longest source sentence to train on; the test keeps longer ones"""
    lengths: tuple[int, ...] = (10, 20, 30, 40, 50, 60)
    """where the groups of sentences by length end, in source words"""
    max_test: int | None = None
    """score so many sentences of the test set, evenly chosen"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallConfig:
    """How far back a model can refer: a symbol among words that mean nothing, to be named at the end."""

    models: tuple[str, ...] = ()
    """whose architectures are measured"""
    distances: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000)
    """words between the symbol and either end of the text"""
    longest_train: int = 100
    """the farthest distance that is trained on"""
    steps: int = 300
    """updates of the weights"""
    batch_tokens: int = 2048
    """words of a batch"""
    learning_rate: float = 2e-3
    """Adam's, falling to zero"""
    num_tests: int = 200
    """texts to be recalled from at each distance"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpeedConfig:
    """Tokens a second of training, on sentences that are all of one length."""

    models: tuple[str, ...] = ()
    """whose architectures are measured"""
    lengths: tuple[int, ...] = (10, 20, 40, 80, 160)
    """pieces of the source and of the target"""
    batch_tokens: int = 4096
    """of both sides together"""
    repeats: int = 3
    """times that the mean and the spread are taken from"""
    devices: tuple[str, ...] = ("cpu", "cuda")
    """those that the machine has are measured"""


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignmentConfig:
    """Where the decoder looks while it writes the reference."""

    models: tuple[str, ...] = ()
    """which models; the first is what the heads of the others are held against"""
    num_shown: int = 2
    """sentences that are drawn"""
    num_scored: int = 50
    """sentences that agreement is counted over"""
    longest: int = 16
    """words of the longest of them"""


@dataclass(frozen=True)
class Contender:
    """A model that takes part: its settings, and what differs from the others."""

    name: str
    recipe: Recipe
    seeds: tuple[int, ...]
    changes: Mapping[str, Any]
    varies: str = ""
    """the model that this is a variation of"""
    folder: str = ""
    """a finished model that is loaded instead of trained"""


@dataclass(frozen=True)
class Study:
    """A whole comparison, checked."""

    title: str
    seeds: tuple[int, ...]
    varied: str
    generated: Generated | None
    corpora: Mapping[str, tuple[CorpusConfig, Recipe]]
    contenders: Mapping[str, Contender]
    recall: RecallConfig | None
    speed: SpeedConfig | None
    alignment: AlignmentConfig | None
    values: Mapping[str, Any] = field(default_factory=dict)
    """as they were read, to be saved beside the results"""

    @property
    def corpus_names(self) -> list[str]:
        return [*([GENERATED] if self.generated else []), *self.corpora]

    @property
    def lineage(self) -> list[Contender]:
        """The models that stand for themselves."""
        return [each for each in self.contenders.values() if not each.varies]

    @property
    def variations(self) -> list[Contender]:
        return [each for each in self.contenders.values() if each.varies]

    def corpora_of(self, contender: Contender) -> list[str]:
        """A variation is trained on the first corpus alone."""
        return self.corpus_names[:1] if contender.varies else self.corpus_names

    def groups_of(self, corpus: str) -> tuple[int, ...]:
        if corpus == GENERATED:
            return CorpusConfig().lengths
        return self.corpora[corpus][0].lengths


_PARTS: dict[str, type] = {
    "generated": Generated,
    "recall": RecallConfig,
    "speed": SpeedConfig,
    "alignment": AlignmentConfig,
}
_ALIKE = ("data", "model", "train", "decode")
_KEYS = ("title", "seeds", "varied", "corpora", "models", "variations", *_ALIKE, *_PARTS)


def read_study(name_or_file: str) -> Study:
    """A named comparison, or the TOML file of that name."""
    return parse_study(read_toml(name_or_file, named_studies(), "a comparison"), name_or_file)


def named_studies() -> dict[str, Path]:
    """The comparisons that come with the package."""
    return named_recipes("comparisons")


def parse_study(values: Mapping[str, Any], where: str) -> Study:
    """A comparison from what its file says."""
    for key in values:
        if key not in _KEYS:
            raise UsageError(
                f"{where}: unknown section {key!r}{suggest(key, _KEYS)}; known are {', '.join(_KEYS)}"
            )
    seeds = tuple(values.get("seeds", (1,)))
    if not seeds or not all(isinstance(seed, int) for seed in seeds):
        raise UsageError(
            f"{where}: seeds must be whole numbers: got {values['seeds']!r}; write [1, 2]"
        )
    alike = Recipe({name: values.get(name, {}) for name in _ALIKE}, where)
    corpora = {
        name: _corpus(given, alike, f"{where} [corpora.{name}]")
        for name, given in values.get("corpora", {}).items()
    }
    if not corpora and "generated" not in values:
        raise UsageError(f"{where}: a comparison needs text: got none; write [generated]")
    varied = str(values.get("varied", ""))
    contenders = {
        name: _contender(name, given, alike, seeds, f"{where} [models.{name}]")
        for name, given in values.get("models", {}).items()
    }
    variations = values.get("variations", {})
    if variations and varied not in contenders:
        raise UsageError(
            f"{where}: varied must name one of [models]: got {varied!r}{suggest(varied, contenders)}"
        )
    for name, given in variations.items():
        if name in contenders:
            raise UsageError(f"{where}: two models are called {name!r}: give one another name")
        contenders[name] = _variation(
            name, given, contenders[varied], f"{where} [variations.{name}]"
        )
    parts: dict[str, Any] = {
        name: from_dict(kind, values[name], f"{where} [{name}]") if name in values else None
        for name, kind in _PARTS.items()
    }
    for name in ("recall", "speed", "alignment"):
        for each in parts[name].models if parts[name] else ():
            if each not in contenders:
                raise UsageError(
                    f"{where} [{name}]: models must be those of [models]: got {each!r}"
                    f"{suggest(each, contenders)}"
                )
    title = str(values.get("title", where))
    return Study(
        title, seeds, varied, corpora=corpora, contenders=contenders, **parts, values=values
    )


def _corpus(given: Mapping[str, Any], alike: Recipe, where: str) -> tuple[CorpusConfig, Recipe]:
    own = {each.name for each in dataclasses.fields(CorpusConfig)}
    config = from_dict(CorpusConfig, {k: v for k, v in given.items() if k in own}, where)
    files = {key: value for key, value in given.items() if key not in own}
    return config, alike.changed({"data": files}, where)


def _contender(
    name: str, given: Mapping[str, Any], alike: Recipe, seeds: tuple[int, ...], where: str
) -> Contender:
    given = dict(given)
    folder, own_seeds = str(given.pop("folder", "")), tuple(given.pop("seeds", seeds))
    recipe = alike.changed(_by_section(given, where), where)
    # A finished model is one, whatever seeds the others have.
    return Contender(name, recipe, own_seeds[:1] if folder else own_seeds, given, folder=folder)


def _variation(name: str, given: Mapping[str, Any], varied: Contender, where: str) -> Contender:
    if varied.folder:
        raise UsageError(f"{where}: {varied.name!r} is loaded from a folder and cannot be varied")
    given = dict(given)
    seeds = tuple(given.pop("seeds", varied.seeds))
    recipe = varied.recipe.changed(_by_section(given, where), where)
    return Contender(name, recipe, seeds, given, varies=varied.name)


def _by_section(given: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Keys of a model's settings and of its training's, told apart."""
    known = {name: keys_of(name) for name in ("model", "train")}
    found: dict[str, dict[str, Any]] = {name: {} for name in known}
    for key, value in given.items():
        sections = [name for name, keys in known.items() if key in keys]
        if not sections:
            every = sorted({*known["model"], *known["train"]})
            raise UsageError(f"{where}: unknown key {key!r}{suggest(key, every)}")
        found[sections[0]][key] = value
    return found


def data_of(recipe: Recipe) -> dict[str, Any]:
    """What a recipe says of its text beyond the files: how it becomes pieces."""
    files = {"source", "target", "pairs", "swapped"}
    files |= {f"{part}_{side}" for part in ("valid", "test") for side in ("source", "target")}
    default = to_dict(DataConfig())
    return {
        key: value
        for key, value in to_dict(recipe.data).items()
        if key not in files and value != default[key]
    }


def save_study(study: Study, path: Path) -> None:
    """As JSON, for the report and to see whether a folder holds another comparison."""
    write_file(path, json.dumps(study.values, indent=1, ensure_ascii=False).encode())

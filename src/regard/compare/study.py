"""The recipe of a comparison: which models, trained on what, measured how.

title, seeds            its title, and the seeds that every model is trained with
varied                  the model whose settings are varied
[corpora.NAME]          a corpus of files                       CorpusConfig, and every key of a recipe's [data]
[data] [model] [train] [decode]   settings of all models        as in a recipe for training
[models.NAME]           the models: keys of [model] and [train] that differ, or `folder`, a finished model
[variations.NAME]       the varied model with one setting changed; `seeds` where they differ
[recall] [speed] [alignment]      further measurements; a section that is left out is not measured
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import ModelConfig, from_dict, shape_of
from regard.errors import UsageError, suggest
from regard.train.recipe import Request, keys_of, named_recipes, parse_request, read_toml

GENERATED = "generated"
"""section of older recipes, whose results can still be reported: its text is made by recipes/text/number_phrases.py"""


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusConfig:
    """Settings of a corpus besides its files."""

    max_pairs: int | None = None  # size of the random sample of pairs to train on
    longest_train: int | None = None  # source words of the longest pair to train on
    lengths: tuple[int, ...] = (10, 20, 30, 40, 50, 60)  # last source length of each group
    max_test: int | None = None  # test sentences to score, evenly chosen
    links: str = ""  # JSON file: for each test sentence, which source word became which target word, from 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallConfig:
    """How far back a model can refer: a symbol among meaningless words, to be named at the end."""

    models: tuple[str, ...] = ()  # models whose architectures are measured
    distances: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000)  # words from symbol to either end
    longest_train: int = 100  # longest distance in training
    steps: int = 300  # updates of the weights
    batch_tokens: int = 2048  # words of a batch
    learning_rate: float = 2e-3  # Adam's learning rate, falling to zero
    num_tests: int = 200  # test texts at each distance


@dataclass(frozen=True, kw_only=True, slots=True)
class SpeedConfig:
    """Tokens a second of training, on sentences that are all of one length."""

    models: tuple[str, ...] = ()  # models whose architectures are measured
    lengths: tuple[int, ...] = (10, 20, 40, 80, 160)  # tokens of the source and of the target
    batch_tokens: int = 4096  # tokens of a batch, both sides together
    repeats: int = 3  # measurements at each length
    devices: tuple[str, ...] = ("cpu", "cuda")  # measured where the machine has them


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignmentConfig:
    """What the decoder attends to while it writes the reference."""

    models: tuple[str, ...] = ()  # models to measure; the others are compared with the first
    num_shown: int = 2  # sentences to draw
    num_scored: int = 50  # sentences to measure agreement on
    longest: int = 16  # words of the longest of them


@dataclass(frozen=True)
class Contender:
    """A model that takes part: its settings, and what differs from the others."""

    name: str
    recipe: Request
    seeds: tuple[int, ...]
    changes: Mapping[str, Any]
    varies: str = ""  # the model that this is a variation of
    folder: str = ""  # a finished model that is loaded instead of trained

    def config(self, vocabulary: int) -> ModelConfig:
        """The architecture over a vocabulary of this size."""
        sizes = {"source_vocab_size": vocabulary, "target_vocab_size": vocabulary}
        shape = shape_of(self.recipe.size or "tiny", self.recipe.model)
        return ModelConfig(**{"norm_placement": "pre", **shape, **sizes})


@dataclass(frozen=True)
class Study:
    """A whole comparison, checked."""

    values: Mapping[str, Any]  # the recipe as it was read, saved beside the results
    title: str
    seeds: tuple[int, ...]
    varied: str
    corpora: Mapping[str, tuple[CorpusConfig, Request]]
    contenders: Mapping[str, Contender]
    recall: RecallConfig | None
    speed: SpeedConfig | None
    alignment: AlignmentConfig | None


_MEASUREMENTS = {"recall": RecallConfig, "speed": SpeedConfig, "alignment": AlignmentConfig}
_SHARED = ("data", "model", "train", "decode")
_KEYS = ("title", "seeds", "varied", "corpora", "models", "variations", *_SHARED, *_MEASUREMENTS, GENERATED)


def named_studies() -> dict[str, Path]:
    """The comparisons that come with the package."""
    return named_recipes("comparisons")


def read_study(name_or_file: str) -> Study:
    """A named comparison, or the TOML file of that name."""
    return parse_study(read_toml(name_or_file, named_studies(), "a comparison"), name_or_file)


def parse_study(values: Mapping[str, Any], where: str) -> Study:
    """A comparison from the content of its file."""
    for key in values:
        if key not in _KEYS:
            known = f"known are {', '.join(_KEYS)}"
            raise UsageError(f"{where}: unknown section {key!r}{suggest(key, _KEYS)}; {known}")
    seeds = tuple(values.get("seeds", (1,)))
    if not seeds or not all(isinstance(seed, int) for seed in seeds):
        raise UsageError(f"{where}: seeds must be whole numbers: got {seeds}; write [1, 2]")
    shared = parse_request({name: values.get(name, {}) for name in _SHARED}, where)
    old: dict[str, Any] = {GENERATED: {}} if GENERATED in values else {}
    corpora = {
        name: _corpus(given, shared, f"{where} [corpora.{name}]")
        for name, given in {**old, **values.get("corpora", {})}.items()
    }
    if not corpora:
        raise UsageError(f"{where}: a comparison needs text: got none; write [corpora.NAME] and its files")
    varied = str(values.get("varied", ""))
    contenders = _contenders(values, shared, seeds, varied, where)
    parts: dict[str, Any] = {
        name: from_dict(kind, values[name], f"{where} [{name}]") if name in values else None
        for name, kind in _MEASUREMENTS.items()
    }
    for name in _MEASUREMENTS:
        for each in parts[name].models if parts[name] else ():
            if each not in contenders:
                raise UsageError(
                    f"{where} [{name}]: models must be those of [models]: got {each!r}{suggest(each, contenders)}"
                )
    title = str(values.get("title", where))
    return Study(values, title, seeds, varied, corpora, contenders, **parts)


def _corpus(given: Mapping[str, Any], shared: Request, where: str) -> tuple[CorpusConfig, Request]:
    own = {each.name for each in dataclasses.fields(CorpusConfig)}
    config = from_dict(CorpusConfig, {k: v for k, v in given.items() if k in own}, where)
    files = {key: value for key, value in given.items() if key not in own}
    return config, shared.changed({"data": files}, where)


def _contenders(
    values: Mapping[str, Any], shared: Request, seeds: tuple[int, ...], varied: str, where: str
) -> dict[str, Contender]:
    """The models, then the variations of one of them."""
    models, variations = values.get("models", {}), values.get("variations", {})
    found = {
        name: _contender(Contender(name, shared, seeds, given), f"{where} [models.{name}]")
        for name, given in models.items()
    }
    if variations and (varied not in found or found[varied].folder):
        wanted = "varied must name one of [models] that is trained"
        raise UsageError(f"{where}: {wanted}: got {varied!r}{suggest(varied, found)}")
    for name, given in variations.items():
        if name in models:
            raise UsageError(f"{where}: two models are called {name!r}: give one another name")
        contender = dataclasses.replace(found[varied], name=name, changes=given, varies=varied)
        found[name] = _contender(contender, f"{where} [variations.{name}]")
    return found


def _contender(like: Contender, where: str) -> Contender:
    """The contender with its changes made."""
    changes = dict(like.changes)
    folder, seeds = str(changes.pop("folder", "")), tuple(changes.pop("seeds", like.seeds))
    by_section: dict[str, dict[str, Any]] = {"model": {}, "train": {}}
    for key, value in changes.items():
        section = next((each for each in by_section if key in keys_of(each)), None)
        if section is None:
            every = sorted({*keys_of("model"), *keys_of("train")})
            raise UsageError(f"{where}: unknown key {key!r}{suggest(key, every)}")
        by_section[section][key] = value
    return dataclasses.replace(
        like,
        recipe=like.recipe.changed(by_section, where),
        # A finished model has one seed, whatever seeds the others have.
        seeds=seeds[:1] if folder else seeds,
        changes=changes,
        folder=folder,
    )

"""The recipe of a comparison: variants, seeds and budgets.

title, seeds            its title, and the seeds that every model is trained with
reference               the model that the others are tested against, and whose settings are varied
[corpora.NAME]          a corpus                                CorpusConfig, and every key of a recipe's [data]
[data] [model] [train] [decode]   settings of all models        as in a recipe for training
[models.NAME] [variations.NAME] [budgets.NAME] [sweep]      as docs/explanation/lineage/README.md has them
[alignment]             what the decoder attends to, against a dictionary
`seeds` of a model, a variation or a budget replaces the seeds above. A section that is left out is not done.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from regard.config import from_dict
from regard.errors import UsageError, suggest
from regard.train.recipe import Request, keys_of, named_recipes, parse_request, read_toml


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusConfig:
    """Settings of a corpus besides its text, which is files, a lesson, or the recall of a symbol."""

    models: tuple[str, ...] = ()  # models that are trained on it; all of [models] if not given
    budgets: tuple[str, ...] = ()  # budgets of these runs; all of [budgets] if not given
    max_pairs: int | None = None  # size of the random sample of pairs to train on
    longest_train: int | None = None  # source words of the longest pair to train on
    joined_train: int = 1  # most pairs of the text that are joined to one of training, validation and test
    joined_test: int = 1  # most test pairs that are joined to one longer than any in training
    num_longer: int = 500  # such test pairs, and pairs of the text too long for training that are tested instead
    lengths: tuple[int, ...] = (10, 20, 30, 40, 50, 60)  # last source length of each group
    max_test: int | None = None  # test sentences to score, evenly chosen, the longer ones not counted
    recall: tuple[int, ...] = ()  # instead of a text: words between a symbol and either end, at which it is asked for


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignmentConfig:
    """What the decoder attends to while it writes the references of the first corpus."""

    models: tuple[str, ...] = ()  # models to measure
    dictionary: tuple[str, ...] = ()  # a source word and its translations, to check the alignments with
    num_shown: int = 2  # sentences to draw
    num_scored: int = 300  # sentences to check
    longest: int = 16  # words of the longest of them


@dataclass(frozen=True)
class Contender:
    """A model that takes part: its settings, and what differs from the others."""

    name: str
    recipe: Request
    seeds: tuple[int, ...]
    changes: Mapping[str, Any]
    rates: tuple[float, ...] = ()  # learning rates to choose from
    varies: str = ""  # the model that this is a variation of
    folder: str = ""  # a finished model that is loaded instead of trained


@dataclass(frozen=True)
class Budget:
    """How long runs are; those counted in minutes have the machine to themselves."""

    train: Mapping[str, Any]
    models: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()

    @property
    def is_timed(self) -> bool:
        return "minutes" in self.train


@dataclass(frozen=True)
class Study:
    """A whole comparison, checked."""

    values: Mapping[str, Any]  # the recipe as it was read, saved beside the results
    title: str
    seeds: tuple[int, ...]
    reference: str
    corpora: Mapping[str, tuple[CorpusConfig, Request]]
    contenders: Mapping[str, Contender]
    budgets: Mapping[str, Budget]
    sweep: Mapping[str, Any]  # settings of the runs that try a learning rate
    alignment: AlignmentConfig

    def budgets_of(self, corpus: str) -> tuple[str, ...]:
        return self.corpora[corpus][0].budgets or tuple(self.budgets)

    @property
    def first(self) -> tuple[str, str]:
        """The first corpus, and its first budget."""
        corpus = next(iter(self.corpora))
        return corpus, self.budgets_of(corpus)[0]

    def takes_part(self, contender: Contender, corpus: str, budget: str) -> bool:
        """Whether a model is trained on a corpus within a budget; variations have the first of both alone."""
        if contender.varies:
            return (corpus, budget) == self.first
        limits = (self.corpora[corpus][0].models, self.budgets[budget].models)
        return all(contender.name in (names or self.contenders) for names in limits)


_SHARED = ("data", "model", "train", "decode")
_KEYS = ("title", "seeds", "reference", "corpora", "models", "variations", "budgets", "sweep", "alignment", *_SHARED)


def read_study(name_or_file: str) -> Study:
    """A named comparison, or the TOML file of that name."""
    return parse_study(read_toml(name_or_file, named_recipes("comparisons"), "a comparison"), name_or_file)


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
    corpora = {
        name: _corpus(given, shared, f"{where} [corpora.{name}]") for name, given in values.get("corpora", {}).items()
    }
    if not corpora:
        raise UsageError(f"{where}: a comparison needs text: got none; write [corpora.NAME] and its files")
    sweep = {key: value for key, value in values.get("sweep", {}).items() if key != "rates"}
    reference = str(values.get("reference", ""))
    contenders = _contenders(values, shared, seeds, reference, where)
    budgets = dict[str, Budget]()
    for name, given in values.get("budgets", {"run": {}}).items():
        those = {key: tuple(given[key]) for key in ("models", "seeds") if key in given}
        budgets[name] = Budget({key: value for key, value in given.items() if key not in those}, **those)
    for name, changes in {**{n: b.train for n, b in budgets.items()}, "sweep": sweep}.items():
        shared.changed({"train": changes}, f"{where} [{name}]")
    alignment = from_dict(AlignmentConfig, values.get("alignment", {}), f"{where} [alignment]")
    named: dict[str, Any] = {"alignment": alignment, **{f"budgets.{name}": budget for name, budget in budgets.items()}}
    for name, (config, _) in corpora.items():
        named[f"corpora.{name}"] = config
        _check_names(config.budgets, budgets, f"{where} [corpora.{name}]: budgets")
    for name, part in named.items():
        _check_names(part.models, contenders, f"{where} [{name}]: models")
    title = str(values.get("title", where))
    return Study(values, title, seeds, reference, corpora, contenders, budgets, sweep, alignment)


def _check_names(names: Iterable[str], known: Iterable[str], where: str) -> None:
    for each in names:
        if each not in known:
            raise UsageError(f"{where} must be among {', '.join(known)}: got {each!r}{suggest(each, known)}")


def _corpus(given: Mapping[str, Any], shared: Request, where: str) -> tuple[CorpusConfig, Request]:
    own = {each.name for each in dataclasses.fields(CorpusConfig)}
    config, data = ({k: v for k, v in given.items() if (k in own) == is_own} for is_own in (True, False))
    return from_dict(CorpusConfig, config, where), shared.changed({"data": data}, where)


def _contenders(
    values: Mapping[str, Any], shared: Request, seeds: tuple[int, ...], reference: str, where: str
) -> dict[str, Contender]:
    """The models, then the variations of one of them."""
    models, variations = values.get("models", {}), values.get("variations", {})
    rates = tuple(values.get("sweep", {}).get("rates", ()))
    found = {
        name: _contender(Contender(name, shared, seeds, given, rates), f"{where} [models.{name}]")
        for name, given in models.items()
    }
    if (variations or reference) and (reference not in found or (variations and found[reference].folder)):
        wanted = "reference must name one of [models], a trained one if it is varied"
        raise UsageError(f"{where}: {wanted}: got {reference!r}{suggest(reference, found)}")
    for name, given in variations.items():
        if name in models:
            raise UsageError(f"{where}: two models are called {name!r}: give one another name")
        contender = dataclasses.replace(found[reference], name=name, changes=given, varies=reference)
        found[name] = _contender(contender, f"{where} [variations.{name}]")
    return found


def _contender(like: Contender, where: str) -> Contender:
    """The contender with its changes made."""
    changes = dict(like.changes)
    folder, seeds = str(changes.pop("folder", "")), tuple(changes.pop("seeds", like.seeds))
    rates = tuple(changes.pop("rates", like.rates))
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
        rates=() if folder or "learning_rate" in changes else rates,
        folder=folder,
    )

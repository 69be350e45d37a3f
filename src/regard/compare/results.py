"""The tasks of a comparison, the files of their results, and the numbers that the report takes from these.

results/texts/CORPUS.json                    the test set
results/sweep/CORPUS/MODEL/RATE.json         the validation loss at a learning rate
results/run/CORPUS/BUDGET/MODEL/SEED.json    translations and scores of the test set, losses, time, work, alignments
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from regard.compare.study import Study
from regard.compare.texts import ORDINARY, RESULTS, read_text
from regard.errors import DataError
from regard.train.recipe import Request
from regard.translate.evaluate import p_values, require_metrics


@dataclass(frozen=True, slots=True)
class Task:
    """One run of one model: at a learning rate to try, or within a budget."""

    kind: Literal["sweep", "run"]
    model: str
    corpus: str
    budget: str = ""
    seed: int = 1
    rate: float = 0.0

    def result(self, output: Path) -> Path:
        end = f"{self.rate:g}" if self.kind == "sweep" else self.seed
        return output / RESULTS / self.kind / self.corpus / self.budget / self.model / f"{end}.json"

    def __str__(self) -> str:
        return str(self.result(Path()).relative_to(RESULTS).with_suffix(""))


def stages_of(study: Study) -> tuple[list[Task], list[Task], list[Task]]:
    """The learning rates to try, the runs counted in steps, and those counted in minutes, which are done alone.

    The first seeds come first, so that an early end has results of all models.
    """
    runs = [
        Task("run", each.name, corpus, budget, seed)
        for corpus in study.corpora
        for budget in study.budgets_of(corpus)
        for each in study.contenders.values()
        if study.takes_part(each, corpus, budget)
        for seed in study.budgets[budget].seeds or each.seeds
    ]
    seeds = list(dict.fromkeys(task.seed for task in runs))
    runs.sort(key=lambda task: seeds.index(task.seed))
    sweeps = [
        Task("sweep", model, corpus, seed=study.seeds[0], rate=rate)
        for corpus, model in dict.fromkeys((task.corpus, task.model) for task in runs)
        for rate in ([] if study.contenders[model].varies else study.contenders[model].rates)
    ]
    alone = [task for task in runs if study.budgets[task.budget].is_timed]
    return sweeps, [task for task in runs if task not in alone], alone


def request_of(study: Study, task: Task, output: Path) -> Request:
    """The settings of a run: its model's, its budget's, its seed and its learning rate."""
    contender = study.contenders[task.model]
    if task.kind == "sweep":
        changes = {**study.sweep, "learning_rate": task.rate}
    else:
        changes = dict(study.budgets[task.budget].train)
        if contender.rates:
            changes["learning_rate"] = best_rate(swept(contender.varies or task.model, task.corpus, output))
    return contender.recipe.changed({"train": {**changes, "seed": task.seed}}, str(task))


def swept(model: str, corpus: str, output: Path) -> dict[float, float]:
    """The validation loss by learning rate, infinite where the run diverged; of the rates that were tried so far."""
    files = (output / RESULTS / "sweep" / corpus / model).glob("*.json")
    found = [json.loads(path.read_text("utf-8")) for path in files]
    return {each["rate"]: math.inf if each["loss"] is None else each["loss"] for each in found}


def best_rate(losses: Mapping[float, float]) -> float:
    if not any(map(math.isfinite, losses.values())):
        raise DataError(f"one of the rates must work: got {', '.join(f'{r:g}' for r in losses)}; give lower ones")
    return min(losses, key=lambda rate: losses[rate])


class Measurement(tuple[float, ...]):
    """The values of a number that was measured several times."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self) if self else 0.0

    @property
    def spread(self) -> float:
        """The standard deviation; 0 of a single value."""
        return statistics.stdev(self) if len(self) > 1 else 0.0

    def text(self, digits: int = 1) -> str:
        """
        >>> Measurement((20.0, 22.0)).text(), Measurement((3.14159,)).text(2), Measurement(()).text()
        ('21.0 ± 1.4', '3.14', '–')
        """
        mean = f"{self.mean:,.{digits}f}" if self else "–"
        return f"{mean} ± {self.spread:,.{digits}f}" if len(self) > 1 else mean


Curves = dict[str, Mapping[Any, Measurement]]
"""measurements by model, then by the value on the horizontal axis"""


@dataclass(frozen=True)
class BudgetResults:
    """The runs of one budget on one corpus: of each model a result for each seed."""

    study: Study
    corpus: str
    budget: str
    text: Mapping[str, Any]  # sources and references of the test set, and what is known about them
    files: Mapping[str, Mapping[int, Any]]  # results by model and seed

    @property
    def about(self) -> dict[str, Any]:
        return dict(self.text["about"])

    @property
    def is_timed(self) -> bool:
        return self.study.budgets[self.budget].is_timed

    @property
    def models(self) -> list[str]:
        return [name for name in self.files if not self.study.contenders[name].varies]

    @property
    def variations(self) -> list[str]:
        """The reference and its variations."""
        varied = [name for name in self.files if name == self.study.reference or name not in self.models]
        return varied if len(varied) > 1 else []

    def of(self, model: str, key: str) -> Measurement:
        """A number of every seed's result."""
        return Measurement(f[key] for f in self.files[model].values() if f.get(key) is not None)

    def scores(self, model: str, part: str) -> Measurement:
        return Measurement(f["scores"][part] for f in self.files[model].values() if part in f["scores"])

    def learning(self, axis: str) -> Curves:
        """Mean validation loss over updates or seconds."""
        curves: Curves = {}
        for model in self.models:
            by_validation = zip(*(f["losses"] for f in self.files[model].values() if "losses" in f), strict=False)
            curves[model] = {
                statistics.fmean(line[axis] for line in lines): Measurement(line["loss"] for line in lines)
                for lines in by_validation
            }
        return {model: curve for model, curve in curves.items() if curve}

    @cached_property
    def p_values(self) -> dict[str, list[float]]:
        """Of every model and seed against the reference with this seed, by paired bootstrap over ordinary sentences."""
        rows, first = self.about["parts"][ORDINARY], self.files.get(self.study.reference)
        if first is None or self.about["metric"] != "BLEU":
            return {}
        references = [self.text["references"][i] for i in rows]
        found: dict[str, list[float]] = {name: [] for name in self.files if name != self.study.reference}
        for seed in first:
            ours = {self.study.reference: first, **self.files}
            systems = {name: [f[seed]["hypotheses"][i] for i in rows] for name, f in ours.items() if seed in f}
            if len(systems) > 1:
                by_name = p_values(systems, references, with_chrf=False)[1]["BLEU"]
                for name in list(systems)[1:]:
                    found[name].append(by_name[name])
        return found


def score(metric: str, hypotheses: Sequence[str], references: Sequence[str], rows: Iterable[int]) -> float:
    """BLEU, or the share of exact answers in percent, on these sentences."""
    chosen = list(rows)
    ours, theirs = ([texts[i] for i in chosen] for texts in (hypotheses, references))
    if metric == "accuracy":
        return 100 * statistics.fmean(one == other for one, other in zip(ours, theirs, strict=True))
    found: float = require_metrics()[0]().corpus_score(ours, [theirs]).score
    return found


def read_results(study: Study, output: Path) -> list[BudgetResults]:
    """Everything that was measured so far; an interrupted comparison has a report too."""
    runs = [task for stage in stages_of(study)[1:] for task in stage if task.result(output).is_file()]
    if not runs:
        raise DataError(f"{output} must hold results to report: got none; run the comparison first")
    found: dict[tuple[str, str], dict[str, dict[int, Any]]] = {}
    for task in runs:
        result = json.loads(task.result(output).read_text("utf-8"))
        found.setdefault((task.corpus, task.budget), {}).setdefault(task.model, {})[task.seed] = result
    texts = {name: read_text(output, name) for name, _ in found}
    order = [(corpus, budget) for corpus in study.corpora for budget in study.budgets_of(corpus)]
    return [BudgetResults(study, *place, texts[place[0]], found[place]) for place in order if place in found]

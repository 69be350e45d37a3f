"""The numbers of the report, computed from the files of results: scores by length, means and spreads, agreements."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from regard.compare.alignments import agreement
from regard.compare.study import Contender, Study
from regard.compare.tasks import RESULTS, Task, speed_tasks
from regard.compare.texts import with_today_names
from regard.errors import DataError
from regard.translate.evaluate import evaluate


@dataclass(frozen=True)
class Measurement:
    """A number measured several times."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values) if self.values else 0.0

    @property
    def spread(self) -> float:
        """The standard deviation; 0 of a single value."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    def text(self, digits: int = 1) -> str:
        """
        >>> Measurement((20.0, 22.0)).text(), Measurement((3.14159,)).text(2), Measurement(()).text()
        ('21.0 ± 1.4', '3.14', '–')
        """
        mean = f"{self.mean:,.{digits}f}" if self.values else "–"
        return f"{mean} ± {self.spread:,.{digits}f}" if len(self.values) > 1 else mean


def measurement(values: Iterable[float | None]) -> Measurement:
    """Of the values that are known."""
    return Measurement(tuple(value for value in values if value is not None))


@dataclass(frozen=True)
class ModelResult:
    """The results of one model on one corpus, over its seeds."""

    contender: Contender
    num_seeds: int
    num_parameters: int
    bleu: Measurement
    within: Measurement
    """BLEU of the sentences no longer than the longest in training"""
    beyond: Measurement
    """BLEU of the longer ones"""
    by_length: dict[str, Measurement]
    loss: Measurement
    steps: Measurement
    seconds: Measurement
    """training time"""
    alignments: list[dict[str, Any]]


@dataclass(frozen=True)
class CorpusResults:
    """A corpus and the results of every model on it."""

    name: str
    about: dict[str, Any]
    groups: dict[str, list[int]]
    """test sentences by length"""
    num_longer: int
    """test sentences longer than any in training"""
    models: dict[str, ModelResult]

    @property
    def lineage(self) -> dict[str, ModelResult]:
        """The models that are not variations of another."""
        return {name: each for name, each in self.models.items() if not each.contender.varies}

    @property
    def variations(self) -> dict[str, ModelResult]:
        """The varied model and its variations; empty without variations."""
        varied = {each.contender.varies for each in self.models.values()} - {""}
        wanted = [name for name, e in self.models.items() if e.contender.varies or name in varied]
        return {name: self.models[name] for name in wanted}


@dataclass(frozen=True)
class Results:
    """Everything the report shows."""

    study: Study
    corpora: list[CorpusResults]
    recall: dict[str, dict[int, Measurement]]
    recall_parameters: dict[str, int]
    guessing: float
    """accuracy of guessing in recall"""
    speed: dict[str, dict[str, dict[int, Measurement]]]
    """by device, model and length"""
    seeds: list[int]
    """seeds with results"""
    commits: list[str]
    hardware: list[str]
    versions: dict[str, str]
    seconds: float
    """time of all tasks together"""


def read_results(study: Study, output: Path) -> Results:
    """Everything that was measured so far; an interrupted comparison has a report too."""
    read: list[dict[str, Any]] = []
    seeds: set[int] = set()

    def results(tasks: Iterable[Task]) -> list[dict[str, Any]]:
        done = [task for task in tasks if task.result(output).is_file()]
        found = [json.loads(task.result(output).read_text("utf-8")) for task in done]
        seeds.update(task.seed for task in done)
        read.extend(found)
        return found

    corpora = []
    for name in study.corpus_names:
        path = output / RESULTS / "texts" / f"{name}.json"
        if path.is_file():
            text = json.loads(path.read_text("utf-8"))
            corpora.append(_corpus_results(study, name, text, results))
    recall, parameters, guessing = {}, {}, 0.0
    for name in study.recall.models if study.recall else ():
        if found := results(Task("recall", name, seed) for seed in study.seeds):
            recall[name] = {
                int(key): measurement(each["accuracy"][key] for each in found)
                for key in found[0]["accuracy"]
            }
            parameters[name], guessing = found[0]["num_parameters"], found[0]["guessing"]
    speed: dict[str, dict[str, dict[int, Measurement]]] = {}
    for task in speed_tasks(study, ["cpu", "cuda"]):
        for each in results([task]):
            speed.setdefault(task.place, {})[task.name] = {
                int(length): measurement(values) for length, values in each["speeds"].items()
            }
    if not read:
        raise DataError(f"{output} must hold results to report: got none; run the comparison first")
    return Results(
        study,
        corpora,
        recall,
        parameters,
        guessing,
        speed,
        seeds=sorted(seeds),
        commits=list(dict.fromkeys(each["commit"] for each in read)),
        hardware=list(dict.fromkeys(each["hardware"] for each in read)),
        versions=read[0]["versions"],
        seconds=sum(each["task_seconds"] for each in read),
    )


def _corpus_results(
    study: Study, name: str, text: dict[str, Any], results: Callable[..., list[dict[str, Any]]]
) -> CorpusResults:
    about = with_today_names(text["about"])
    lengths = [len(source.split()) for source in text["sources"]]
    longer = [i for i, n in enumerate(lengths) if n > about["longest_train"]]
    groups = group_by_length(lengths, study.length_groups(name))
    models = {}
    for contender in study.contenders.values():
        if name in study.corpora_of(contender):
            tasks = (Task("model", contender.name, seed, name) for seed in contender.seeds)
            if found := results(tasks):
                models[contender.name] = _model_result(
                    contender, found, text["references"], longer, groups
                )
    return CorpusResults(name, about, groups, len(longer), models)


def group_by_length(lengths: Sequence[int], ends: Sequence[int]) -> dict[str, list[int]]:
    """The sentences of each group; the last group holds the longer ones, and empty groups are left out.

    >>> group_by_length([3, 12, 11, 25], [10, 20])
    {'1–10': [0], '11–20': [1, 2], 'over 20': [3]}
    """
    found: dict[str, list[int]] = {}
    starts = [1, *(end + 1 for end in ends)]
    for start, end in zip(starts, [*ends, None], strict=True):
        name = f"over {start - 1}" if end is None else f"{start}–{end}"
        inside = [i for i, n in enumerate(lengths) if start <= n and (end is None or n <= end)]
        if inside:
            found[name] = inside
    return found


def _model_result(
    contender: Contender,
    found: Sequence[dict[str, Any]],
    references: Sequence[str],
    longer: Sequence[int],
    groups: dict[str, list[int]],
) -> ModelResult:
    def bleu(rows: Sequence[int]) -> Measurement:
        chosen = [references[i] for i in rows]
        hypotheses = [[each["hypotheses"][i] for i in rows] for each in found if rows]
        return measurement(evaluate(each, chosen).bleu for each in hypotheses)

    every = range(len(references))
    # Earlier versions wrote the alignments as "looks".
    alignments = [each.get("alignments", each.get("looks")) for each in found]
    return ModelResult(
        contender,
        len(found),
        found[0]["num_parameters"],
        bleu=bleu(every),
        within=bleu([i for i in every if i not in longer]),
        beyond=bleu(longer),
        by_length={name: bleu(rows) for name, rows in groups.items()},
        loss=measurement(each["losses"][-1][2] if each.get("losses") else None for each in found),
        steps=measurement(each.get("steps") for each in found),
        seconds=measurement(each.get("seconds", {}).get("training") for each in found),
        alignments=[each for each in alignments if each],
    )


class HeadScore(NamedTuple):
    """How well one head aligns; None where that is not known."""

    name: str
    agreed: float | None
    """agreement with another model's attention"""
    right: float | None
    """share of linked words that attend to their counterpart"""


def head_scores(alignments: dict[str, Any], reference: dict[str, Any] | None) -> list[HeadScore]:
    """Of every head of a model; `reference` is the model to agree with."""
    scores = []
    sentences = alignments["sentences"]
    for head, name in enumerate(alignments["heads"]):
        agreed = right = None
        if reference is not None:
            pairs = zip(sentences, reference["sentences"], strict=True)
            agreed = statistics.fmean(agreement(a["most"][head], b["most"][0]) for a, b in pairs)
        if sentences and "right" in sentences[0]:
            right = statistics.fmean(each["right"][head] for each in sentences)
        scores.append(HeadScore(name, agreed, right))
    return scores


def best_head(scores: Sequence[HeadScore]) -> int:
    """The head that aligns best: by the known links, or else by agreement."""
    ranks = [(score.agreed or 0.0) if score.right is None else score.right for score in scores]
    return ranks.index(max(ranks))


def aligned_models(corpus: CorpusResults, study: Study) -> list[str]:
    """The models whose alignments were measured; the others are compared with the first."""
    names = study.alignment.models if study.alignment else ()
    return [name for name in names if name in corpus.models and corpus.models[name].alignments]

"""From the files of results to the numbers of the report: scores by length, means and spreads, agreements."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from regard.compare.looks import agreement
from regard.compare.study import Contender, Study
from regard.compare.tasks import RESULTS, Task
from regard.errors import DataError
from regard.translate.evaluate import evaluate


@dataclass(frozen=True)
class Figure:
    """A number measured several times."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float | None:
        """The standard deviation over the seeds, of two or more."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def text(self, digits: int = 1) -> str:
        """
        >>> Figure((20.0, 22.0)).text(), Figure((3.14159,)).text(2)
        ('21.0 ± 1.4', '3.14')
        """
        mean = f"{self.mean:,.{digits}f}"
        return mean if self.spread is None else f"{mean} ± {self.spread:,.{digits}f}"


@dataclass(frozen=True)
class Trained:
    """What one model came to on one corpus, over its seeds."""

    contender: Contender
    num_seeds: int
    num_parameters: int
    bleu: Figure
    within: Figure | None
    """BLEU of the sentences no longer than the longest in training"""
    beyond: Figure | None
    """BLEU of those that are longer"""
    by_length: dict[str, Figure]
    loss: Figure | None
    steps: Figure | None
    seconds: Figure | None
    """of training"""
    looks: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class OnCorpus:
    """A corpus and what every model came to on it."""

    name: str
    about: dict[str, Any]
    groups: dict[str, list[int]]
    """the test's sentences by length"""
    num_longer: int
    """of them, longer than any in training"""
    models: dict[str, Trained]


@dataclass(frozen=True)
class Findings:
    """Everything the report shows."""

    study: Study
    corpora: list[OnCorpus]
    recall: dict[str, dict[int, Figure]]
    recall_parameters: dict[str, int]
    guessing: float
    speed: dict[str, dict[str, dict[int, Figure]]]
    """by device and model"""
    schemes: dict[str, list[dict[str, Any]]]
    seeds: list[int]
    """those there are results of"""
    commits: list[str]
    hardware: list[str]
    versions: dict[str, str]
    seconds: float
    """of all tasks together"""


def gather(study: Study, output: Path) -> Findings:
    """Read all results that are there; a comparison that was interrupted has a report of what it has."""
    read: list[dict[str, Any]] = []
    seeds: set[int] = set()

    def results(tasks: Iterable[Task]) -> list[dict[str, Any]]:
        there = [task for task in tasks if task.result(output).is_file()]
        found = [json.loads(task.result(output).read_text("utf-8")) for task in there]
        seeds.update(task.seed for task in there)
        read.extend(found)
        return found

    corpora = []
    for name in study.corpus_names:
        path = output / RESULTS / "texts" / f"{name}.json"
        if path.is_file():
            corpora.append(_on_corpus(study, name, json.loads(path.read_text("utf-8")), results))
    recall, parameters, guessing = {}, {}, 0.0
    for name in study.recall.models if study.recall else ():
        found = results(Task("recall", name, seed) for seed in study.seeds)
        if found:
            recall[name] = _by_number([each["accuracy"] for each in found])
            parameters[name], guessing = found[0]["num_parameters"], found[0]["guessing"]
    speed: dict[str, dict[str, dict[int, Figure]]] = {}
    for device in study.speed.devices if study.speed else ():
        for name in study.speed.models if study.speed else ():
            for each in results([Task("speed", name, place=device)]):
                speed.setdefault(device, {})[name] = {
                    int(length): Figure(tuple(values)) for length, values in each["speeds"].items()
                }
    if not read:
        raise DataError(f"{output} must hold results to report: got none; run the comparison first")
    schemes = output / RESULTS / "schemes.json"
    return Findings(
        study,
        corpora,
        recall,
        parameters,
        guessing,
        speed,
        json.loads(schemes.read_text("utf-8")) if schemes.is_file() else {},
        seeds=sorted(seeds),
        commits=list(dict.fromkeys(each["commit"] for each in read)),
        hardware=list(dict.fromkeys(each["hardware"] for each in read)),
        versions=read[0]["versions"],
        seconds=sum(each["task_seconds"] for each in read),
    )


def _on_corpus(study: Study, name: str, text: dict[str, Any], results: Any) -> OnCorpus:
    lengths = [len(source.split()) for source in text["sources"]]
    groups = group_by_length(lengths, study.groups_of(name))
    models = {}
    for contender in study.contenders.values():
        if name in study.corpora_of(contender):
            found = results(Task("model", contender.name, s, name) for s in contender.seeds)
            if found:
                models[contender.name] = _trained(contender, found, text, lengths, groups)
    num_longer = sum(n > text["about"]["longest_train"] for n in lengths)
    return OnCorpus(name, text["about"], groups, num_longer, models)


def group_by_length(lengths: Sequence[int], ends: Sequence[int]) -> dict[str, list[int]]:
    """Which sentences are in each group; the last one holds what is longer, and empty groups are left out.

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


def _trained(
    contender: Contender,
    found: Sequence[dict[str, Any]],
    text: dict[str, Any],
    lengths: Sequence[int],
    groups: dict[str, list[int]],
) -> Trained:
    longest = text["about"]["longest_train"]

    def bleu(rows: Sequence[int]) -> Figure | None:
        if not rows:
            return None
        references = [text["references"][i] for i in rows]
        return Figure(
            tuple(
                evaluate([each["hypotheses"][i] for i in rows], references).bleu for each in found
            )
        )

    def figure(values: Iterable[float | None]) -> Figure | None:
        known = tuple(value for value in values if value is not None)
        return Figure(known) if known else None

    everything = bleu(range(len(lengths)))
    assert everything is not None
    return Trained(
        contender,
        len(found),
        found[0]["num_parameters"],
        everything,
        within=bleu([i for i, n in enumerate(lengths) if n <= longest]),
        beyond=bleu([i for i, n in enumerate(lengths) if n > longest]),
        by_length={name: each for name, rows in groups.items() if (each := bleu(rows))},
        loss=figure(each["losses"][-1][2] if each.get("losses") else None for each in found),
        steps=figure(each.get("steps") for each in found),
        seconds=figure(
            each["seconds"]["training"] if "seconds" in each else None for each in found
        ),
        looks=[each["looks"] for each in found if each.get("looks")],
    )


def _by_number(found: Sequence[dict[str, float]]) -> dict[int, Figure]:
    return {int(key): Figure(tuple(each[key] for each in found)) for key in found[0]}


class HeadScore(NamedTuple):
    """How well one head aligns; None is what cannot be known."""

    name: str
    agreed: float | None
    """with another model's attention"""
    right: float | None
    """by the links between the words"""


def head_scores(looks: dict[str, Any], against: dict[str, Any] | None) -> list[HeadScore]:
    """Of every head of a model."""
    scores = []
    for head, name in enumerate(looks["heads"]):
        agreed = right = None
        sentences = looks["sentences"]
        if against is not None:
            pairs = zip(sentences, against["sentences"], strict=True)
            agreed = statistics.fmean(agreement(a["most"][head], b["most"][0]) for a, b in pairs)
        if sentences and "right" in sentences[0]:
            right = statistics.fmean(each["right"][head] for each in sentences)
        scores.append(HeadScore(name, agreed, right))
    return scores


def best_head(scores: Sequence[HeadScore]) -> int:
    """The one that aligns best: by the known links, or else by agreement."""

    def rank(i: int) -> float:
        score = scores[i]
        return (score.agreed or 0.0) if score.right is None else score.right

    return max(range(len(scores)), key=rank)

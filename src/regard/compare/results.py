"""The tasks of a comparison, the files of their results, and the numbers that the report takes from these.

results/texts/CORPUS.json                the test set
results/models/CORPUS/NAME-SEED.json     translations of the test set, alignments, time, parameters
results/recall/NAME-SEED.json            accuracy by distance
results/speed/NAME-DEVICE.json           tokens a second by length
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from regard.compare.study import RecallConfig, SpeedConfig, Study
from regard.errors import DataError
from regard.translate.evaluate import evaluate

RESULTS = "results"


@dataclass(frozen=True, slots=True)
class Task:
    """One measurement of one model; `place` is the corpus of a model, or the device of a speed."""

    kind: Literal["model", "recall", "speed"]
    name: str
    seed: int = 1
    place: str = ""

    def result(self, output: Path) -> Path:
        folder = Path("models", self.place) if self.kind == "model" else Path(self.kind)
        end = self.place if self.kind == "speed" else self.seed
        return output / RESULTS / folder / f"{self.name}-{end}.json"

    def __str__(self) -> str:
        where = f" on {self.place}" if self.place else ""
        return f"{self.kind} {self.name}{where}, seed {self.seed}"


def tasks_of(study: Study) -> list[Task]:
    """Every model with every seed, then recall, then speed.

    The first seeds come first, so that an early end has results of all models. The tasks of a seed are shuffled:
    tasks on one machine slow each other down, and not always the same two should.
    """
    models = [
        Task("model", each.name, seed, corpus)
        for each in study.contenders.values()
        # A variation is trained on the first corpus alone.
        for corpus in list(study.corpora)[: 1 if each.varies else None]
        for seed in each.seeds
    ]
    order = list(dict.fromkeys(task.seed for task in models))
    random.Random(1).shuffle(models)
    models.sort(key=lambda task: order.index(task.seed))
    recall, speed = study.recall or RecallConfig(), study.speed or SpeedConfig()
    return [
        *models,
        *(Task("recall", name, seed) for seed in study.seeds for name in recall.models),
        *(Task("speed", name, place=each) for each in speed.devices for name in speed.models),
    ]


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


def measurement(values: Iterable[float | None]) -> Measurement:
    """Of the values that are known."""
    return Measurement(value for value in values if value is not None)


class Results:
    """Everything that was measured so far; an interrupted comparison has a report too."""

    def __init__(self, study: Study, output: Path) -> None:
        self.study = study
        self.files = {
            task: json.loads(task.result(output).read_text("utf-8"))
            for task in tasks_of(study)
            if task.result(output).is_file()
        }
        if not self.files:
            raise DataError(f"{output} must hold results to report: got none; run the comparison first")
        texts = {name: output / RESULTS / "texts" / f"{name}.json" for name in study.corpora}
        self.corpora = [
            CorpusResults(self, name, json.loads(path.read_text("utf-8")))
            for name, path in texts.items()
            if path.is_file()
        ]
        self.recalls: Curves = {}  # accuracy by model and distance
        self.speeds: dict[str, Curves] = {}  # tokens a second by device, model and length
        for task, found in self.files.items():
            if task.kind == "recall":
                of_seeds = self.of_seeds("recall", task.name)
                self.recalls[task.name] = {
                    int(key): Measurement(each["accuracy"][key] for each in of_seeds) for key in found["accuracy"]
                }
            elif task.kind == "speed":
                self.speeds.setdefault(task.place, {})[task.name] = {
                    int(key): Measurement(values) for key, values in found["speeds"].items()
                }

    def of_seeds(self, kind: str, name: str, place: str = "") -> list[dict[str, Any]]:
        """The results of one model, seed after seed."""
        wanted = (kind, name, place)
        return [f for task, f in self.files.items() if (task.kind, task.name, task.place) == wanted]


class CorpusResults:
    """A corpus and the results of every model on it."""

    def __init__(self, results: Results, name: str, text: dict[str, Any]) -> None:
        study, self.name, self.facts = results.study, name, text["about"]
        # Earlier versions wrote the size of the vocabulary as "pieces", and alignments as "looks".
        self.facts.setdefault("vocabulary", self.facts.get("pieces"))
        files = {each: results.of_seeds("model", each, name) for each in study.contenders}
        self.files = {each: of_seeds for each, of_seeds in files.items() if of_seeds}
        """results of each seed, by model"""
        lengths = [len(source.split()) for source in text["sources"]]
        longest = self.facts["longest_train"]
        self.groups = group_by_length(lengths, study.corpora[name][0].lengths)  # test sentences by length
        self.parts = {
            "all": list(range(len(lengths))),
            "within": [i for i, length in enumerate(lengths) if length <= longest],
            "beyond": [i for i, length in enumerate(lengths) if length > longest],
            **self.groups,
        }
        """the groups, and beside them all sentences, those within the lengths of training, and those beyond"""
        self.bleu = {
            model: {part: self._bleu(model, rows, text) for part, rows in self.parts.items()} for model in self.files
        }
        """BLEU by model and part"""
        self.models = [each for each in self.files if not study.contenders[each].varies]
        varied = [each for each in self.files if each not in self.models or each == study.varied]
        self.variations = varied if len(varied) > 1 else []  # the varied model and its variations
        found = {
            each: [a for f in self.files.get(each, ()) if (a := f.get("alignments", f.get("looks")))]
            for each in (study.alignment.models if study.alignment else ())
        }
        self.alignments = {each: of_seeds for each, of_seeds in found.items() if of_seeds}
        """alignments of each seed, by model"""
        drawn = (f["sentences"] for of_seeds in self.alignments.values() for f in of_seeds)
        self.num_drawn = sum("weights" in each for each in next(drawn, ()))

    def _bleu(self, model: str, rows: Sequence[int], text: dict[str, Any]) -> Measurement:
        references = [text["references"][i] for i in rows]
        hypotheses = ([each["hypotheses"][i] for i in rows] for each in self.files[model] if rows)
        return Measurement(evaluate(each, references).bleu for each in hypotheses)

    def head_scores(self, model: str) -> list[list[HeadScore]]:
        """Of every seed and head; all but the first model are compared with the first."""
        first = next(iter(self.alignments))
        return [
            head_scores(each, None if model == first else reference)
            for each, reference in zip(self.alignments[model], self.alignments[first], strict=False)
        ]


def group_by_length(lengths: Sequence[int], ends: Sequence[int]) -> dict[str, list[int]]:
    """The sentences of each group; the last group holds the longer ones, and empty groups are left out.

    >>> group_by_length([3, 12, 11, 25], [10, 20])
    {'1–10': [0], '11–20': [1, 2], 'over 20': [3]}
    """
    found: dict[str, list[int]] = {}
    for i, length in enumerate(lengths):
        place = sum(length > end for end in ends)
        name = f"{([0, *ends][place]) + 1}–{ends[place]}" if place < len(ends) else f"over {ends[-1]}"
        found.setdefault(name, []).append(i)
    return dict(sorted(found.items(), key=lambda group: lengths[group[1][0]]))


class HeadScore(NamedTuple):
    """How well one head aligns; None where that is not known."""

    name: str
    agreed: float | None  # agreement with another model's attention
    right: float | None  # share of linked words that attend to their counterpart


def head_scores(alignments: dict[str, Any], reference: dict[str, Any] | None) -> list[HeadScore]:
    """Of every head of a model; `reference` is the model to agree with.

    Two heads agree on a target token where both attend most to the same source token.
    """
    scores = []
    sentences = alignments["sentences"]
    for head, name in enumerate(alignments["heads"]):
        agreed = right = None
        if reference is not None:
            agreed = statistics.fmean(
                sum(map(int.__eq__, one["most"][head], other["most"][0])) / len(one["most"][head])
                for one, other in zip(sentences, reference["sentences"], strict=True)
            )
        if sentences and "right" in sentences[0]:
            right = statistics.fmean(each["right"][head] for each in sentences)
        scores.append(HeadScore(name, agreed, right))
    return scores


def best_head(scores: Sequence[HeadScore]) -> int:
    """The head that aligns best: by the known links, or else by agreement."""
    ranks = [(score.agreed or 0.0) if score.right is None else score.right for score in scores]
    return ranks.index(max(ranks))

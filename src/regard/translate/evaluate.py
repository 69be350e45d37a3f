"""Scores of translations (BLEU, chrF), of a search (recall, mean reciprocal rank) and of a language model (perplexity).

BLEU (Papineni et al. 2002) and chrF (Popović 2015) as sacreBLEU computes them (Post 2018), each with the signature that
makes it comparable; and whether two systems differ by more than chance.
"""

import dataclasses
import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError, MissingExtra, UsageError
from regard.text import check_pairs


@dataclass(frozen=True, kw_only=True, slots=True)
class _Named:
    """A score with the name of its test set."""

    name: str = ""

    def titled(self, text: str) -> str:
        return f"{self.name}  {text}" if self.name else text

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @property
    def metrics(self) -> dict[str, float]:
        """The figures by their names on the hub."""
        names = ("bleu", "chrf", "perplexity", "recall_1", "recall_10", "mrr")
        found = self.to_dict()
        return {name: found[name] for name in names if name in found}


@dataclass(frozen=True, kw_only=True, slots=True)
class Score(_Named):
    """The score of one set of translations."""

    bleu: float
    chrf: float
    bleu_signature: str  # settings of BLEU; only figures of the same signature may be compared
    chrf_signature: str
    num_sentences: int

    def __str__(self) -> str:
        return self.titled(f"BLEU {self.bleu:.2f}  chrF {self.chrf:.1f}  ({self.bleu_signature})")


def evaluate(hypotheses: Sequence[str], references: Sequence[str], *, name: str = "") -> Score:
    """Score one translation for each reference: cased text, not tokenized before."""
    check_pairs("hypotheses and references", hypotheses, references)
    if not any(reference.strip() for reference in references):
        raise DataError(f"references must hold text: got {len(references)} lines, all empty; give another file")
    bleu_metric, chrf_metric = require_metrics()
    bleu, chrf = bleu_metric(), chrf_metric()
    return Score(
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        bleu_signature=bleu.get_signature().format(),
        chrf_signature=chrf.get_signature().format(),
        num_sentences=len(references),
        name=name,
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more a system scores than the first one, and how often two equally good ones would differ so much."""

    metric: str
    difference: float
    p_bootstrap: float  # by paired bootstrap resampling (Koehn 2004)
    p_randomization: float  # by approximate randomization (Riezler and Maxwell 2005)

    def __str__(self) -> str:
        told = f"{self.metric} {self.difference:+.2f}, p = {self.p_bootstrap:.4f} by paired bootstrap"
        return f"{told}, {self.p_randomization:.4f} by approximate randomization"


def significance(systems: Mapping[str, Sequence[str]], references: Sequence[str]) -> dict[str, list[Difference]]:
    """The differences in BLEU and chrF of each system from the first of them, by sacreBLEU's tests with its seed."""
    scores, bootstrap = p_values(systems, references)
    randomization = p_values(systems, references, kind="ar")[1]
    return {
        name: [
            Difference(metric, by[name] - next(iter(by.values())), bootstrap[metric][name], randomization[metric][name])
            for metric, by in scores.items()
        ]
        for name in list(systems)[1:]
    }


Values = dict[str, dict[str, float]]  # by metric, then by system


def p_values(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], *, kind: str = "bs", with_chrf: bool = True
) -> tuple[Values, Values]:
    """The scores of all systems, and how often chance alone makes a difference as large as that from the first.

    kind: paired bootstrap (bs) or approximate randomization (ar).
    """
    bleu, chrf = require_metrics()
    from sacrebleu.significance import PairedTest

    metrics = {"BLEU": bleu(), "chrF": chrf()} if with_chrf else {"BLEU": bleu()}
    found: dict[str, Any] = {**PairedTest([*systems.items()], metrics, [references], test_type=kind)()[1]}
    found.pop("System")
    values: tuple[Values, Values] = ({}, {})
    first = next(iter(systems.values()))
    for metric, results in sorted(found.items()):
        for (name, texts), result in zip(systems.items(), results, strict=True):
            num_unlike = sum(ours != theirs for ours, theirs in zip(texts, first, strict=True))
            # sacreBLEU counts larger differences alone. Of all ways to swap the unlike outputs, two make the same one.
            least = 2.0 ** (1 - num_unlike) if kind == "ar" or not num_unlike else 0.0
            values[0].setdefault(metric, {})[name] = result.score
            values[1].setdefault(metric, {})[name] = min(1.0, max(least, result.p_value or 0.0))
    return values


def by_risk(texts: Sequence[str], measure: str) -> list[int]:
    """The places of sampled translations, that of the least risk first: if any of them may be the right one, it has the
    highest mean chrF, or BLEU, against all (minimum Bayes risk: Kumar and Byrne 2004, Eikema and Aziz 2020)."""
    bleu, chrf = require_metrics()
    metric, counts = chrf() if measure == "chrf" else bleu(effective_order=True), Counter(texts)
    worth = dict.fromkeys(counts, 0.0)
    for text in worth:
        worth[text] = sum(count * metric.sentence_score(text, [other]).score for other, count in counts.items())
    return sorted(range(len(texts)), key=lambda place: -worth[texts[place]])


def comet(model: str, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """COMET (Rei et al. 2020) by a model of its own, a checkpoint or a name such as Unbabel/wmt22-comet-da."""
    try:
        package: Any = importlib.import_module("comet")
        scorer = package.load_from_checkpoint(model if Path(model).is_file() else package.download_model(model))
    except ModuleNotFoundError as error:
        raise UsageError("COMET must be installed: it is not; run  pip install unbabel-comet") from error
    except Exception as error:  # its own errors have no common base
        raise UsageError(f"--comet must be a model of COMET: got {model!r} ({error}); name another") from error
    rows = zip(sources, hypotheses, references, strict=True)
    given = [{"src": source, "mt": hypothesis, "ref": reference} for source, hypothesis, reference in rows]
    return float(scorer.predict(given, batch_size=16, gpus=0, progress_bar=False).system_score)


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrieval(_Named):
    """How far from the top the right answers of some queries stood; all in percent."""

    recall_1: float
    recall_10: float
    mrr: float  # mean reciprocal rank
    num_queries: int

    def __str__(self) -> str:
        recalls = f"recall@1 {self.recall_1:.1f}  recall@10 {self.recall_10:.1f}"
        return self.titled(f"{recalls}  MRR {self.mrr:.1f}  ({self.num_queries:,} queries)")


def retrieval(places: Sequence[int], *, name: str = "") -> Retrieval:
    """Score a search by the rank of the right answer of each query, from 1.

    >>> print(retrieval([1, 4]))
    recall@1 50.0  recall@10 100.0  MRR 62.5  (2 queries)
    """
    if not places:
        raise DataError("a search must have queries to be scored: got none; give some")
    percent = 100 / len(places)
    return Retrieval(
        recall_1=percent * sum(place == 1 for place in places),
        recall_10=percent * sum(place <= 10 for place in places),
        mrr=percent * sum(1 / place for place in places),
        num_queries=len(places),
        name=name,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Perplexity(_Named):
    """Perplexity of a text: the number of equally probable tokens that would be as hard to predict."""

    loss: float  # mean of -log p over the predicted tokens
    num_tokens: int
    of_words: float | None = None
    """perplexity per word, which does not depend on the tokenizer; None for blanks"""

    @property
    def of_tokens(self) -> float:
        return math.exp(min(self.loss, 700.0))

    def __str__(self) -> str:
        words = "" if self.of_words is None else f"  of words {self.of_words:.2f}"
        return self.titled(f"perplexity {self.of_tokens:.2f}{words}  ({self.num_tokens:,} tokens)")

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "perplexity": self.of_tokens}


AnyScore = Score | Retrieval | Perplexity


def require_metrics() -> tuple[Any, Any]:
    """sacreBLEU's two metrics; called before a long translation, not after it."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ModuleNotFoundError as error:
        raise MissingExtra("sacrebleu", "torch", "computing BLEU and chrF") from error
    return BLEU, CHRF

"""Scores of translations (BLEU, chrF), of a search (recall, mean reciprocal rank) and of a language model (perplexity).

BLEU (Papineni et al. 2002) and chrF (Popović 2015) as sacreBLEU computes them (Post 2018), each with the signature that
makes it comparable.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import DataError, MissingExtra
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
    bleu_signature: str
    """settings of BLEU; only figures of the same signature may be compared"""
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
    score = Score(
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        bleu_signature=bleu.get_signature().format(),
        chrf_signature=chrf.get_signature().format(),
        num_sentences=len(references),
        name=name,
    )
    _clear_caches()
    return score


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrieval(_Named):
    """How far from the top the right answers of some queries stood; all in percent."""

    recall_1: float
    recall_10: float
    mrr: float
    """mean reciprocal rank"""
    num_queries: int

    def __str__(self) -> str:
        return self.titled(
            f"recall@1 {self.recall_1:.1f}  recall@10 {self.recall_10:.1f}  "
            f"MRR {self.mrr:.1f}  ({self.num_queries:,} queries)"
        )


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

    loss: float
    """mean of -log p over the predicted tokens"""
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


def _clear_caches() -> None:
    """Free the sentences that sacreBLEU has tokenized, tens of thousands of them over a long training."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    for cutter in (Tokenizer13a, TokenizerRegexp):
        cutter.__call__.cache_clear()


def require_metrics() -> tuple[Any, Any]:
    """sacreBLEU's two metrics; called before a long translation, not after it."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ModuleNotFoundError as error:
        raise MissingExtra("sacrebleu", "torch", "computing BLEU and chrF") from error
    return BLEU, CHRF

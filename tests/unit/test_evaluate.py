"""Scores: sacreBLEU's own, never of sets that do not belong together."""

import sys

import pytest

from regard.errors import DataError, MissingExtra
from regard.translate.evaluate import evaluate, retrieval

REFERENCES = ["Jane visits Africa in September.", "The cat sleeps on the warm stone."]


def test_bleu_and_the_ranks_of_a_search_by_hand() -> None:
    """Of 7 words one is wrong in the middle: 6/7, 4/6, 2/5 and 0/4 n-grams match, the last smoothed to 1/8."""
    score = evaluate(["a b c X e f g"], ["a b c d e f g"])
    expected = 100 * (6 / 7 * 4 / 6 * 2 / 5 * (1 / 2) / 4) ** 0.25
    assert score.bleu == pytest.approx(expected)
    score = retrieval([1, 2, 10, 11], name="mine")
    assert (score.recall_1, score.recall_10) == (25, 75)
    assert score.mrr == pytest.approx(25 * (1 + 1 / 2 + 1 / 10 + 1 / 11))
    assert str(score) == "mine  recall@1 25.0  recall@10 75.0  MRR 42.3  (4 queries)"
    with pytest.raises(DataError, match="must have queries"):
        retrieval([])


def test_what_has_no_score_is_refused_and_without_sacrebleu_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="as many lines: got 1 and 2"):
        evaluate(REFERENCES[:1], REFERENCES)
    with pytest.raises(DataError, match="references must hold text"):
        evaluate(["a", "b"], ["", "  "])
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(MissingExtra, match=r"pip install -c constraints.txt '\.\[torch\]'"):
        evaluate(REFERENCES, REFERENCES)

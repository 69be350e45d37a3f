"""Scores: sacreBLEU's own, never of sets that do not belong together; and what is chosen by them."""

import itertools
import json
import random
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from cli_fixtures import assert_one_sentence, run
from fixtures import TEXT, make_model_folder
from sacrebleu.significance import PairedTest

import regard
from regard.errors import DataError, MissingExtra, UsageError
from regard.translate.evaluate import by_risk, evaluate, retrieval, significance

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


def test_significance_is_the_share_of_swaps_that_differ_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 2^8 ways to swap the outputs of two systems, counted, beside a tenth of the 10,000 that sacreBLEU draws."""
    monkeypatch.setitem(PairedTest._DEFAULT_SAMPLES, "ar", 1000)
    draw = random.Random(4)
    words = [[draw.choice("abcdef") for _ in range(12)] for _ in range(8)]
    references = [" ".join(each) for each in words]
    first, second = (
        [" ".join(word if draw.random() < share else "x" for word in each) for each in words] for share in (0.85, 0.95)
    )
    nearly = [second[0], *first[1:]]
    found = significance({"first": first, "second": second, "again": first, "nearly": nearly}, references)

    def difference(swaps: tuple[bool, ...]) -> float:
        rows = [(b, a) if swap else (a, b) for a, b, swap in zip(first, second, swaps, strict=True)]
        scores = [sacrebleu.corpus_bleu(list(side), [references]).score for side in zip(*rows, strict=True)]
        return scores[1] - scores[0]

    observed = difference((False,) * 8)
    every = [abs(difference(swaps)) for swaps in itertools.product((False, True), repeat=8)]
    [bleu, chrf], [same, _] = found["second"], found["again"]
    assert (bleu.metric, chrf.metric) == ("BLEU", "chrF2")
    assert bleu.difference == pytest.approx(observed) and observed > 5
    # A tie counts as a difference of chance here or there, as rounding has it.
    assert abs(bleu.p_randomization - sum(each >= observed - 1e-9 for each in every) / 256) < 0.03
    assert same.difference == 0 and same.p_randomization == 1 and bleu.p_bootstrap < 0.05
    # A single output differs: swapped or not, the systems differ as much.
    assert found["nearly"][0].difference and found["nearly"][0].p_randomization == 1


@pytest.mark.parametrize("measure", ["chrf", "bleu"])
def test_the_sample_of_least_risk_is_chosen(measure: str, tmp_path: Path) -> None:
    model = regard.load(make_model_folder(tmp_path / "model"), engine="onnxruntime", threads=1)
    options: dict[str, Any] = dict(seed=5, split=False, plain=True)
    for number, text in enumerate(TEXT[:3]):
        [sampled] = model.translate([text], method="sample", n_best=9, details=True, **options)
        texts = [one.text for one in sampled.sentences[0].candidates]
        score = sacrebleu.sentence_chrf if measure == "chrf" else sacrebleu.sentence_bleu
        expected = [sum(score(text, [other]).score for other in texts) / 9 for text in texts]
        assert [expected[place] for place in by_risk(texts, measure)] == pytest.approx(sorted(expected, reverse=True))
        chosen = model.translate(text, mbr=measure, samples=9, **options)
        assert chosen == texts[max(range(9), key=expected.__getitem__)], number
    with pytest.raises(UsageError, match="mbr must be chrf or bleu: got 'ter'"):
        model.translate(TEXT[0], mbr="ter")
    with pytest.raises(UsageError, match="a trace must be of one search by one model"):
        model.trace(TEXT[0], mbr="chrf")


def test_several_systems_and_an_ensemble_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PairedTest._DEFAULT_SAMPLES, "ar", 1000)
    one = make_model_folder(tmp_path / "one")
    (tmp_path / "a.fr").write_text("\n".join(TEXT[::2]) + "\n")
    (tmp_path / "a.en").write_text("\n".join(TEXT[1::2]) + "\n")
    files = ("--source", tmp_path / "a.fr", "--reference", tmp_path / "a.en", "--plain")
    same = ("--model", one, "--model", one)
    told = run("evaluate", one, *same, *files, "--significance", "--json")
    first, second = map(json.loads, told.stdout.splitlines())
    assert (first["name"], second["name"]) == (str(one), f"{one} + {one}")
    assert "against_first" not in first and first["bleu"] == second["bleu"]
    assert [each["difference"] for each in second["against_first"]] == [0, 0]
    shown = run("evaluate", one, *same, *files, "--significance").stdout
    assert f"against {one}: BLEU +0.00, p = 1.0000 by paired bootstrap" in shown
    assert_one_sentence(run("evaluate", one, *files, "--significance"), 2)
    assert run("translate", *same, TEXT[0]).stdout == run("translate", "--model", one, TEXT[0]).stdout
    assert_one_sentence(run("translate", "--model", one, "--model", "fr-en", TEXT[0]), 2)  # another vocabulary
    assert_one_sentence(run("evaluate", one, *same, *files, "-o", tmp_path / "out"), 2)
    many = make_model_folder(tmp_path / "many", target_language="", target_languages=("fr", "de"))
    run("evaluate", many, *files, "--to", "de", "-o", tmp_path / "out")
    expected = regard.load(many, target_language="de").translate(TEXT[::2], plain=True)
    assert (tmp_path / "out").read_text().splitlines() == expected
    assert "run  pip install unbabel-comet" in run("evaluate", one, *files, "--comet", "Unbabel/wmt22-comet-da").stderr

    def predict(rows: list[dict[str, str]], **options: Any) -> Any:
        assert rows[0]["src"] == TEXT[0] and rows[0]["ref"] == TEXT[1] and options["gpus"] == 0
        return types.SimpleNamespace(system_score=0.125 * len(rows))

    opened = {"any.ckpt": types.SimpleNamespace(predict=predict)}
    package: Any = types.SimpleNamespace(download_model="{}.ckpt".format, load_from_checkpoint=opened.__getitem__)
    monkeypatch.setitem(sys.modules, "comet", package)
    assert "COMET 0.3750" in run("evaluate", one, *files, "--comet", "any").stdout
    assert "--comet must be a model of COMET: got 'other'" in run("evaluate", one, *files, "--comet", "other").stderr

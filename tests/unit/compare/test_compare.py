"""A whole comparison, as small as it can be: everything is run once, and the report is made from it."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_fixtures import run
from html5lib import HTMLParser

import regard
from regard.compare.results import Task, request_of, stages_of, swept
from regard.compare.study import parse_study, read_study
from regard.errors import TrainingError, UsageError
from regard.train.recipe import named_recipes

TINY: dict[str, Any] = {
    "title": "A & B <compared>",
    "reference": "transformer",
    "corpora": {
        "lesson": {
            "lesson": "translate", "source_language": "fr", "target_language": "en", "max_test": 40,
            "joined_test": 3, "num_longer": 9, "lengths": [6, 12], "budgets": ["updates", "time"],
        },
        "recall": {"recall": [1, 4], "longest_train": 3, "max_test": 8, "models": ["fixed"], "budgets": ["updates"]},
    },
    "data": {"tokenizer": "unigram", "sampling": 0.0},
    "model": {"size": "tiny", "d_model": 16, "num_encoder_layers": 1, "num_decoder_layers": 1},
    "train": {"batch_tokens": 300, "validate_every": 2, "metric": "loss", "device": "cpu", "snapshots": 0},
    "decode": {"method": "greedy", "max_length": 4},
    "budgets": {"updates": {"steps": 2}, "time": {"minutes": 0.0001, "models": ["transformer"]}},
    "sweep": {"rates": [1e-3, 2e-3], "steps": 4},
    "models": {
        "fixed": {"architecture": "gru", "attention": "none", "d_state": 12, "seeds": [1, 2], "learning_rate": 1e-3},
        "additive": {"architecture": "gru", "attention": "additive", "d_state": 12, "rates": [3e-3]},
        "transformer": {"d_ff": 24, "num_heads": 2},
    },
    "variations": {"rotary": {"position": "rotary"}},
    "alignment": {"models": ["additive", "transformer"], "num_shown": 1, "dictionary": ["livre book", "roi king"]},
}  # fmt: skip


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("compare") / "tiny"
    regard.compare(TINY, output, jobs=2, show_progress=False)
    return output


def result_of(finished: Path, *task: Any) -> Any:
    return json.loads(Task("run", *task).result(finished).read_text("utf-8"))


def test_every_task_leaves_its_result(finished: Path) -> None:
    sweeps, together, alone = stages_of(parse_study(TINY, "a test"))
    assert [len(tasks) for tasks in (sweeps, together, alone)] == [1 + 2, 2 + 1 + 1 + 1 + 2, 1]
    for task in (*sweeps, *together, *alone):
        result = json.loads(task.result(finished).read_text("utf-8"))
        assert result["hardware"] and "commit" in result and result["versions"]["torch"]
    model = result_of(finished, "fixed", "lesson", "updates", 2)
    assert len(model["hypotheses"]) == 40 + 9 and model["steps"] == 2 and model["tokens"] == 600
    assert "alignments" not in model and [line["step"] for line in model["losses"]] == [2]
    assert set(model["scores"]) >= {"as in training", "longer, joined"}
    assert set(result_of(finished, "fixed", "recall", "updates")["scores"]) >= {"words since the symbol/4"}
    folder = finished / "models" / str(Task("run", "fixed", "lesson", "updates", 2))
    assert json.loads((folder / "result.json").read_bytes())["scores"] == [], "the test set alone is translated"
    aligned = result_of(finished, "transformer", "lesson", "updates")["alignments"]
    assert aligned["heads"] == ["layer 1 head 1", "layer 1 head 2"]
    links = zip(aligned["right"], aligned["links"], strict=True)
    assert all(0 <= right <= of for rights, of in links for right in rights)


def test_each_model_trains_with_the_rate_of_its_lowest_loss(finished: Path) -> None:
    losses = swept("transformer", "lesson", finished)
    assert set(losses) == {1e-3, 2e-3}
    best = min(losses, key=lambda rate: losses[rate])
    rates = {"transformer": best, "rotary": best, "additive": 3e-3, "fixed": 1e-3}
    for name, rate in rates.items():
        assert result_of(finished, name, "lesson", "updates")["rate"] == rate
    timed = request_of(parse_study(TINY, "a test"), Task("run", "transformer", "lesson", "time", 7), finished).train
    assert (timed.minutes, timed.steps, timed.seed, timed.learning_rate) == (0.0001, None, 7, best)


def test_the_report_stands_alone(finished: Path) -> None:
    page = (finished / "report.html").read_text("utf-8")
    HTMLParser(strict=True).parse(page)
    assert "<script" not in page and "http://" not in page and "https://" not in page
    figures = {path.stem for path in (finished / "figures").iterdir() if path.read_bytes().startswith(b"\x89PNG")}
    names = ["learning-lesson-{}", "length-lesson-{}-1", "length-lesson-{}-2"]
    wanted = {name.format(budget) for name in names for budget in ("updates", "time")}
    assert figures == wanted | {"alignment-lesson-updates", "learning-recall-updates", "length-recall-updates-1"}
    assert page.count('src="data:image/png;base64,') == page.count("<img ") == len(figures)
    assert "A &amp; B &lt;compared&gt;" in page
    for wanted in ("Table 3", "p &lt; 0.05 in ", "Four criteria", "learning rate", "right, %", "<td>rotary</td>"):
        assert wanted in page, wanted


def test_nothing_finished_is_done_again(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, report = sys.modules["regard.compare.run"], finished / "report.html"
    monkeypatch.setattr(module, "Workers", None)  # to start one would be an error
    monkeypatch.setattr(module, "write_report", lambda study, output: report)
    assert regard.compare(TINY, finished, show_progress=False) == report


def test_a_run_that_fails_does_not_end_the_others(finished: Path, tmp_path: Path) -> None:
    there = finished / "models" / "run" / "lesson" / "updates" / "transformer" / "1"
    study = {name: TINY[name] for name in ("corpora", "decode", "train")} | {"budgets": {"updates": {"steps": 2}}}
    study["corpora"] = {"lesson": {**TINY["corpora"]["lesson"], "budgets": ["updates"]}}
    study["models"] = {"gone": {"folder": str(tmp_path / "nowhere")}, "there": {"folder": str(there)}}
    with pytest.raises(TrainingError, match="1 did not, such as run/lesson/updates/gone/1: "):
        regard.compare(study, tmp_path / "out", jobs=1, show_progress=False)
    page = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "| there | " in page
    for unasked in ("seconds", "against", "changed", "Table 3", "learning rate", "criteria", "recall", "Alignments"):
        assert unasked not in page, unasked


def test_the_report_alone_needs_neither_text_nor_models(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "results", tmp_path / "results")
    shutil.copy(finished / "study.json", tmp_path)
    ran = run("compare", "--recipe", "lineage-small", "--output", tmp_path, "--only-report", "--quiet")
    assert ran.exit_code == 0 and ran.stdout == f"{tmp_path / 'report.html'}\n", ran.output
    assert (tmp_path / "report.html").read_bytes() == (finished / "report.html").read_bytes()


def test_a_folder_of_another_comparison_is_refused(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    for study, folder in (({**TINY, "seeds": [3]}, finished), (TINY, tmp_path)):
        with pytest.raises(UsageError, match="holds something else"):
            regard.compare(study, folder, show_progress=False)
    with pytest.raises(UsageError, match="holds none; leave it out"):
        regard.compare(TINY, tmp_path, only_report=True, show_progress=False)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"modles": {}}, r"unknown section 'modles' \(did you mean 'models'\?\)"),
        ({"models": {"a": {"d_modle": 3}}, "variations": {}, "reference": ""}, "unknown key 'd_modle'"),
        ({"variations": {"fixed": {}}}, "two models are called 'fixed'"),
        ({"alignment": {"models": ["none"]}}, r"\[alignment\]: models must be among fixed, additive"),
        ({"budgets": {"short": {"stesp": 3}}}, r"unknown key 'stesp' \(did you mean 'steps'\?\)"),
        ({"reference": "transfomer"}, r"reference must name one of \[models\].*did you mean 'transformer'"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_study({**TINY, **changes}, "a test")


def test_every_shipped_comparison_is_understood() -> None:
    for name in named_recipes("comparisons"):
        study = read_study(name)
        sweeps, together, alone = stages_of(study)
        assert study.reference and study.alignment.dictionary and sweeps and together and alone
        assert {task.corpus for task in together} == set(study.corpora)
    with pytest.raises(UsageError, match=r"lineage-smal.*did you mean 'lineage-small'"):
        read_study("lineage-smal")

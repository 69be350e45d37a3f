"""A whole comparison, as small as it can be: everything is measured once, and the report is made from it."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_fixtures import run
from html5lib import HTMLParser
from number_phrases import generate, write

import regard
from regard.compare.results import Task, tasks_of
from regard.compare.study import named_studies, parse_study, read_study
from regard.errors import RegardError, UsageError

TINY: dict[str, Any] = {
    "title": "A & B <compared>",
    "varied": "transformer",
    "corpora": {"generated": read_study("lineage-small").values["corpora"]["generated"]},
    "data": {"tokenizer": "unigram", "sampling": 0.0, "max_ratio": 9.0},
    "model": {"size": "tiny", "d_model": 16, "num_encoder_layers": 1, "num_decoder_layers": 1},
    "train": {
        "steps": 2, "batch_tokens": 300, "validate_every": 2, "metric": "loss", "device": "cpu"
    },
    "decode": {"method": "greedy", "max_length": 4},
    "models": {
        "fixed": {"architecture": "gru", "attention": "none", "d_state": 12, "seeds": [1, 2]},
        "additive": {"architecture": "gru", "attention": "additive", "d_state": 12},
        "transformer": {"d_ff": 24, "num_heads": 2},
    },
    "variations": {"rotary": {"position": "rotary"}},
    "recall": {
        "models": ["fixed"], "distances": [1, 3], "longest_train": 3, "steps": 2,
        "batch_tokens": 40, "num_tests": 4,
    },
    "speed": {"models": ["fixed"], "lengths": [3, 5], "batch_tokens": 30, "repeats": 2},
    "alignment": {"models": ["additive", "transformer"], "num_shown": 1, "num_scored": 3},
}  # fmt: skip


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    output = folder / "tiny"
    write(folder / "data" / "generated", generate(60, 5, 58, 9, seed=1))
    regard.compare(TINY, output, data=folder / "data", jobs=2, show_progress=False)
    return output


def test_every_task_leaves_its_result(finished: Path) -> None:
    tasks = [task for task in tasks_of(parse_study(TINY, "a test")) if task.place != "cuda"]
    assert len(tasks) == 3 + 1 + 1 + 1 + 1
    for task in tasks:
        result = json.loads(task.result(finished).read_text("utf-8"))
        assert result["hardware"] and "commit" in result and result["versions"]["torch"]
    model = json.loads(Task("model", "fixed", 2, "generated").result(finished).read_text("utf-8"))
    assert len(model["hypotheses"]) == 58 and model["steps"] == 2
    assert "alignments" not in model


def test_the_report_stands_alone(finished: Path) -> None:
    page = (finished / "report.html").read_text("utf-8")
    HTMLParser(strict=True).parse(page)
    assert "<script" not in page and "http://" not in page and "https://" not in page
    assert page.count('src="data:image/png;base64,') == page.count("<img ") == 6
    assert "A &amp; B &lt;compared&gt;" in page
    for number in range(1, 7):
        assert f"<h2>{number}. " in page
    for name in TINY["models"]:
        assert f"<td>{name}</td>" in page
    figures = {path.name for path in (finished / "figures").iterdir()}
    of_corpus = {f"{name}-generated.png" for name in ("length", "alignment", "heads", "variations")}
    assert figures == of_corpus | {"speed-cpu.png", "recall.png"}
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in (finished / "figures").iterdir())


def test_nothing_finished_is_done_again(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.stat().st_mtime_ns for path in (finished / "results").rglob("*-*.json")}
    module, report = sys.modules["regard.compare.run"], finished / "report.html"
    monkeypatch.setattr(module, "Workers", None)  # to start one would be an error
    monkeypatch.setattr(module, "write_report", lambda results, output: report)
    assert regard.compare(TINY, finished, show_progress=False) == report
    assert before and {path: path.stat().st_mtime_ns for path in before} == before


def test_the_report_alone_needs_neither_text_nor_models(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "results", tmp_path / "results")
    shutil.copy(finished / "study.json", tmp_path)
    ran = run("compare", "--recipe", "lineage-small", "--output", tmp_path, "--only-report", "--quiet")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout == f"{tmp_path / 'report.html'}\n"
    page = (tmp_path / "report.md").read_text("utf-8")
    assert page.startswith("# A & B <compared>\n") and page.count("![") == 6
    assert (tmp_path / "report.html").read_bytes() == (finished / "report.html").read_bytes()


def test_a_folder_of_another_comparison_is_refused(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds something else"):
        regard.compare({**TINY, "seeds": [3]}, finished, show_progress=False)
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match="holds something else"):
        regard.compare(TINY, tmp_path, show_progress=False)
    with pytest.raises(UsageError, match="holds none; leave it out"):
        regard.compare(TINY, tmp_path, only_report=True, show_progress=False)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"modles": {}}, r"unknown section 'modles' \(did you mean 'models'\?\)"),
        ({"models": {"a": {"d_modle": 3}}, "variations": {}}, "unknown key 'd_modle'"),
        ({"variations": {"fixed": {}}}, "two models are called 'fixed'"),
        ({"recall": {"models": ["none"]}}, r"\[recall\]: models must be those of \[models\]"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_study({**TINY, **changes}, "a test")


def test_every_shipped_comparison_is_understood() -> None:
    for name in named_studies():
        study = read_study(name)
        assert study.varied and study.alignment and study.recall and study.speed
    older = {**TINY, "corpora": {}, "generated": {"num_train": 60}}
    assert list(parse_study(older, "a finished comparison").corpora) == ["generated"]
    with pytest.raises(RegardError, match=r"lineage-smal.*did you mean 'lineage-small'"):
        read_study("lineage-smal")

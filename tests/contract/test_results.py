"""The figures of the README are those of the evidence in benchmarks/results."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from train_fixtures import QUICK, counting_corpus, run

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.fixture(scope="module")
def recipe_runs() -> ModuleType:
    path = ROOT / "benchmarks" / "recipe_runs.py"
    spec = importlib.util.spec_from_file_location("recipe_runs", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_says_what_it_was_measured_with(path: Path) -> None:
    found = json.loads(path.read_text("utf-8"))
    needed = {"benchmark", "date", "commit", "hardware", "versions", "rows", "ratios"}
    assert needed <= found.keys() and found["benchmark"] == path.stem
    assert found["rows"] and found["hardware"] and found["versions"]["regard"]
    assert all(isinstance(ratio, (int, float)) for ratio in found["ratios"].values())


def test_the_table_of_recipes_is_the_evidence(recipe_runs: ModuleType) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    table = re.search(re.escape(recipe_runs.HEADER) + r"\n\|[-|]+\|\n((?:\|.*\n)*)", text)
    assert table, "the table of results is not in the README"
    measured = [path for path in RESULTS if path.name.startswith(recipe_runs.PREFIX)]
    rows = {recipe_runs.readme_row(json.loads(path.read_text("utf-8"))) for path in measured}
    assert set(table[1].splitlines()) == rows


def test_runs_become_one_result(recipe_runs: ModuleType, tmp_path: Path) -> None:
    corpus = counting_corpus(tmp_path)
    data = dataclasses.replace(corpus, test_source=corpus.source, test_target=corpus.target)
    folders = [tmp_path / f"seed{seed}" for seed in (1, 2)]
    for seed, folder in enumerate(folders, start=1):
        run(data, folder, dataclasses.replace(QUICK, seed=seed))
    found = recipe_runs.gather("mine", "multi30k-en-de", folders)
    one, two = found["rows"]
    assert (one["seed"], two["seed"]) == (1, 2) and found["test_set"] == "train"
    assert [len(row["curve"]) for row in (one, two)] == [2, 2]
    assert found["mean"]["bleu"] == pytest.approx((one["bleu"] + two["bleu"]) / 2)
    assert found["spread"]["bleu"] == pytest.approx(abs(one["bleu"] - two["bleu"]) / 2**0.5)
    assert str(tmp_path) not in json.dumps(found), "where the files lay is nobody's concern"
    assert recipe_runs.readme_row(found).startswith("| `mine` | train | **")
    recipe_runs.draw(found, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")

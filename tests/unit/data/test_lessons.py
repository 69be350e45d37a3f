"""Lessons: their text is made from a seed, and each pair is right."""

from datetime import date
from pathlib import Path

import pytest

from regard.data.lessons import LESSONS, MONTHS, NUM_PAIRS, write_lesson
from regard.train.recipe import check, read_recipe


def pairs_of(name: str, folder: Path, seed: int = 3) -> list[list[str]]:
    return [line.split("\t") for line in write_lesson(name, folder, seed).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", LESSONS)
def test_pairs_differ_and_come_from_the_seed(name: str, tmp_path: Path) -> None:
    pairs = pairs_of(name, tmp_path)
    assert len({source for source, _ in pairs}) == len(pairs) == NUM_PAIRS
    assert pairs == pairs_of(name, tmp_path) != pairs_of(name, tmp_path, seed=4)
    request = read_recipe(f"learn-{name}")
    assert request.data.lesson == name and request.objective == "translation"
    check(request)


def test_each_target_is_right(tmp_path: Path) -> None:
    assert all(target == source for source, target in pairs_of("copy", tmp_path))
    assert all(target.split() == source.split()[::-1] for source, target in pairs_of("reverse", tmp_path))
    for source, target in pairs_of("dates", tmp_path):
        _, day, month, year = source.split()
        assert date.fromisoformat(target) == date(int(year), MONTHS[0].index(month) + 1, int(day.removesuffix("er")))
    for source, target in pairs_of("translate", tmp_path):
        assert source[0].isupper() and source.endswith(".") and target.endswith(".")
        assert (" ne " in source) == (" not " in target) and (" en " in source) == (" in " in target)

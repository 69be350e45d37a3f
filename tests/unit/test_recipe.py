"""A recipe says what it does not understand before anything is started."""

from pathlib import Path

import pytest

from regard.config import TrainConfig, sized
from regard.errors import UsageError
from regard.train.recipe import SECTIONS, named_recipes, parse_settings, read_recipe

RECIPE = """
[data]
source = "train.fr"
target = ["train.en"]

[model]
size = "tiny"
norm = "rms"

[train]
steps = 100
learning_rate = 1

[decode]
beam = 2
"""


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_recipe_file(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, RECIPE))
    assert recipe.data.source == ("train.fr",) and recipe.data.target == ("train.en",)
    assert recipe.size == "tiny" and recipe.model == {"norm": "rms"}
    assert recipe.train == TrainConfig(steps=100, learning_rate=1.0)
    assert recipe.decode.beam == 2


def test_what_is_said_later_wins(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, RECIPE)).changed({"train": {"steps": 7}}, "--set")
    assert recipe.train.steps == 7 and recipe.train.learning_rate == 1
    assert recipe.size == "tiny"


@pytest.mark.parametrize(
    "text, message",
    [
        ("[trian]\nsteps=1", r"unknown section \[trian\] \(did you mean 'train'\?\)"),
        ("[train]\nstep=1", r"\[train\]: unknown key 'step' \(did you mean 'steps'\?\)"),
        ("[train]\nsteps='many'", "steps must be a whole number: got 'many'; correct it"),
        ("[train]\nsteps=0", "steps must be above 0"),
        (
            "[model]\nsize='huge'",
            "size must be one of tiny, small, base, big: got 'huge'; use one of these",
        ),
        ("[model]\nd_modle=3", r"unknown key 'd_modle' \(did you mean 'd_model'\?\)"),
        ("[model]\nsize='tiny'\nnum_heads=3", "d_model must be a multiple of num_heads"),
        ("train = 3", "train must be a section"),
        ("[train", "must be TOML text"),
        ("\x00", "must be TOML text"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_recipe(written(tmp_path, text))


def test_a_recipe_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be a readable recipe"):
        read_recipe(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="must be a .toml file or one of .*paper-base"):
        read_recipe("paper-bse")


@pytest.mark.parametrize("name", named_recipes())
def test_every_shipped_recipe_is_understood(name: str) -> None:
    recipe = read_recipe(name)
    assert sized(recipe.size or "base", **recipe.model)
    assert recipe.train and recipe.data and recipe.decode


def test_settings() -> None:
    settings = ["steps=20", "learning_rate=1e-3", "size=tiny", "data.max_length=9", "joint=false"]
    assert parse_settings(settings, SECTIONS) == {
        "train": {"steps": 20, "learning_rate": 1e-3},
        "model": {"size": "tiny"},
        "data": {"max_length": 9, "joint": False},
    }
    assert parse_settings(["source_language=fr"], SECTIONS) == {"data": {"source_language": "fr"}}


@pytest.mark.parametrize(
    "setting, message",
    [
        ("steps", "must be key=value: got 'steps'"),
        ("stpes=3", r"unknown setting 'stpes' \(did you mean 'steps'\?\)"),
        ("model.steps=3", r"unknown setting 'model.steps' \(did you mean 'steps'\?\)"),
        ("stpes=3", r"; docs/reference/settings.md has them all$"),
        ("xyzzy=3", r"unknown setting 'xyzzy'; known are .*steps"),
        ("max_length=3", "data.max_length or decode.max_length"),
    ],
)
def test_settings_that_cannot_be_meant(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_settings([setting], SECTIONS)

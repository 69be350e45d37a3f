"""A recipe or request says what it does not understand, and what contradicts itself, before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from regard.config import DataConfig, TrainConfig, sized
from regard.errors import DataError, UsageError
from regard.train.recipe import SECTIONS, Request, check, named_recipes, parse_settings, read_recipe

RECIPE = """
data = {source = "train.fr", target = ["train.en"]}
model = {size = "tiny", norm = "rms"}
train = {steps = 100, learning_rate = 1}
decode = {beam = 2}
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
    changed = recipe.changed({"train": {"steps": 7}}, "--set")
    assert changed.train.steps == 7 and changed.train.learning_rate == 1 and changed.size == "tiny"
    (tmp_path / "base.toml").write_text("extends = 'paper-base'\n[train]\nwarmup = 9")
    top = read_recipe(written(tmp_path, f"extends = 'base.toml'\n{RECIPE}"))
    assert (top.train.warmup, top.train.steps, top.train.schedule) == (9, 100, "inverse-sqrt")
    assert top.size == "tiny" and top.model == {**read_recipe("paper-base").model, "norm": "rms"}
    for name in named_recipes():
        shipped = read_recipe(name)
        assert sized(shipped.size or "base", **shipped.model)


@pytest.mark.parametrize(
    "text, message",
    [
        ("[trian]\nsteps=1", r"unknown section \[trian\] \(did you mean 'train'\?\)"),
        ("[train]\nstep=1", r"\[train\]: unknown key 'step' \(did you mean 'steps'\?\)"),
        ("[model]\nsize='tiny'\nnum_heads=3", "d_model must be a multiple of num_heads"),
        ("train = 3", "train must be a section"),
        ("extends = 'mine.toml'", "must be the name of another recipe"),
        ("extends = 'paper-base'\ntrain = 3", "train must be a section"),
        ("extends = 'paper-base'\n[trian]", r"unknown section \[trian\]"),
        ("[train", "must be readable TOML text"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_recipe(written(tmp_path, text))


def test_a_recipe_that_is_not_there_and_text_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be readable TOML text"):
        read_recipe(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="must be a .toml file or one of .*paper-base"):
        read_recipe("paper-bse")
    recipe = read_recipe(written(tmp_path, "data = {pairs = ['data/none.tsv']}"))
    with pytest.raises(DataError, match="which must be there"):
        recipe.with_files(tmp_path)
    assert recipe.with_files(tmp_path, {"pairs"}) == recipe  # --set names other pairs
    request = Request(TEXT)
    assert (request.objective, request.architecture) == ("language", "decoder-only")
    check(request)


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
        ("max_length=3", "data.max_length or decode.max_length"),
    ],
)
def test_settings_that_cannot_be_meant(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_settings([setting], SECTIONS)


LSTM = dict(architecture="lstm", attention="additive")
PAIRS, TEXT = DataConfig(pairs=("p",)), DataConfig(text=("t",))
CONTRASTIVE = TrainConfig(objective="contrastive")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (dict(init=Path("x"), size="tiny"), "tokenizer from the given model: got size as well"),
        (dict(data=DataConfig(pairs=("p",), keep=("k",))), "must not get worse at: got none; name it with --init"),
        (dict(data=PAIRS, model=dict(architecture="decoder-only")), "got pairs; give --text"),
        (dict(data=DataConfig(lesson="copy", pairs=("p",))), "a lesson makes its own text: got lesson=copy and files"),
        (dict(data=TEXT, model=LSTM), "from pairs: got architecture=lstm and running text"),
        (dict(model=LSTM, train=TrainConfig(packing=True)), "got packing=true; leave one out"),
        (dict(data=PAIRS, train=TrainConfig(adapter=True)), "adapter is for a model that is given: got no --init"),
    ],
)
def test_contradictions_are_named(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check(Request(**request_))

"""A recipe or request says what it does not understand, and what contradicts itself, before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from regard.config import DataConfig, TrainConfig, sized
from regard.errors import UsageError
from regard.train.recipe import (
    SECTIONS,
    Request,
    check,
    named_recipes,
    parse_settings,
    read_recipe,
)

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


LSTM = dict(architecture="lstm", attention="additive")
PAIRS, TEXT = DataConfig(pairs=("p",)), DataConfig(text=("t",))
VECTORS = DataConfig(embeddings=("v",))
FREEZE = TrainConfig(freeze_embeddings=True)
CONTRASTIVE = TrainConfig(objective="contrastive")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            dict(init=Path("x"), size="tiny"),
            "takes shape and tokenizer from the given model: got size",
        ),
        (dict(init=Path("x"), data=DataConfig(vocabulary=99)), "got vocabulary as well"),
        (dict(data=VECTORS, init=Path("x")), "got embeddings as well"),
        (
            dict(data=DataConfig(tokenizer_file="x", joint=False)),
            "one tokenizer for both languages",
        ),
        (dict(data=PAIRS, model=dict(architecture="decoder-only")), "got pairs; give --text"),
        (dict(model=dict(architecture="encoder-only")), "learns from running text: got none"),
        (
            dict(data=TEXT, model=dict(architecture="encoder-decoder")),
            "from pairs: got .* and running text",
        ),
        (
            dict(
                data=TEXT,
                model=dict(architecture="encoder-only"),
                train=TrainConfig(objective="language"),
            ),
            "objective=language trains a model that is decoder-only: got architecture=encoder-only",
        ),
        (dict(data=DataConfig(text=("t",), joint=False)), "running text has one vocabulary"),
        (dict(model=LSTM, train=CONTRASTIVE), "an encoder alone"),
        (dict(train=TrainConfig(objective="contrastive", r_drop=1.0)), "r_drop is for words"),
        (dict(train=CONTRASTIVE, data=DataConfig(joint=False)), "one encoder"),
        (
            dict(model=LSTM, train=TrainConfig(packing=True)),
            "reads one sentence a row: got packing=true",
        ),
        (dict(model=LSTM, train=TrainConfig(sharded=True)), "cannot be cut up: got sharded=true"),
        (dict(model={**LSTM, "num_heads": 4}), "num_heads is a setting of Transformers"),
        (dict(model={"d_state": 64}), "d_state is a setting of recurrent models"),
        (dict(train=FREEZE), "freeze_embeddings needs word vectors"),
        (
            dict(data=VECTORS, train=TrainConfig(freeze_embeddings=True, weight_decay=0.1)),
            "which weight_decay does not: got both; leave one out",
        ),
    ],
)
def test_contradictions_are_named(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check(Request(**request_))


def test_text_alone_means_a_model_that_writes() -> None:
    request = Request(TEXT)
    assert (request.objective, request.architecture) == ("language", "decoder-only")
    check(request)

"""A model is found by its name, by its languages, or as a folder; else the message says what there is."""

import shutil
from pathlib import Path

import pytest
from fixtures import make_model_folder, make_random_folder

import regard
from regard.errors import ModelError, UsageError
from regard.folder import catalogue
from regard.folder.catalogue import available, find, find_by_languages, find_by_task, find_model, shown
from regard.folder.manifest import read_manifest


@pytest.fixture
def models(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One bundled model, fr-en, and a user's folder without any."""
    shutil.copytree(folder, tmp_path / "bundled" / "fr-en")
    monkeypatch.setattr(catalogue, "BUNDLED", tmp_path / "bundled")
    monkeypatch.setenv("REGARD_MODELS", str(tmp_path / "mine"))
    return tmp_path / "mine"


def test_by_name_as_a_folder_by_languages_and_the_one_that_searches(models: Path, folder: Path) -> None:
    assert find("fr-en") == models.parent / "bundled" / "fr-en"
    assert find(str(folder)) == folder
    got = shutil.copytree(folder, models / "mine")
    (got / catalogue.ORIGIN).write_text('{"from": "hf:Helsinki-NLP/opus-mt-fr-en"}')
    assert find("hf:Helsinki-NLP/opus-mt-fr-en@main") == find("opus-mt:fr-en") == got
    shutil.rmtree(got)
    with pytest.raises(UsageError, match="it is not; run  regard models get opus-mt:fr-en"):
        find("opus-mt:fr-en")
    with pytest.raises(UsageError, match=r"\(fr-en\): got 'fr-em' \(did you mean 'fr-en'\?\)"):
        find("fr-em")
    assert shown(find("fr-en")) == "fr-en"
    assert shown(folder) == str(folder)
    bundled = models.parent / "bundled" / "fr-en"
    assert find_by_languages("fr", "en") == bundled
    assert find_by_languages(None, "en") == bundled
    assert find_by_languages(None, None) == bundled
    assert find_by_languages("fr_FR", "en-US") == find_model("fr-en", "FR", "en_GB") == bundled
    with pytest.raises(UsageError, match="the source language of fr-en is fr: got en_US"):
        find_model("fr-en", "en_US", None)
    with pytest.raises(UsageError, match="no model translates from de to any language: .*fr to en"):
        find_by_languages("de", None)
    shape = dict(architecture="encoder-only", d_model=10, num_heads=2)
    for place in (models.parent / "bundled" / "search", models / "mine"):
        make_random_folder(place, shape, seed=3, task="search")
        assert find_by_task("search") == place


def test_a_folder_that_is_no_model_says_why(models: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model: it has no config.json"):
        find(tmp_path)
    with pytest.raises(ModelError, match="is not a folder"):
        find(tmp_path / "nowhere")
    (tmp_path / "config.json").write_bytes(b'{"model": \xff')
    with pytest.raises(ModelError, match="is not valid JSON"):
        read_manifest(tmp_path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ModelError, match=f"go on with  regard train --resume --output {tmp_path}"):
        find(tmp_path)
    with pytest.raises(UsageError, match="no model is there to write: name one with --model"):
        find_by_task("write")


def test_broken_folders_are_not_listed_and_the_users_own_come_first(models: Path, folder: Path) -> None:
    shutil.copytree(folder, models / "broken")
    (models / "broken" / "config.json").write_text("{}")
    shutil.copytree(folder, models / "empty")
    (models / "empty" / "model.safetensors").unlink()
    [info] = available()
    assert info.name == "fr-en" and info.to_dict()["source_language"] == "fr"
    shutil.copytree(folder, models / "fr-en")
    shutil.copytree(folder, models / "best")
    assert find("fr-en") == models / "fr-en"
    assert [(info.name, info.bundled) for info in available()] == [("best", False), ("fr-en", False)]


def test_a_tag_tells_a_model_of_several_languages_which_to_write(tmp_path: Path, folder: Path) -> None:
    many = make_model_folder(tmp_path / "many", target_language="", target_languages=("fr", "de"))
    with pytest.raises(UsageError, match="must be one of fr, de: got none; say it with --to"):
        regard.load(many)
    text = "Jane visits Africa."
    model, tagged = regard.load(many, target_language="de"), regard.load(folder)
    assert model.translate(text, plain=True) == tagged.translate(f"<2de> {text}", plain=True)
    expected = tagged.trace(f"<2de> {text}", plain=True)["source.tokens"].tolist()
    assert model.look(text, plain=True).trace["source.tokens"].tolist() == expected

"""A model by its name, and in another form."""

from pathlib import Path

import pytest
from fixtures import make_model_folder

import regard
from regard.api import export, load
from regard.errors import UsageError
from regard.folder import catalogue
from regard.folder.manifest import read_manifest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model_folder(tmp_path_factory.mktemp("models") / "fr-en")


def test_loading_by_name_and_languages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_MODELS", str(folder.parent))
    monkeypatch.setattr(catalogue, "BUNDLED", folder / "none")
    assert repr(regard.load("fr-en")) == "<regard.Model fr-en: fr to en>"
    assert regard.load(source_language="fr").folder == folder
    assert [info.name for info in regard.available()] == ["fr-en"]
    assert regard.translate("Bonjour", model="fr-en") == regard.load().translate("Bonjour")
    with pytest.raises(UsageError, match="the source language of fr-en is fr: got de"):
        regard.load("fr-en", source_language="de")


@pytest.mark.parametrize("weights", ["int8", "fp16", "fp32"])
def test_exporting(folder: Path, tmp_path: Path, weights: str) -> None:
    export(folder, tmp_path / "out", weights=weights)
    assert read_manifest(tmp_path / "out").weights == weights
    assert isinstance(load(tmp_path / "out").translate("Bonjour"), str)
    assert (tmp_path / "out" / "README.md").read_text() == "# A random model\n"
    with pytest.raises(
        UsageError,
        match="weights must be one of int8, fp16, fp32 in the format regard: got 'int4'; int8",
    ):
        export(folder, tmp_path / "other", weights="int4")


def test_a_folder_of_other_files_is_not_exported_into(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="holds other files; name another folder"):
        export(folder, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
    for name in ("empty", "empty"):  # the second time it is a model's
        (tmp_path / name).mkdir(exist_ok=True)
        export(folder, tmp_path / name)
    assert read_manifest(tmp_path / "empty").weights == "int8"


def test_a_folder_without_a_card_is_exported(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for path in folder.iterdir():
        if path.name != "README.md":
            (bare / path.name).write_bytes(path.read_bytes())
    export(bare, tmp_path / "out")
    assert (tmp_path / "out" / "README.md").read_text() == ""
    assert (tmp_path / "out" / "decoder.onnx").is_file()

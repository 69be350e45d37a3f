"""Variants are registered, and a kind that somebody does not know is refused there in one sentence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from fixtures import make_model_folder

import regard
from regard import engine
from regard.api import export
from regard.config import POSITIONS
from regard.config import model as config_module
from regard.errors import ModelError, UsageError
from regard.exchange import ctranslate2, formats, huggingface, onnx, onnx_blocks
from regard.folder.manifest import read_manifest
from regard.look import page_engine
from regard.look.subject import Subject
from regard.model.feedforward import ACTIVATIONS
from regard.model.norm import NORMS
from regard.model.position import SCHEMES
from regard.model.transformer import build

FIELDS = {"position": POSITIONS, "norm": NORMS, "feed_forward": ACTIVATIONS}


def test_the_registries_know_every_kind() -> None:
    assert SCHEMES.keys() == POSITIONS.keys() == {*get_args(config_module.Position)}
    for kind, scheme in SCHEMES.items():
        entered = [name for name, formula in scheme._asdict().items() if formula is not None]
        assert entered == sorted(POSITIONS[kind] & {"added", "rotated", "biased"}), kind
    assert NORMS.keys() == {*get_args(config_module.Norm)} == {*onnx_blocks.NORMS}
    kinds = {kind.removeprefix("gated-") for kind in get_args(config_module.FeedForwardKind)}
    assert ACTIVATIONS.keys() == kinds == {*onnx_blocks.ACTIVATIONS}


@pytest.mark.parametrize("field", FIELDS)
def test_a_folder_with_an_unknown_kind_is_refused_by_all_that_open_it(field: str, tmp_path: Path) -> None:
    folder = make_model_folder(tmp_path / "model")
    described = json.loads((folder / "config.json").read_text())
    described["model"][field] = "spiral"
    (folder / "config.json").write_text(json.dumps(described))
    sentence = rf"{field} must be one of .*: got 'spiral'; "
    for use in (
        lambda: regard.load(folder, engine="onnxruntime"),
        lambda: regard.load(folder, engine="torch"),
        lambda: Subject.open(folder),
        *(lambda to=to: export(folder, tmp_path / to, to=to) for to in ("onnx", "ctranslate2", "huggingface", "web")),
    ):
        with pytest.raises(ModelError, match=sentence):
            use()


@pytest.mark.parametrize("field", FIELDS)
def test_a_new_kind_is_refused_where_nobody_has_written_it(field: str, tmp_path: Path, monkeypatch) -> None:
    """As if it stood in the configuration alone: what would compute something else says so."""
    folder = make_model_folder(tmp_path / "model")
    manifest, subject = read_manifest(folder), Subject.open(folder)
    forged = replace(manifest, model=replace(manifest.model))
    object.__setattr__(forged.model, field, "spiral")
    monkeypatch.setitem(POSITIONS, "spiral", {"added"})
    with pytest.raises(UsageError, match=f"{field} must be one of .* got 'spiral'"):
        build(forged.model)
    assert onnx.hindrance(forged.model) == f"{field}=spiral"
    for module in (ctranslate2, formats, huggingface, engine):
        monkeypatch.setattr(module, "read_manifest", lambda _: forged)
    for to in ("onnx", "ctranslate2", "huggingface"):
        with pytest.raises(UsageError, match="spiral.*; use another"):
            export(folder, tmp_path / to, to=to)
        assert not (tmp_path / to).exists()
    if field == "position":
        with pytest.raises(UsageError, match="got spiral; use torch"):
            regard.load(folder, engine="onnxruntime")
        assert "spiral" in page_engine.hindrance(replace(subject, manifest=forged))

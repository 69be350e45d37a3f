"""config.json is read back as it was written, and what is wrong in it is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.errors import ModelError
from regard.folder.manifest import Manifest, read_manifest


@pytest.fixture
def folder(tmp_path: Path, manifest: Manifest) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(manifest.to_json())
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.update(format_version=99), "expected format_version 1, got 99"),
        (lambda v: v.pop("model"), "model must be an object: got None; correct it"),
        (lambda v: v["model"].update(d_model=19), "d_model must be"),
        (lambda v: v["tokenizer"].update(kind="pickle"), "kind must be"),
        (lambda v: v["tokenizer"].update(source="../x"), "plain file name: got '../x'; get the model again"),
    ],
)
def test_a_wrong_config_is_named(folder: Path, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    values = json.loads((folder / "config.json").read_text())
    change(values)
    (folder / "config.json").write_text(json.dumps(values))
    with pytest.raises(ModelError, match=message) as caught:
        read_manifest(folder)
    assert "\n" not in str(caught.value)

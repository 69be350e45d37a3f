"""Models that earlier versions wrote still load, and say what they said then (test E8).

`tests/models/format-N` is a small random model as the first version with that format wrote it, and `said.json` what it
answered: never written again, only added to when the format changes.
"""

import json
from pathlib import Path

import pytest

from regard.api import load
from regard.folder.manifest import FORMAT_VERSION, read_manifest

MODELS = Path(__file__).parents[1] / "models"
FOLDERS = sorted(MODELS.glob("format-*"))


def test_there_is_one_of_every_format() -> None:
    numbers = {int(folder.name.split("-")[1]) for folder in FOLDERS}
    assert numbers == set(range(1, FORMAT_VERSION + 1))


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_it_says_what_it_said(folder: Path) -> None:
    said = json.loads((folder / "said.json").read_text("utf-8"))
    manifest = read_manifest(folder)
    assert (manifest.task, manifest.weights) == (said["task"], said["weights"])
    model = load(folder, engine="torch")
    assert model.translate(said["source"]) == said["translation"]
    (found,) = model.score([said["source"]], [said["target"]])
    assert found == pytest.approx(said["log_probabilities"], abs=1e-4)

"""A model that only reads, with random weights, and some texts to search."""

from pathlib import Path

import pytest
from fixtures import make_random_folder

from regard.search.encoder import TextEncoder


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = dict(architecture="encoder-only", num_encoder_layers=1, d_model=26, d_ff=37, num_heads=2)
    folder = tmp_path_factory.mktemp("models") / "finder"
    return make_random_folder(folder, shape, seed=11, task="search", longest=67)


@pytest.fixture(scope="session")
def reader(model_folder: Path) -> TextEncoder:
    return TextEncoder.open(model_folder, threads=1)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "one.txt").write_text("The cat sleeps.\n\nJane visits Africa.\n")
    (folder / "deep" / "two.md").write_text("# Le chat\n\nIl dort.\n\nIl fait *beau* ?\n")
    (folder / "deep" / "deeper" / "three").write_text("Bonjour, comment allez-vous ?\n")
    return folder

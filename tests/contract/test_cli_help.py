"""The reference pages are what the code says today."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", REFERENCE / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["cli", "settings"])
def test_a_page_is_regenerated_unchanged(generate: ModuleType, name: str) -> None:
    written = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    assert getattr(generate, f"{name}_page")() == written, "run  python docs/reference/generate.py"


def test_every_flag_is_explained(generate: ModuleType) -> None:
    flags = [line for line in generate.cli_page().split("\n") if line.strip().startswith("--")]
    assert len(flags) > 50
    for line in flags:
        assert len(line.split()) > 2, line

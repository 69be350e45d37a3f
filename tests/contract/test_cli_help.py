"""The reference pages are what the code says today."""

from pathlib import Path

import generate
import pytest

REFERENCE = Path(generate.__file__).parent


@pytest.mark.parametrize("name", ["cli", "settings", "api"])
def test_a_page_is_regenerated_unchanged(name: str) -> None:
    written = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    assert getattr(generate, f"{name}_page")() == written, "run  python docs/reference/generate.py"


def test_every_flag_is_explained() -> None:
    flags = [line for line in generate.cli_page().split("\n") if line.strip().startswith("--")]
    assert len(flags) > 50
    for line in flags:
        assert len(line.split()) > 2, line

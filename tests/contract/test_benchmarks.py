"""Every script of benchmarks/ starts and says what it takes; whatever lies beside them belongs to one of them."""

import ast
import importlib
import os
import sys
from pathlib import Path
from unittest import mock

import pytest

FILES = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))
SCRIPTS = [path for path in FILES if "\ndef main() -> None:" in path.read_text("utf-8")]


def imported_by(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return plain | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_it_says_what_it_takes(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    # Some set the number of threads before they import anything.
    with mock.patch.dict(os.environ), pytest.raises(SystemExit) as ended:
        importlib.import_module(path.stem).main()
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: {path.name}") and "--save" in shown


def test_no_part_is_left_over() -> None:
    parts = {path.stem for path in FILES} - {path.stem for path in SCRIPTS}
    assert len(SCRIPTS) > 10 and parts <= set().union(*map(imported_by, FILES))

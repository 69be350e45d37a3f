"""The layers of ARCHITECTURE.md, as import-linter sees them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_contract_is_kept() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert "0 broken" in run.stdout


def test_the_tree_has_no_drawer_for_odds_and_ends() -> None:
    names = {path.stem for path in (ROOT / "src" / "regard").rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "common", "misc", "base"}

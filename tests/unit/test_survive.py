"""benchmarks/survive.py, in short; what its long form found is in benchmarks/results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "survive.py"


def survive(**amounts: int) -> dict[str, float]:
    """The ratios that the script prints last."""
    words = [word for name, amount in amounts.items() for word in (f"--{name}", str(amount))]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^(\w.* / .*?) +([\d.]+)$", done.stdout, re.MULTILINE)
    return {what: float(ratio) for what, ratio in lines}


EXPECTED = {
    "checkpoints lost / kills": 0.0,
    "runs that differ / runs": 0.0,
    "damage named and passed over / damage": 1.0,
}


def test_killed_runs_and_damaged_files() -> None:
    assert survive(steps=16, kills=6, damages=40, files=60, minutes=0) == EXPECTED


@pytest.mark.survive
@pytest.mark.timeout(3600)
def test_two_hundred_kills_and_five_hundred_damages() -> None:
    found = survive(kills=200, damages=500, files=1000, minutes=10)
    assert found.pop("memory later / before") < 1.02
    assert found == EXPECTED

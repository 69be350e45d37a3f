"""benchmarks/survive.py and scale.py; their long forms, `pytest -m survive`, print what they found."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


def ratios(script: str, **amounts: int) -> dict[str, float]:
    """What the script prints last."""
    words = [word for name, amount in amounts.items() for word in (f"--{name}", str(amount))]
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *words], capture_output=True, text=True, timeout=12_000
    )
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^(\w.* / .*?) +([\d.]+)$", done.stdout, re.MULTILINE)
    return {what: float(ratio) for what, ratio in lines}


EXPECTED = {
    "checkpoints lost / kills": 0.0,
    "runs that differ / runs": 0.0,
    "damage named and passed over / damage": 1.0,
}


def check(found: dict[str, float]) -> None:
    assert found.pop("steps lost at most / steps between saves") <= 1
    assert found.pop("memory for a damaged model / its size") < 2
    assert found == EXPECTED


def test_killed_runs_and_damaged_files() -> None:
    check(ratios("survive.py", steps=6, kills=2, damages=8, files=8, ranks=0, minutes=0))


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Callable[[dict[str, float]], None]:
    def show(found: dict[str, float]) -> None:
        with capsys.disabled():
            print("\n" + "".join(f"{what:54} {ratio}\n" for what, ratio in found.items()))

    return show


@pytest.mark.survive
@pytest.mark.timeout(12_000)
def test_two_hundred_kills_five_hundred_damages_lost_processes_and_two_hours(
    show: Callable[[dict[str, float]], None],
) -> None:
    found = ratios("survive.py", kills=200, damages=500, files=1000, ranks=4, minutes=120)
    show(found)
    assert found.pop("seconds after a process was killed / 60") < 1
    assert found.pop("seconds after a process stood still / 120") < 1
    assert found.pop("memory later / before") < 1.02
    check(found)


@pytest.mark.survive
@pytest.mark.timeout(6000)
def test_a_hundred_times_the_text_and_two_ranks(show: Callable[[dict[str, float]], None]) -> None:
    found = ratios("scale.py", pairs=10_000)
    show(found)
    # A single part of so many pairs does not fill the buffers; ten and a hundred do.
    assert found["memory 100x / 1x, in files"] < 1.3 < found["memory 100x / 1x, in memory"]
    assert found["memory 100x / 10x, in files"] < 1.05
    assert 0.8 < found["step of 2 ranks, model / measured"] < 1.25

"""What `pip install regard` brings: few packages, none of them torch."""

from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

MOST_PACKAGES = 30


def brought_by(name: str) -> set[str]:
    """The package and everything it needs here, without extras."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        each = canonicalize_name(waiting.pop())
        if each in found:
            continue
        found.add(each)
        for line in distribution(each).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert not requirement.extras, line
                waiting.append(requirement.name)
    return found


def test_the_base_install_is_small() -> None:
    packages = brought_by("regard")
    assert {"starlette", "uvicorn", "onnxruntime"} <= packages
    assert not packages & {"torch", "onnx", "transformers", "fastapi", "requests"}
    assert len(packages) <= MOST_PACKAGES, sorted(packages)


def test_every_package_of_the_base_install_is_pinned() -> None:
    lines = (Path(__file__).parents[2] / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    assert brought_by("regard") - pinned == {"regard"}

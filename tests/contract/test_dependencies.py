"""What `pip install regard` brings: few packages, none of them torch."""

import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from regard.engine import compiler

ROOT = Path(__file__).parents[2]
MAX_PACKAGES = 30


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
    assert len(packages) <= MAX_PACKAGES, sorted(packages)


def pinned(lines: list[str]) -> dict[str, str]:
    """Names and versions."""
    found = [Requirement(line.partition(" ")[0]) for line in lines if re.match(r"\w.*==", line)]
    return {canonicalize_name(each.name): str(each.specifier) for each in found}


def test_every_file_of_the_base_install_has_its_hash() -> None:
    """Catalogue E5: what is installed with these is what was tested, or nothing."""
    text = (ROOT / "requirements.txt").read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}( |$)", line) for line in lines)
    locked, tested = pinned(lines), pinned((ROOT / "constraints.txt").read_text().splitlines())
    assert len(locked) == len(lines)
    for versions in (locked, tested):
        assert brought_by("regard") - set(versions) == {"regard"}
    assert all(tested.get(name, version) == version for name, version in locked.items())


@pytest.mark.parametrize("name", ["cc", "false"])
def test_a_wheel_holds_the_kernel_where_it_can_be_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", name)
    hook = WheelBuilder(str(ROOT)).get_build_hooks(str(ROOT))["custom"]
    build_data: dict[str, Any] = {"force_include": {}, "pure_python": True}
    hook.initialize("standard", build_data)
    held = build_data["force_include"]
    assert len(held) == (len(compiler.KINDS) if name == "cc" and compiler.runs_here() else 0)
    for path, place in held.items():
        assert Path(path).read_bytes().startswith(b"\x7fELF") and place == f"regard/engine/{Path(path).name}"
        assert compiler.library_path(path.rpartition("-")[2].removesuffix(".so")).name == Path(path).name
    assert build_data["pure_python"] == (not held) and ("tag" in build_data) == bool(held)
    hook.finalize("standard", build_data, "")
    assert not any(Path(path).exists() for path in held)

"""The files of deploy/: what they copy is there, what they set is a setting, and systemd takes the unit."""

import inspect
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import yaml

from regard.cli.serve import serve

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy"
INSTRUCTIONS = {"FROM", "COPY", "RUN", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "USER"}


def settings() -> set[str]:
    """The environment variables that regard serve reads."""
    options = [each.__metadata__[0] for each in inspect.get_annotations(serve, eval_str=True).values() if each]
    return {each.envvar for each in options} | {"REGARD_KEYS", "REGARD_MODELS"}


def stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage of the Containerfile, those of the stage before it first."""
    text = (FOLDER / "Containerfile").read_text().replace("\\\n", " ")
    found: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        instruction, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        assert instruction in INSTRUCTIONS, line
        if instruction == "FROM":
            image, name = re.fullmatch(r"(\S+) AS (\w+)", rest).groups()  # type: ignore[union-attr]
            assert image in found or image.startswith("docker.io/library/python:3."), line
            stage = found[name] = list(found.get(image, ()))
        else:
            stage.append((instruction, rest.strip()))
    return found


def variables(stage: list[tuple[str, str]]) -> dict[str, str]:
    return dict(each.split("=", 1) for instruction, rest in stage if instruction == "ENV" for each in rest.split())


def test_the_containerfile_copies_what_is_there_and_runs_as_nobody_special() -> None:
    found = stages()
    assert list(found) == ["base", "cuda", "cpu"]  # the last is what is built where none is named
    for name in ("cuda", "cpu"):
        assert [rest for instruction, rest in found[name] if instruction == "USER"] == ["regard"]
        assert ("ENTRYPOINT", '["regard", "serve"]') in found[name]
        own = {key for key in variables(found[name]) if key.startswith("REGARD_")}
        assert own and own <= settings()
    copied = [rest.split() for instruction, rest in found["base"] if instruction == "COPY"]
    assert all((ROOT / source).exists() for *sources, _ in copied for source in sources)
    wanted = {"pyproject.toml", "README.md", "LICENSE", "src/regard", "recipes", "requirements.txt", "constraints.txt"}
    assert {source for *sources, _ in copied for source in sources} == wanted


def test_the_compose_files_fit_the_containerfile() -> None:
    merged: dict[str, Any] = defaultdict(dict)
    for name in ("compose.yaml", "compose.gpu.yaml"):
        [(service, about)] = yaml.safe_load((FOLDER / name).read_text())["services"].items()
        merged[service] |= {**about, "build": {**merged[service].get("build", {}), **about["build"]}}
        build, stage = merged[service]["build"], stages()[merged[service]["build"]["target"]]
        assert (FOLDER / build["context"] / build["dockerfile"]).is_file()
        assert set(merged[service]["environment"]) <= settings()
        assert [each.split(":")[1] for each in merged[service]["volumes"]] == [variables(stage)["REGARD_MODELS"]]
        port = variables(stage)["REGARD_PORT"]
        assert merged[service]["ports"] == [f"127.0.0.1:{port}:{port}"] and ("EXPOSE", port) in stage


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(FOLDER / "regard.service")
    service = unit["Service"]
    assert service["ExecStart"] == "/opt/regard/bin/regard serve" and service["DynamicUser"] == "yes"
    assert {each.split("=")[0] for each in service["Environment"].split()} <= settings()
    if shutil.which("systemd-analyze"):
        # It wants the program to be there, and names what it does not know without failing.
        text = (FOLDER / "regard.service").read_text().replace("/opt/regard/bin/regard", sys.executable)
        (tmp_path / "regard.service").write_text(text)
        command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "regard.service")]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0 and run.stderr == ""

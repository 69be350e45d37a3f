"""Whenever the program is killed, what was in the folder is there, and its model is the old, the new, or none."""

import os
from pathlib import Path
from typing import Any

import pytest

from regard.files import COMPLETE, finish_replacing, fresh_folder, replace_files, write_file

OLD = {"config.json": b"old", "weights": b"old", "old.model": b"old"}
NEW = {"config.json": b"new", "weights": b"new", "new.model": b"new", "card": b"new"}
RUN = {"metrics": b"of the run", "run.json": b"of the run"}
OPERATIONS = ("mkdir", "rename", "replace", "rmdir", "unlink")


class Killed(BaseException):
    """As a dead process, which does nothing more: not even what stands in `except` and `finally`."""


def kill_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many changes of the folders happen, and none after them."""
    left = iter(range(number))

    def counted(operation: Any) -> Any:
        def change(*arguments: Any, **options: Any) -> Any:
            if next(left, None) is None:
                raise Killed
            return operation(*arguments, **options)

        return change

    for name in OPERATIONS:
        monkeypatch.setattr(os, name, counted(getattr(os, name)))


def place(folder: Path, files: dict[str, bytes], stale: list[str]) -> None:
    finish_replacing(folder, last="config.json")
    with fresh_folder(folder) as fresh:
        for name, content in files.items():
            write_file(fresh / name, content)
        replace_files(fresh, folder, last="config.json", stale=stale)


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("old", [OLD, {}], ids=["over a model", "into a run"])
def test_a_kill_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: dict[str, bytes]) -> None:
    seen = set()
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, content in (old | RUN).items():
            (folder / name).write_bytes(content)
        with monkeypatch.context() as patched:
            kill_at(number, patched)
            try:
                place(folder, NEW, ["old.model"])
            except Killed:
                finished = False
            else:
                finished = True
        now = held(folder)
        assert now.items() >= RUN.items()
        config = now.get("config.json", b"")
        seen.add(config)
        if config:
            model = {b"old": old, b"new": NEW}[config]
            assert now == model | RUN
        # Whoever writes there next is not disturbed by it, and leaves nothing of it.
        third = {name: b"third" for name in NEW}
        place(folder, third, ["old.model"])
        assert held(folder) == third | RUN
        assert {path.name for path in folder.iterdir()} == set(third | RUN)
        if finished:
            break
    assert finished and seen == {old.get("config.json", b""), b"", b"new"}


def test_a_kill_leaves_no_part_of_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        folder = tmp_path / str(number) / "model"
        folder.parent.mkdir()
        with monkeypatch.context() as patched:
            kill_at(number, patched)
            try:
                place(folder, NEW, [])
            except Killed:
                assert not folder.exists()
                continue
        assert held(folder) == NEW
        assert [path.name for path in folder.parent.iterdir()] == ["model"]
        return
    raise AssertionError("it never finished")


def test_only_files_of_the_folder_are_removed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    complete = tmp_path / "model" / COMPLETE
    complete.mkdir(parents=True)
    (complete / "config.json").write_bytes(b"new")
    (complete / ".stale.json").write_text('["../mine"]')
    finish_replacing(tmp_path / "model", last="config.json")
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert held(tmp_path / "model") == {"config.json": b"new"}

"""Whenever the program is killed, what was in the folder is there, and its model is the old, the new, or none."""

import contextlib
from pathlib import Path

import pytest
from stopping import Killed, stopped_at

from regard.files import COMPLETE, finish_replacing, fresh_folder, replace_files, write_file

OLD = {"config.json": b"old", "weights": b"old", "old.model": b"old"}
NEW = {"config.json": b"new", "weights": b"new", "new.model": b"new", "card": b"new"}
RUN = {"metrics": b"of the run", "run.json": b"of the run"}
CALLS = ("os.mkdir", "os.rename", "os.replace", "os.rmdir", "os.unlink")


def place(folder: Path, files: dict[str, bytes], stale: list[str]) -> None:
    finish_replacing(folder, last="config.json")
    with fresh_folder(folder) as fresh:
        for name, content in files.items():
            write_file(fresh / name, content)
        replace_files(fresh, folder, last="config.json", stale=stale)


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("old", [OLD, {}], ids=["over a model", "into a run"])
def test_a_kill_at_any_moment(tmp_path: Path, old: dict[str, bytes]) -> None:
    seen = set()
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, content in (old | RUN).items():
            (folder / name).write_bytes(content)
        finished = False
        with contextlib.suppress(Killed), stopped_at(number, *CALLS):
            place(folder, NEW, ["old.model"])
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


def test_a_kill_leaves_no_part_of_a_new_folder(tmp_path: Path) -> None:
    for number in range(100):
        folder = tmp_path / str(number) / "model"
        folder.parent.mkdir()
        try:
            with stopped_at(number, *CALLS):
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

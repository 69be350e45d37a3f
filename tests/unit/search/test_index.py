"""An index is what the files say now: read again only where they changed, whole whatever happens to it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from regard.errors import DataError, RegardWarning, UsageError
from regard.search import index as indexing
from regard.search.encoder import TextEncoder
from regard.search.index import INDEX, Index, build, load, update


def same(one: Index, other: Index) -> bool:
    entries = [[(e.path, e.start, e.num_passages) for e in index.entries] for index in (one, other)]
    return entries[0] == entries[1] and one.passages == other.passages and np.array_equal(one.vectors, other.vectors)


def test_a_kept_index_is_the_one_in_memory(reader: TextEncoder, texts: Path, tmp_path: Path) -> None:
    kept = update(tmp_path / "index", reader, [texts])
    assert same(kept, build(reader, [texts])) and len(kept.passages) == 5
    assert isinstance(kept.vectors, np.memmap)
    loaded = load(tmp_path / "index")
    assert loaded is not None and same(kept, loaded)


def test_only_what_changed_is_read_again(reader: TextEncoder, texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    assert update(folder, reader, [texts]).num_read == 5
    assert update(folder, reader, [texts]).num_read == 0
    os.utime(texts / "one.txt", (7, 7))
    assert update(folder, reader, [texts]).num_read == 0, "touched, not changed"
    (texts / "one.txt").rename(texts / "zero.txt")
    assert update(folder, reader, [texts]).num_read == 0, "at another place"
    (texts / "zero.txt").write_text("The cat sleeps.\n\nHello.\n\nHow are you?\n")
    assert update(folder, reader, [texts]).num_read == 2, "one passage is not new"
    (texts / "deep" / "two.md").unlink()
    last = update(folder, reader, [texts])
    assert last.num_read == 0 and same(last, build(reader, [texts]))
    assert "Le chat" not in [passage.text for passage in last.passages]


def test_other_weights_read_everything_again_and_folders_of_others_stay(reader, model_folder, texts, tmp_path):
    update(tmp_path / "index", reader, [texts])
    by_torch = TextEncoder.open(model_folder, kind="torch")
    assert by_torch.fingerprint == reader.fingerprint, "both compute in float32"
    other = TextEncoder.open(model_folder, threads=1)
    other.__dict__["fingerprint"] = "another"
    assert update(tmp_path / "index", other, [texts]).num_read == 5
    with pytest.raises(UsageError, match="holds"):
        update(texts, reader, [texts])
    assert not (texts / INDEX).exists()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="must be a folder that can be written"):
        update(tmp_path / "file", reader, [texts])
    assert load(tmp_path / "nothing") is None


def test_files_that_cannot_be_read_are_named(reader: TextEncoder, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (texts / "program").write_bytes(b"\x7fELF\0\0")
    (texts / "empty.txt").write_bytes(b"")
    (texts / "old.txt").write_bytes(b"caf\xe9")
    (texts / "large.txt").write_text("too much")
    (texts / "vanishing.txt").write_text("soon gone")
    monkeypatch.setattr(indexing, "MAX_BYTES", 200)
    (texts / "large.txt").write_text("too much " * 99)
    found = indexing.find_files([texts])
    (texts / "vanishing.txt").unlink()
    monkeypatch.setattr(indexing, "find_files", lambda named: found)
    index = build(reader, [texts])
    reasons = {Path(each.split(": ")[0]).name: each for each in index.left_out}
    assert set(reasons) == {"program", "old.txt", "large.txt", "vanishing.txt"}
    assert "NUL" in reasons["program"] and "name its encoding" in reasons["old.txt"]
    assert "No such file" in reasons["vanishing.txt"] and "MiB" in reasons["large.txt"]
    assert len(index.passages) == 5 and len(index.entries) == 4


@pytest.mark.parametrize("damage", ["cut", "bits", "gone", "json", "version"])
def test_a_damaged_index_is_noticed_and_made_anew(reader, texts, tmp_path, damage):
    folder, whole = tmp_path / "index", build(reader, [texts])
    update(folder, reader, [texts])
    [vectors] = folder.glob("vectors-*")
    described = json.loads((folder / INDEX).read_text())
    if damage == "cut":
        vectors.write_bytes(vectors.read_bytes()[:-5])
    elif damage == "bits":
        (folder / INDEX).write_text((folder / INDEX).read_text().replace("cat", "car"))
    elif damage == "gone":
        vectors.unlink()
    elif damage == "json":
        (folder / INDEX).write_text("{")
    else:
        (folder / INDEX).write_text(json.dumps({**described, "format_version": 0}))
    with pytest.raises(DataError, match="damaged"):
        load(folder)
    with pytest.warns(RegardWarning, match="made anew"):
        again = update(folder, reader, [texts])
    assert same(again, whole) and again.num_read == 5


def test_what_was_killed_while_it_wrote_has_changed_nothing(reader, texts, tmp_path, monkeypatch):
    folder = tmp_path / "index"
    before = update(folder, reader, [texts])
    (texts / "one.txt").write_text("Something else.\n")
    real = indexing.write_file

    def killed(path: Path, content: bytes) -> None:
        if path.name == INDEX:
            raise KeyboardInterrupt
        real(path, content)

    monkeypatch.setattr(indexing, "write_file", killed)
    with pytest.raises(KeyboardInterrupt):
        update(folder, reader, [texts])
    monkeypatch.undo()
    kept = load(folder)
    assert kept is not None and same(kept, before)
    after = update(folder, reader, [texts])
    assert after.passages[0].text == "Something else."
    assert len(list(folder.iterdir())) == 2, "what the killed one left is gone"


def test_many_update_one_index_at_a_time(model_folder: Path, reader: TextEncoder, texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    program = (
        "import sys; from pathlib import Path; from regard.search.encoder import TextEncoder\n"
        "from regard.search.index import update\n"
        "reader = TextEncoder.open(Path(sys.argv[1]), threads=1)\n"
        "print(len(update(Path(sys.argv[2]), reader, sys.argv[3:]).passages))\n"
    )
    command = [sys.executable, "-c", program, str(model_folder), str(folder), str(texts)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate()[0].decode() for process in running] == ["5\n"] * 3
    kept = load(folder)
    assert kept is not None and same(kept, build(reader, [texts]))
    assert sorted(path.name.split("-")[0] for path in folder.iterdir()) == ["index.json", "vectors"]

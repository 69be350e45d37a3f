"""Word vectors of every format, whole and broken."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data.word_vectors import read_vectors
from regard.errors import RegardError

WORDS = {"chat": [0.5, -1.25, 3.0], "L'été": [1e-3, 0.0, -2.5], "3": [7.0, 8.0, 9.0]}
WANTED = ["chat", "L'été", "3", "absent"]


def as_text(header: bool = True, end: str = "\n") -> bytes:
    lines = [f"{word} " + " ".join(map(str, row)) for word, row in WORDS.items()]
    if header:
        lines.insert(0, f"{len(WORDS)} 3")
    return "".join(line + end for line in lines).encode()


def read(tmp_path: Path, content: bytes, name: str = "vectors", width: int = 3):
    (tmp_path / name).write_bytes(content)
    return read_vectors(tmp_path / name, WANTED, width)


FILES = {"word2vec.txt": as_text(), "glove.txt": as_text(header=False)}
FILES["word2vec.txt.gz"] = gzip.compress(as_text())


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same(tmp_path: Path, name: str):
    found = read(tmp_path, FILES[name], name)
    assert found.keys() == WORDS.keys()
    for word, row in WORDS.items():
        np.testing.assert_allclose(found[word], row, rtol=1e-6)
        assert found[word].dtype == np.float32


def test_words_with_spaces_and_words_that_are_numbers(tmp_path: Path):
    lines = b"chat 1 2 3\n. . . 4 5 6\n3 7 8 9\n2 3 1 1 1\n"
    (tmp_path / "glove").write_bytes(lines)
    found = read_vectors(tmp_path / "glove", [". . .", "3", "2 3"], 3)
    assert {word: row.tolist() for word, row in found.items()} == {". . .": [4, 5, 6], "3": [7, 8, 9], "2 3": [1, 1, 1]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "those of vectors have 0 numbers"),
        (b"3 3\nchat " + struct.pack("<3f", 0.5, -1.25, 3.0), ":2: a line must be a word and 3 numbers"),
        (b"chat 1 2 3\nL'\xc3\xa9t\xc3\xa9 1 2\n", ":2: a line must be a word and 3 numbers"),
    ],
)
def test_what_is_broken_is_refused_in_one_sentence(tmp_path: Path, content: bytes, message: str):
    with pytest.raises(RegardError) as caught:
        read(tmp_path, content)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(content=st.binary(max_size=99) | st.binary(max_size=99).map(lambda some: as_text()[:20] + some))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_file_does_worse_than_being_refused(tmp_path: Path, content: bytes):
    try:
        found = read(tmp_path, content)
    except RegardError as error:
        assert str(error)
    else:
        assert all(row.shape == (3,) and np.isfinite(row).all() for row in found.values())

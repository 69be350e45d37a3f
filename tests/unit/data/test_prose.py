from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from regard.data.running_text import RunningText, encode_documents, read_running_text
from regard.errors import DataError
from regard.text.tokenizer import Tokenizer

WORDS = ["ka", "tomi", "re", "sunal", "bi", "dorando", "été", "—"]


def paragraphs(count: int, seed: int = 5) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 13))) for _ in range(count)]


def test_an_empty_line_and_a_files_end_end_a_document(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_text("\n# One\nka\r\n\n \t\n# Two\ntomi")
    second.write_bytes(gzip.compress(b"re\nbi\n"))
    prose = read_running_text([first, second])
    assert prose.documents == [["# One", "ka"], ["# Two", "tomi"], ["re", "bi"]]
    assert len(prose) == 3 and prose.num_lines == 6
    assert prose.num_characters == len("# One\nka\n# Two\ntomi\nre\nbi\n")
    assert read_running_text([second], each_line=True).documents == [["re"], ["bi"]]


def test_unusable_lines_are_left_out_counted_and_named(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"ka\n\xff\xfe!\nre\n")
    prose = read_running_text([file])
    assert prose.documents == [["ka", "re"]]
    assert prose.report.num_lines == 3 and prose.report.named == [f"{file}:2: not UTF-8"]
    with pytest.raises(DataError, match=r"a\.txt:2: .* not UTF-8; mend it"):
        read_running_text([file], strict=True, advice="mend it")


def test_files_without_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n  \n")
    with pytest.raises(DataError, match="a line that is not empty: got none from .*a.txt"):
        read_running_text([tmp_path / "a.txt"])
    with pytest.raises(DataError, match="must be a readable file"):
        read_running_text([tmp_path / "none.txt"])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_document_has_the_tokens_of_its_whole_text(kind: str) -> None:
    lines = paragraphs(211)
    tokenizer = Tokenizer.train(lines, vocabulary=400, kind=kind, exact=False)
    prose = RunningText(
        [lines[:7], lines[7:8], ["  two spaces", " at the beginning", "\tand a tab"]]
    )
    encoded = encode_documents(tokenizer, prose.documents).lists()
    for document, ids in zip(prose.documents, encoded, strict=True):
        text = "\n".join(document)
        assert ids == tokenizer.encode(text)
        assert tokenizer.decode(ids) == text

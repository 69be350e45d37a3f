import gzip
import io
import lzma
import os
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.corpus import read_pairs
from regard.data.lines import MAX_LINE_BYTES, Line, arriving, open_bytes, read_lines
from regard.errors import DataError


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "text.fr", tmp_path / "text.en"


def test_unequal_line_counts_are_refused_with_both(files: tuple[Path, Path]) -> None:
    source, target = write(files[0], b"a\nb\nc\n\xff\nd\n"), write(files[1], b"a\nb\nc\n")
    for strict in (False, True):
        with pytest.raises(DataError, match=r"got 5 in .*text\.fr and 3 in .*text\.en"):
            read_pairs([source], [target], strict=strict)
    with pytest.raises(DataError, match=r"text\.en must hold text: it is empty"):
        read_pairs([source], [write(target, b"")])


BREAKERS = ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\x1d", "\x1e", "\r", "\ufeff"]


def test_only_a_newline_ends_a_line(files: tuple[Path, Path]) -> None:
    lines = [f"before{breaker}after" for breaker in BREAKERS]
    source = write(files[0], "\n".join(lines).encode() + b"\n")
    target = write(files[1], b"".join(b"%d\r\n" % number for number in range(len(lines))))
    corpus = read_pairs([source], [target])
    assert corpus.sources == lines
    assert corpus.targets == [str(number) for number in range(len(lines))]
    counted = subprocess.run(["wc", "-l", str(source)], capture_output=True, text=True, check=True)
    assert int(counted.stdout.split()[0]) == len(corpus)


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]).filter(lambda c: c not in "\n\0\t"))))
def test_whatever_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(b"".join(line.encode() + b"\r\n" for line in ["first", *lines]))
    assert read_lines(path) == ["first", *lines]


def test_bad_lines_are_dropped_with_their_partner_and_named(files: tuple[Path, Path]) -> None:
    source = write(files[0], b"\xef\xbb\xbfun\nd\xe9ux\ntrois\nqua\0tre\ncinq\n")
    target = write(files[1], b"one\ntwo\n\xed\xa0\x80\nfour\nfive\n")
    corpus = read_pairs([source], [target])
    assert list(zip(corpus.sources, corpus.targets, strict=True)) == [("un", "one"), ("cinq", "five")]
    assert corpus.report.num_lines == 5
    assert dict(corpus.report.unusable) == {"not UTF-8": 2, "holds a NUL byte": 1}
    named = [f"{source}:2: not UTF-8", f"{target}:3: not UTF-8", f"{source}:4: holds a NUL byte"]
    assert sorted(corpus.report.named) == sorted(named)
    assert "2 not UTF-8" in str(corpus.report)
    with pytest.raises(DataError, match=r"text\.fr:2: .*not UTF-8; mend the file$"):
        read_pairs([source], [target], strict=True)
    with pytest.raises(DataError, match=r"text\.fr:2: .*not UTF-8; set strict=false$"):
        read_pairs([source], [target], strict=True, advice="set strict=false")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_another_encoding_is_named_with_its_remedy(files: tuple[Path, Path], encoding: str) -> None:
    source, target = write(files[0], "été\n".encode(encoding)), write(files[1], b"summer\n")
    with pytest.raises(DataError, match=r"text\.fr:1: .*UTF-(16|32).*iconv"):
        read_pairs([source], [target])


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_compressed_files_are_read(tmp_path: Path, suffix: str, opener) -> None:
    path = tmp_path / f"pairs.tsv{suffix}"
    with opener(path, "wb") as file:
        file.write(b"un\tone\ndeux\ttwo\tdomain\n")
    corpus = read_pairs(pairs=[path])
    assert (corpus.sources, corpus.targets) == (["un", "deux"], ["one", "two"])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="pairs.tsv.* must be a readable file"):
        read_pairs(pairs=[path])
    path.write_bytes(b"plain text, not compressed at all")
    with pytest.raises(DataError, match="must be a readable file"):
        read_pairs(pairs=[path])


def test_files_follow_one_another_and_a_label_picks_lines(files: tuple[Path, Path], tmp_path: Path) -> None:
    source, target = write(files[0], b"a\nb\n"), write(files[1], b"A\nB\n")
    pairs = write(tmp_path / "pairs.tsv", b"c\tC\n")
    corpus = read_pairs([source, source], [target, target], [pairs, pairs])
    assert "".join(corpus.sources) == "ababcc"
    assert corpus.starts == [0, 2, 4, 5]
    mixed = tmp_path / "mixed.tsv"
    mixed.write_text("a\tb\tnews/2008\nc\td\ttalk\ne\tf\tnews\ng\th\tnewsy\ni\tj\n")
    corpus = read_pairs(pairs=[f"{mixed}#news", f"{mixed}#talk", f"{mixed}#talk"])
    assert corpus.sources == ["a", "e", "c", "c"] and corpus.targets == ["b", "f", "d", "d"]
    assert len(read_pairs(pairs=[mixed])) == 5
    mixed.write_text(f"{mixed.read_text()}no tab\n")
    assert read_pairs(pairs=[mixed]).report.named == [f"{mixed}:6: no tab between source and target"]
    assert read_pairs(pairs=[f"{mixed}#talk"], swapped=True).sources == ["d"]
    with pytest.raises(DataError, match="must hold lines whose third column is tlak: it has none"):
        read_pairs(pairs=[f"{mixed}#tlak"])


def test_a_huge_line_is_dropped_without_being_held(files: tuple[Path, Path]) -> None:
    source, target = files
    with open(source, "wb") as file:
        file.write(b"un\n")
        file.seek(100 * 2**20, os.SEEK_CUR)  # a hole reads as NUL bytes
        file.write(b"\ntrois\n")
    write(target, b"one\ntwo\nthree\n")
    tracemalloc.start()
    try:
        corpus = read_pairs([source], [target])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert corpus.sources == ["un", "trois"]
    assert dict(corpus.report.unusable) == {f"longer than {MAX_LINE_BYTES} bytes": 1}
    assert peak < 20 * 2**20


def sentences(count: int) -> tuple[list[bytes], list[bytes]]:
    lengths = [3 + (number * 7919) % 83 for number in range(count)]
    return [b"s" * length for length in lengths], [b"t" * (length + length % 5) for length in lengths]


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_shift_is_warned_of_with_its_lines(files: tuple[Path, Path], side: str) -> None:
    sides = dict(zip(("source", "target"), sentences(2003), strict=True))
    sides[side] = sides[side][:1000] + sides[side][1001:] + [b"a line more"]
    source = write(files[0], b"\n".join(sides["source"]))
    target = write(files[1], b"\n".join(sides["target"]))
    (warning,) = read_pairs([source], [target]).report.warnings
    assert f"lines from 1001 on look shifted by 1: a line is missing in the {side}" in warning
    assert "text.fr" in warning and "text.en" in warning


def test_parallel_or_unrelated_text_gets_no_warning(files: tuple[Path, Path]) -> None:
    source, target = sentences(1009)
    unrelated = [b"u" * (3 + (number * number * 31) % 71) for number in range(1009)]
    for other in (target, unrelated, [b"same"] * 1009):
        write(files[0], b"\n".join(source))
        write(files[1], b"\n".join(other))
        assert read_pairs([files[0]], [files[1]]).report.warnings == []


def test_lines_come_before_the_next_and_before_bad_bytes() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb", buffering=0) as sink:
        lines = arriving(source, "test")
        for number in range(3):
            sink.write(f"{number}\n".encode())
            assert next(lines) == [Line(str(number), "\n")]
    lines = arriving(io.BytesIO(b"\xef\xbb\xbfa\nb\n\xff\xfe\nc\n"), "my.txt")
    assert [line.text for line in next(lines)] == ["a", "b"]
    with pytest.raises(DataError, match=r"my\.txt:3: a line must be UTF-8 text"):
        next(lines)


def test_a_packed_file_of_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(80):
            file.write(bytes(1 << 20))
    with open_bytes(path) as file, pytest.raises(DataError, match="at most 64 MiB: got a longer"):
        list(arriving(file, str(path)))

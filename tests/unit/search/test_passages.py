"""Which files are read, and what their passages are."""

from pathlib import Path

import pytest

from regard.errors import DataError, UsageError
from regard.search.index import find_files
from regard.search.passages import Passage, read_passages

WORDS = 9


def passages(text: str | bytes, suffix: str = ".txt", **options: str) -> list[Passage]:
    data = text if isinstance(text, bytes) else text.encode()
    return read_passages(data, suffix, lambda part: len(part.split()), WORDS, **options)


def test_paragraphs_with_the_lines_they_begin_in_as_a_reader_sees_them() -> None:
    text = "A title\n\n\nFirst line of it.\nSecond line.\n\r\nLast"
    assert passages(text) == [(1, "A title"), (4, "First line of it."), (5, "Second line."), (7, "Last")]
    sentences = ["One two three four.", "Five six.", "Seven eight nine.", "Ten eleven."]
    found = passages("\n" + " ".join(sentences) + "\n")
    assert found == [(2, " ".join(sentences[:3])), (2, sentences[3])]
    found = passages("# Le *chat*\n\nIl [dort](http://example.org).\n", ".md")
    assert found == [(3, "Le chat: Il dort.")]
    page = "<html><head><style>p {}</style></head>\n<body><p>One &amp; two</p></body></html>"
    assert passages(page, ".html") == [(2, "One & two")]


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_headings_and_heads_are_read_with_what_stands_under_them(suffix: str) -> None:
    text = Path(__file__).with_name(f"town{suffix}").read_text()
    assert [each.text for each in passages(text, suffix)] == [
        "Town: Welcome.",
        "Baths: When? Day: Monday; Hours: 9 to 5",
        "Baths: When? Day: Sunday; Hours: 10",
        "Baths: When? Closed today.",
        "Fish",
        "Market: Fruit: Apples.",
        "Market: Fruit: Head; alone",
    ]


def test_a_huge_line_is_cut_and_what_is_no_text_refused() -> None:
    def letters(part: str) -> int:
        return len(part)

    line = "word " * 20_000 + "x" * 300_000 + " and the end."
    found = read_passages(line.encode(), ".txt", letters, 101)
    assert all(len(each.text) <= 101 for each in found)
    together = " ".join(each.text for each in found)
    assert together.count("word") == 20_000 and together.endswith("and the end.")
    assert "xx" not in together
    with pytest.raises(DataError, match="NUL"):
        passages(b"\x7fELF\0\0\0")
    with pytest.raises(DataError, match="line 2"):
        passages("abc\nd\xe9f\n".encode("latin-1"))
    assert passages("d\xe9f".encode("latin-1"), encoding="latin-1") == [(1, "d\xe9f")]
    assert passages("déjà vu".encode("utf-16")) == [(1, "déjà vu")]


def test_a_folder_is_read_as_users_expect(texts: Path) -> None:
    (texts / ".hidden").write_text("secret")
    (texts / ".git").mkdir()
    (texts / ".git" / "config").write_text("secret")
    (texts / "picture.PNG").write_bytes(b"\x89PNG")
    (texts / "deep" / "round").symlink_to(texts)
    (texts / "nowhere").symlink_to(texts / "gone")
    names = [path.relative_to(texts).as_posix() for path in find_files([texts])]
    assert names == ["one.txt", "deep/two.md", "deep/deeper/three"]
    hidden = texts / ".hidden"
    assert find_files([hidden, hidden]) == [hidden], "a file that is named is read, and once"
    with pytest.raises(UsageError, match="there is none"):
        find_files([texts / "gone.txt"])

"""Queries made of texts: each finds the text it was made of."""

import gzip
import random
from pathlib import Path

import pytest

from regard.corpora import queries
from regard.corpora.prepare import prepare
from regard.corpora.queries import keywords, of_dialogue, of_paragraph, of_translation, pairs
from regard.errors import UsageError

PARAGRAPH = (
    "The lighthouse stood on the northern cliff. Nobody had lived there since the storm. "
    "Every evening a fisherman rowed across to light the lamp."
)
FRENCH, ENGLISH = (
    "Le phare se dressait depuis longtemps sur la falaise du nord.",
    "The lighthouse had long been standing on the northern cliff.",
)


def plain(text: str) -> str:
    return queries.unicodedata.normalize("NFD", text.lower()).encode("ascii", "ignore").decode()


@pytest.mark.parametrize("seed", range(13))
def test_keywords_are_some_words_of_the_text(seed: int) -> None:
    words = keywords(FRENCH, random.Random(seed)).split()
    assert 2 <= len(words) <= 6
    assert all(plain(word) in plain(FRENCH) and len(word) > 4 for word in words)
    assert keywords("Oui, bien sûr.", random.Random(seed)) == ""


@pytest.mark.parametrize("seed", range(13))
def test_a_sentence_finds_the_rest_of_its_paragraph(seed: int) -> None:
    found = list(of_paragraph(PARAGRAPH, random.Random(seed)))
    assert 1 <= len(found) <= 2
    for query, passage in found:
        assert all(sentence in PARAGRAPH for sentence in passage.split(". "))
        assert plain(query.split()[0]) in plain(PARAGRAPH)
    assert list(of_paragraph("# The Lighthouse", random.Random(seed))) == []
    assert list(of_paragraph("", random.Random(seed))) == []


def test_a_long_paragraph_is_not_one_passage() -> None:
    long = " ".join([PARAGRAPH] * 40)
    found = [
        passage for seed in range(13) for _, passage in of_paragraph(long, random.Random(seed))
    ]
    assert len(found) > 13 and 400 < max(map(len, found)) <= 600


def test_words_of_one_side_find_either() -> None:
    draw = random.Random(3)
    found = [pair for _ in range(99) for pair in of_translation(FRENCH, ENGLISH, draw)]
    assert {passage for _, passage in found} == {FRENCH, ENGLISH}
    asked = {plain(query.split()[0]) in plain(FRENCH) for query, _ in found}
    assert asked == {True, False} and 10 < len(found) < 60


def test_a_turn_finds_its_answer() -> None:
    assert list(of_dialogue(["Hi", "Hello.", "", "Bye"])) == [("Hi", "Hello.")]


def test_lines_of_all_kinds_in_a_new_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_WAITING", 5)
    turns = [str(number) for number in range(40)]
    lines = [PARAGRAPH, f"{FRENCH}\t{ENGLISH}\tnovels", "\t".join(turns)]
    found = list(pairs(lines, seed=3))
    assert found == list(pairs(lines, seed=3)) != list(pairs(lines, seed=4))
    numbers = [int(query) for query, _ in found if query.isdigit()]
    assert sorted(numbers) == list(range(39)) != numbers
    assert all("\t" not in text and text for pair in found for text in pair)


def test_the_file_of_pairs(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text(f"{PARAGRAPH}\n# Title\nShort.\n")
    (tmp_path / "chat.tsv").write_text("a b\tc d\te f\tg h\n" + "x\ty\tz\tw\n")
    (tmp_path / "held.txt").write_text("z\n")
    files = [tmp_path / "texts.txt", tmp_path / "chat.tsv"]
    made = prepare("search", files, tmp_path, held_out=[tmp_path / "held.txt"])
    lines = gzip.open(tmp_path / "prepared" / "search" / "pairs.tsv.gz", "rt").read().splitlines()
    assert made.num_read == 5 and sum(made.kept.values()) == len(lines)
    assert "a b\tc d" in lines and not any(line.startswith("x\t") for line in lines)
    with pytest.raises(UsageError, match="--held-out"):
        prepare("stories", files, tmp_path, held_out=[tmp_path / "held.txt"])

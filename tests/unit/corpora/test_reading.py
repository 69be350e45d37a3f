"""Pairs to learn to read with: nothing of the text is lost in them, and what is asked for is what is missing."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from regard.corpora import reading
from regard.corpora.prepare import prepare
from regard.corpora.reading import GAP

words = st.lists(st.text("abcdefgh.", min_size=1, max_size=5), min_size=5, max_size=40)


@given(words, st.integers(0, 1000))
def test_gaps_filled_with_what_is_asked_for_are_the_text(text: list[str], seed: int) -> None:
    [(source, target)] = reading._gaps(text, random.Random(seed))
    missing = [each.split() for each in target.split(GAP)[1:]]
    assert source.split().count(GAP) == len(missing) and all(missing)
    filled = [
        word for each in source.split() for word in (missing.pop(0) if each == GAP else [each])
    ]
    assert filled == text


def test_a_conversation_in_a_book() -> None:
    lines = ['"Where are you going?" asked Tom.', '"Home," said Ann, "and you?"', "They went."]
    found = list(reading.pairs(lines, Counter()))
    assert ("Where are you going?", "Home, and you?") in found
    others = [pair for pair in found if pair[1] != "Home, and you?"]
    assert others and all(GAP in target for _, target in others)


def test_sentences_and_the_one_that_follows() -> None:
    paragraph = "The house was old. Nobody lived there. A light burned in it."
    found = {pair for seed in range(20) for pair in reading.pairs([paragraph], Counter(), seed)}
    following = {pair for pair in found if GAP not in pair[1]}
    assert following == {("The house was old. Nobody lived there.", "A light burned in it.")}
    assert len(found) > 5


def test_what_is_not_read() -> None:
    dropped = Counter[str]()
    assert (
        list(reading.pairs(["# A title", "", "Too short.", " ".join(["long"] * 61)], dropped)) == []
    )
    [(source, target)] = reading.pairs(
        ["Il est très tard ce soir.\tIt is very late tonight."], dropped
    )
    assert "Il" not in source + target and not dropped
    list(reading.pairs(['"Well?" he asked.', '"Yes."'], dropped))
    assert dropped.total() == 1


def test_prepared(tmp_path: Path) -> None:
    raw = tmp_path / "raw.txt"
    raw.write_text("It was a dark and stormy night.\n" * 3)
    prepare("reading", [raw], tmp_path)
    path = tmp_path / "prepared" / "reading" / "pairs.tsv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert len(lines) == 3 and all(line.count("\t") == 1 for line in lines)

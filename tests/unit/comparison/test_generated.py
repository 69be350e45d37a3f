"""The made-up corpus: lengths, links, no sentence in two parts, the same text for the same seed."""

import random
from pathlib import Path

import pytest

from regard.compare.generated import LONGEST, SHORTEST, Generated, generate, write
from regard.compare.phrases import KINDS, sentence

WANTED = Generated(num_train=90, num_valid=7, num_test=116, longest_train=23, seed=5)


def test_parts_are_as_large_as_asked_and_have_nothing_in_common() -> None:
    parts = generate(WANTED)
    sources = [[pair.source for pair in each] for each in (parts.train, parts.valid, parts.test)]
    assert [len(each) for each in sources] == [90, 7, 116]
    assert len({source for each in sources for source in each}) == 90 + 7 + 116


def test_the_test_has_every_length_and_the_training_ends_earlier() -> None:
    parts = generate(WANTED)
    lengths = [pair.num_words for pair in parts.test]
    assert sorted(set(lengths)) == list(range(SHORTEST, LONGEST + 1))
    assert max(pair.num_words for pair in parts.train) <= 23


def test_the_same_seed_is_the_same_text() -> None:
    again = Generated(num_train=90, num_valid=7, num_test=116, longest_train=23, seed=6)
    assert generate(WANTED) == generate(WANTED)
    assert generate(WANTED).train != generate(again).train


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_phrase_has_its_parts_in_both_languages(kind) -> None:  # type: ignore[no-untyped-def]
    draw = random.Random(3)
    for _ in range(200):
        phrase = kind(draw)
        keys = [{key for _, key in side if key} for side in (phrase.french, phrase.english)]
        assert keys[0] == keys[1]
        assert all(word for side in (phrase.french, phrase.english) for word, _ in side)


def test_links_join_words_that_mean_the_same() -> None:
    meaning = {"noirs": "black", "chats": "cats", "mars": "March", "font": "make"}
    draw, num_checked = random.Random(11), 0
    for _ in range(400):
        pair = sentence(draw, draw.randint(SHORTEST, LONGEST))
        if pair is None:
            continue
        source, target = ([w.strip(",.") for w in t.split()] for t in (pair.source, pair.target))
        for i, j in pair.links:
            # A number of several words is linked word by word with all of its counterpart.
            alone = sum(i == other for other, _ in pair.links) == 1
            if source[i] in meaning and alone:
                assert target[j] == meaning[source[i]]
                num_checked += 1
    assert num_checked > 50


def test_adjectives_change_places() -> None:
    pairs = [pair for pair in generate(WANTED).test if "chats noirs" in pair.source]
    assert pairs
    for pair in pairs:
        assert "black cats" in pair.target
        i = [w.strip(",.") for w in pair.source.split()].index("noirs")
        [j] = [j for at, j in pair.links if at == i]
        assert pair.target.split()[j] == "black"


def test_files_hold_the_parts(tmp_path: Path) -> None:
    parts = generate(WANTED)
    write(parts, tmp_path)
    assert (tmp_path / "train.fr").read_text("utf-8").splitlines() == [
        pair.source for pair in parts.train
    ]
    assert len((tmp_path / "test.en").read_text("utf-8").splitlines()) == 116

"""The generated corpus: numbers in words, lengths, links, no sentence in two parts, the same text for the same seed."""

import random

from number_phrases import LONGEST, SHORTEST, generate, sentence

WANTED = (90, 7, 116, 23)


def test_parts_have_their_sizes_and_lengths_and_nothing_in_common_and_follow_the_seed() -> None:
    parts = generate(*WANTED, seed=5)
    assert parts == generate(*WANTED, seed=5) != generate(*WANTED, seed=6)
    assert {name: len(pairs) for name, pairs in parts.items()} == {
        "train": 90, "valid": 7, "test": 116
    }  # fmt: skip
    assert len({pair.source for pairs in parts.values() for pair in pairs}) == 90 + 7 + 116
    lengths = {part: {len(p.source.split()) for p in pairs} for part, pairs in parts.items()}
    assert lengths["test"] == set(range(SHORTEST, LONGEST + 1)) and max(lengths["train"]) <= 23


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

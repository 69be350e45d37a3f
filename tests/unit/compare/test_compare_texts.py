"""The generated corpus: numbers in words, lengths, links, no sentence in two parts, the same text for the same seed."""

import random
from dataclasses import replace

from num2words import num2words

from regard.compare.phrases import KINDS, english_number, english_ordinal, english_year, french_number, sentence
from regard.compare.study import GeneratedConfig
from regard.compare.texts import LONGEST, SHORTEST, generate

WANTED = GeneratedConfig(num_train=90, num_valid=7, num_test=116, longest_train=23, seed=5)
LARGEST = 999_999
NUMBERS = [*range(1000), *range(1000, LARGEST, 4997), *range(78_000, 82_000, 77), LARGEST]


def test_numbers_in_words_equal_those_of_num2words() -> None:
    assert [french_number(n) for n in NUMBERS] == [num2words(n, lang="fr") for n in NUMBERS]
    in_english = [num2words(n, lang="en_GB").replace(",", "") for n in NUMBERS]
    assert [english_number(n) for n in NUMBERS] == in_english
    days = range(1, 32)
    ordinals = [num2words(n, lang="en", to="ordinal") for n in days]
    assert [english_ordinal(n) for n in days] == ordinals
    # num2words writes oh-five with a hyphen.
    years = range(1700, 2100)
    others = [num2words(n, lang="en", to="year").replace("oh-", "oh ") for n in years]
    assert [english_year(n) for n in years] == others
    # One agrees with a feminine noun.
    words = {1: "une", 21: "vingt et une", 71: "soixante et onze", 81: "quatre-vingt-une"}
    words |= {11: "onze", 21_000: "vingt et un mille"}
    assert {n: french_number(n, feminine=True) for n in words} == words


def test_parts_have_their_sizes_and_lengths_and_nothing_in_common_and_follow_the_seed() -> None:
    parts = generate(WANTED)
    assert parts == generate(WANTED) != generate(replace(WANTED, seed=6))
    assert {name: len(pairs) for name, pairs in parts.items()} == {
        "train": 90, "valid": 7, "test": 116
    }  # fmt: skip
    assert len({pair.source for pairs in parts.values() for pair in pairs}) == 90 + 7 + 116
    lengths = {part: {len(p.source.split()) for p in pairs} for part, pairs in parts.items()}
    assert lengths["test"] == set(range(SHORTEST, LONGEST + 1)) and max(lengths["train"]) <= 23


def test_every_phrase_has_its_parts_in_both_languages() -> None:
    draw = random.Random(3)
    for kind in KINDS:
        for _ in range(50):
            phrase = kind(draw)
            french, english = ({key for _, key in side if key} for side in phrase)
            assert french == english
            assert all(word for side in phrase for word, _ in side)


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

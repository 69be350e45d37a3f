import random
from pathlib import Path

import pytest

from regard.config import DataConfig
from regard.data.cleaning import clean, share_unaligned
from regard.data.corpus import Corpus


def corpus_of(*parts: list[tuple[str, str]]) -> Corpus:
    corpus = Corpus([], [])
    for pairs in parts:
        corpus.starts.append(len(corpus))
        corpus.sources += [source for source, _ in pairs]
        corpus.targets += [target for _, target in pairs]
    return corpus


def pairs_of(corpus: Corpus) -> list[tuple[str, str]]:
    return list(zip(corpus.sources, corpus.targets, strict=True))


GOOD = ("Il pleut depuis ce matin.", "It has been raining since morning.")
OTHER = ("Le chat dort sur la table.", "The cat sleeps on the table.")


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("", "nothing"), "empty side"),
        (("mot " * 999, "word " * 2000), "too long"),
        (("Oui, je le crois.", "Yes, I do " + "believe so " * 9), "unlike lengths"),
        (GOOD, "duplicate"),
        (("This line was never translated.", "This line was never translated. "), "source = target"),
    ],
)
def test_each_reason_is_counted(pair: tuple[str, str], reason: str) -> None:
    cleaned, report = clean(corpus_of([GOOD, pair, OTHER]), DataConfig())
    assert pairs_of(cleaned) == [GOOD, OTHER]
    assert dict(report.dropped) == {reason: 1}
    assert report.num_kept == 2
    assert str(report) == f"2 of 3 pairs kept; dropped: {reason} 1"


def test_short_copies_and_unlike_lengths_stay_and_what_switches_name() -> None:
    pairs = [GOOD, ("2013", "2013"), ("José Manuel Barroso", "José Manuel Barroso"), ("Ah", "I see now")]
    cleaned, _ = clean(corpus_of(pairs), DataConfig())
    assert pairs_of(cleaned) == pairs
    copy = ("This line was never translated.",) * 2
    corpus = corpus_of([GOOD, GOOD, copy])
    assert len(clean(corpus, DataConfig())[0]) == 1
    assert len(clean(corpus, DataConfig(duplicates=True))[0]) == 2
    assert len(clean(corpus, DataConfig(copies=True))[0]) == 2


def test_a_file_named_twice_counts_twice() -> None:
    cleaned, report = clean(corpus_of([GOOD, OTHER, GOOD], [GOOD, OTHER, GOOD]), DataConfig())
    assert pairs_of(cleaned) == [GOOD, OTHER, GOOD, OTHER]
    assert report.dropped["duplicate"] == 2


FRENCH = "Les députés ont voté la résolution numéro {} après un long débat hier soir à Strasbourg."
ENGLISH = "The members adopted resolution number {} after a long debate yesterday evening here."
GERMAN = "Die Abgeordneten haben die Entschließung Nummer {} nach langer Aussprache angenommen."


def many(count: int) -> list[tuple[str, str]]:
    return [(FRENCH.format(number), ENGLISH.format(number)) for number in range(count)]


def test_lines_in_another_language_are_dropped_and_a_mixed_side_left_alone() -> None:
    strangers = [(GERMAN.format(7), ENGLISH.format("7a")), (FRENCH.format("8b"), GERMAN.format(8))]
    short = [("Guten Tag!", "Good day!")]
    cleaned, report = clean(corpus_of(many(1009) + strangers + short), DataConfig())
    assert pairs_of(cleaned) == many(1009) + short
    assert report.dropped["wrong language"] == 2
    kept, _ = clean(corpus_of(many(1009) + strangers), DataConfig(wrong_language=True))
    assert len(kept) == 1011
    mixed = [(GERMAN.format(number), ENGLISH.format(f"{number}m")) for number in range(499)]
    cleaned, report = clean(corpus_of(many(1009) + mixed), DataConfig())
    assert len(cleaned) == 1508
    assert report.notes == ["the source is in several languages: none of its lines was left out for that"]
    _, report = clean(corpus_of(many(209)), DataConfig(source_language="en", target_language="en-GB"))
    assert report.notes == ["the source is said to be en but looks like fr"]
    _, report = clean(corpus_of(many(209)), DataConfig(source_language="en", target_language="fr"))
    assert len(report.notes) == 3 and report.notes[0].startswith("the sides look exchanged: ")


TEXTS = Path(__file__).parents[3] / "recipes" / "text"


@pytest.mark.parametrize("kind", ["words", "phrases", "drills"])
def test_sides_that_belong_together_are_told_from_moved_and_shuffled_ones(kind: str) -> None:
    lines = (TEXTS / f"{kind}.tsv").read_text("utf-8").splitlines()
    pairs = [(line.split("\t")[0], line.split("\t")[1].split("|")[0]) for line in lines if "\t" in line]
    num_refused = 0.0
    for seed in range(7):
        rng = random.Random(seed)
        some = rng.sample(pairs, 200)
        targets = [target for _, target in some]
        assert share_unaligned(corpus_of(some), 0, 200) == 0
        moved = Corpus([source for source, _ in some], [*targets[1:], targets[0]])
        num_refused += share_unaligned(moved, 0, 200)
        long = rng.sample(pairs, 4000)
        kept, others = long[:1600], [target for _, target in long[1600:]]
        rng.shuffle(others)
        mixed = corpus_of([*kept, *zip([source for source, _ in long[1600:]], others, strict=True)])
        assert 0.4 < share_unaligned(mixed, 0, 4000) < 0.7
    assert num_refused >= 6, "a wrong place is the best of 200 by chance once in a while"
    assert share_unaligned(corpus_of([("same", "text")] * 300), 0, 300) == 0

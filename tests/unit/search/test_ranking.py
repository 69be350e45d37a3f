"""Words decide among the nearest and nowhere else: the laws of the order."""

import numpy as np
import pytest

from regard.search.query import (
    ENOUGH_WORDS,
    NUM_NEAREST,
    WEIGHT,
    WEIGHT_OF_SHORT,
    best,
    nearest,
)

NUM_PASSAGES = 41
REST = " and enough of words that nobody looks for, ten in all"
"""of a passage that is not short"""


@pytest.fixture
def vectors() -> np.ndarray:
    """Whole numbers, so that many scores are equal and sums are exact."""
    return np.random.default_rng(3).integers(-2, 3, (NUM_PASSAGES, 5)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 7, NUM_PASSAGES, 97])
@pytest.mark.parametrize("query", ["samedi", "Le Louvre?", "?!"])
def test_without_a_common_word_the_order_is_that_of_the_vectors(
    vectors: np.ndarray, query: str, count: int
) -> None:
    rows, scores = best(
        query, vectors[2], vectors, lambda row: f"Cuisine {row}, samedis?!{REST}", count
    )
    expected, cosines = nearest(vectors[2], vectors, count)
    assert rows == expected.tolist() and scores == cosines.tolist()


def test_a_passage_with_the_word_comes_before_a_nearer_heading() -> None:
    texts = [
        f"Cuisine{REST}",
        f"Le marché a lieu le samedi matin.{REST}",
        f"Il faut éplucher les pommes de terre.{REST}",
    ]
    vectors = np.array([[0.42], [0.41], [0.1]], np.float32)
    rows, scores = best("Samedi", np.ones(1, np.float32), vectors, texts.__getitem__, 3)
    assert rows == [1, 0, 2]
    assert scores == pytest.approx([0.41 + WEIGHT, 0.42, 0.1])


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("école", "L'ECOLE est fermée.", 1.0),
        ("the cat", "A cat!", 3 / 6),
        ("snake_case", "a snake", 5 / 9),
    ],
)
def test_the_share_counts_letters_of_whole_words(query: str, text: str, share: float) -> None:
    zero = np.zeros((1, 3), np.float32)
    assert best(query, zero[0], zero, lambda row: text + REST, 1) == (
        [0],
        [pytest.approx(WEIGHT * share**2)],
    )


@pytest.mark.parametrize("num_words", [0, 1, 3, ENOUGH_WORDS - 1, ENOUGH_WORDS, 97])
def test_a_passage_of_few_words_has_to_be_nearer(num_words: int) -> None:
    text = " ".join(f"w{number}" for number in range(num_words))
    lacking = max(0.0, 1 - num_words / ENOUGH_WORDS)
    [row], [score] = best("?", np.ones(1), np.ones((1, 1), np.float32), lambda row: text, 1)
    assert row == 0 and score == pytest.approx(1 - WEIGHT_OF_SHORT * lacking**2)
    assert (score == 1) == (num_words >= ENOUGH_WORDS)


def test_only_the_nearest_are_read() -> None:
    vectors = np.linspace(0.4, 0.3, NUM_NEAREST + 13, dtype=np.float32)[:, None]
    read: list[int] = []

    def text_of(row: int) -> str:
        read.append(row)
        return "samedi" if row >= NUM_NEAREST - 1 else "dimanche"

    rows, _ = best("samedi", np.ones(1, np.float32), vectors, text_of, 3)
    assert sorted(read) == list(range(NUM_NEAREST))
    assert rows == [NUM_NEAREST - 1, 0, 1]

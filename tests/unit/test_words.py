"""Every spelling of a word decodes to the word, and the tokenizer's own comes first."""

import pytest

from regard.text.tokenizer import Tokenizer
from regard.text.words import Spellings


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    text = ["the cats sleep in Africa", "a cat sleeps and cats sleep", "ca at ats s"] * 3
    return Tokenizer.train(text, vocabulary=320, exact=False)


@pytest.mark.parametrize("word", ["cat", "Africa", "cats sleep"])
def test_all_spellings_mean_the_word(tokenizer: Tokenizer, word: str) -> None:
    spellings = Spellings(tokenizer).of(word)
    assert spellings[0] == tokenizer.encode(word)
    assert len(spellings) > 2
    assert len({tuple(spelling) for spelling in spellings}) == len(spellings)
    # A spelling without a space in front stands inside a text, here after a bracket.
    bracket = tokenizer.encode("(")
    assert {tokenizer.decode(bracket + spelling) for spelling in spellings} == {
        f"({word}",
        f"( {word}",
    }


def test_all_cuts_are_found(tokenizer: Tokenizer) -> None:
    """By brute force: every way to cut the word into pieces of the vocabulary."""
    pieces = {p: id for id, p in enumerate(tokenizer.pieces(range(tokenizer.vocab_size)))}

    def cuts(text: str) -> list[list[int]]:
        if not text:
            return [[]]
        return [
            [pieces[text[:n]], *rest]
            for n in range(1, len(text) + 1)
            if text[:n] in pieces
            for rest in cuts(text[n:])
        ]

    expected = cuts("\u2581cats") + cuts("cats")
    assert sorted(Spellings(tokenizer).of("cats")) == sorted(expected)

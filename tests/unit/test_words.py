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
    pieces = {p: id for id, p in enumerate(tokenizer.token_strings(range(tokenizer.vocab_size)))}

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


@pytest.mark.parametrize("end", ["", "\u2603"], ids=["with every piece", "ending in no piece"])
@pytest.mark.parametrize("part", ["cats", "a"])
def test_a_hostile_word_takes_a_bounded_number_of_looks(
    tokenizer: Tokenizer, part: str, end: str
) -> None:
    """A word of 100 kB has more cuts than there are atoms; the work follows from its length alone."""
    num_looks = 0

    class Counting(dict[str, int]):
        def get(self, key: str, default: int | None = None) -> int | None:  # type: ignore[override]
            nonlocal num_looks
            num_looks += 1
            return super().get(key, default)

    spellings = Spellings(tokenizer)
    spellings._ids = Counting(spellings._ids)
    word = (part * 100_000)[:100_000] + end
    found = spellings.of(word)
    assert num_looks <= spellings._longest * (len(word) + 1)
    assert found[0] == tokenizer.encode(word)
    assert sum(map(len, found[1:])) <= 200_000
    # With a character that has no piece the tokenizer's own spelling, in bytes, is the only one.
    assert (len(found) == 1) == bool(end)


def test_a_long_word_has_its_first_spellings_and_no_more(tokenizer: Tokenizer) -> None:
    found = Spellings(tokenizer).of("cats" * 25)
    assert 1000 < len(found) <= 4001
    assert len({tuple(spelling) for spelling in found}) == len(found)
    pieces = tokenizer.token_strings(found[1])
    assert len(pieces[0]) >= max(len(tokenizer.token_strings(each)[0]) for each in found[1:])

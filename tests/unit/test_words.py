"""Words: which became which, read by eye from small attention matrices; every spelling of one decodes to it; loops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import is_looping
from regard.text.tokenizer import Tokenizer
from regard.text.words import Spellings, align


def linked(source: str, target: str, attention: list[list[float]]) -> dict[str, str]:
    def spans(text: str) -> list[tuple[int, int]]:
        ends = [i for i, letter in enumerate(text) if letter == " "] + [len(text)]
        return list(zip([0, *ends], ends, strict=False))

    links = align(attention, source, spans(source), target, spans(target))
    return {target[slice(*link.target)]: source[slice(*link.source)] for link in links}


def test_which_word_became_which() -> None:
    found = linked("le chat noir", "the black cat", [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7], [0.1, 0.7, 0.2]])
    assert found == {"the": "le", "black": "noir", "cat": "chat"}
    # Both attend to the noun most; the article gets what is left, unless that is next to nothing.
    assert linked("le chat", "the cat", [[0.4, 0.6], [0.1, 0.9]]) == {"the": "le", "cat": "chat"}
    assert linked("le chat", "the cat", [[0.04, 0.6], [0.1, 0.9]]) == {"the": "chat", "cat": "chat"}
    assert linked("noon on Monday", "midi lundi", [[0.34, 0.0, 0.41], [0.02, 0.15, 0.4]])["midi"] == "noon"
    assert align([], "a", [(0, 1)], "", []) == [] == align([[]], "", [], "a", [(0, 1)])
    [link] = align([[0.3, 0.2, 0.4]], "abcd e", [(0, 2), (2, 4), (4, 6)], "x", [(0, 1)])
    assert link.source == (0, 4) and link.weight == pytest.approx(0.5)


TEXT = ["the cats sleep in Africa", "a cat sleeps and cats sleep", "ca at ats s é"] * 3
TOKENIZER = Tokenizer.train(TEXT, vocabulary=320, exact=False)


@given(st.text(st.sampled_from("aé 猫😀\u2581.'\n"), max_size=20))
def test_spans_of_tokens_cover_the_text(text: str) -> None:
    ids = TOKENIZER.encode(text)
    spans = TOKENIZER.spans(ids)
    assert len(spans) == len(ids)
    assert "".join(text[slice(*span)] for span in spans) == text


@pytest.mark.parametrize("word", ["Africa", "cats sleep"])
def test_all_spellings_mean_the_word(word: str) -> None:
    spellings = Spellings(TOKENIZER).of(word)
    assert spellings[0] == TOKENIZER.encode(word)
    assert len({tuple(spelling) for spelling in spellings}) == len(spellings) > 2
    # A spelling without a space in front stands inside a text, here after a bracket.
    bracket = TOKENIZER.encode("(")
    found = {TOKENIZER.decode(bracket + spelling) for spelling in spellings}
    assert found == {f"({word}", f"( {word}"}


@pytest.mark.parametrize("end", ["", "\u2603"], ids=["in tokens", "ending in bytes"])
def test_a_hostile_word_has_a_bounded_number_of_spellings(end: str) -> None:
    """A word of 100 kB has more of them than there are atoms."""
    word = "cats" * 25_000 + end
    found = Spellings(TOKENIZER).of(word)
    assert found[0] == TOKENIZER.encode(word)
    assert sum(map(len, found[1:])) <= 200_000
    # With a character that has no token the tokenizer's own spelling, in bytes, is the only one.
    assert (len(found) == 1) == bool(end)


def test_loops() -> None:
    for text in ("a a a a a a a a", "we go and we go and we go and"):
        assert is_looping(text.split()) is True
    for text in ("a a a a a a a", "the cat and the dog and the bird and the fish", ""):
        assert is_looping(text.split()) is False

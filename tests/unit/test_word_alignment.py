"""Which word became which, from small attention matrices that can be read by eye."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.repetition import is_looping
from regard.text.tokenizer import Tokenizer
from regard.text.word_alignment import align


def linked(source: str, target: str, attention: list[list[float]]) -> dict[str, str]:
    def spans(text: str) -> list[tuple[int, int]]:
        ends = [i for i, letter in enumerate(text) if letter == " "] + [len(text)]
        return list(zip([0, *ends], ends, strict=False))

    links = align(attention, source, spans(source), target, spans(target))
    return {target[slice(*link.target)]: source[slice(*link.source)] for link in links}


def test_words_that_change_places() -> None:
    attention = [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7], [0.1, 0.7, 0.2]]
    assert linked("le chat noir", "the black cat", attention) == {
        "the": "le",
        "black": "noir",
        "cat": "chat",
    }


def test_the_stronger_look_goes_first() -> None:
    """Both look at the noun most; the article gets what is left."""
    assert linked("le chat", "the cat", [[0.4, 0.6], [0.1, 0.9]]) == {"the": "le", "cat": "chat"}
    assert linked("le chat", "the cat", [[0.04, 0.6], [0.1, 0.9]]) == {"the": "chat", "cat": "chat"}


def test_pieces_of_a_word_are_summed() -> None:
    [link] = align([[0.3, 0.2, 0.4]], "abcd e", [(0, 2), (2, 4), (4, 6)], "x", [(0, 1)])
    assert link.source == (0, 4) and link.weight == pytest.approx(0.5)


def test_nothing_has_no_links() -> None:
    assert align([], "a", [(0, 1)], "", []) == [] == align([[]], "", [], "a", [(0, 1)])


@given(st.text(st.sampled_from("aé 猫😀\u2581.'\n"), max_size=20))
def test_spans_of_pieces_cover_the_text(text: str) -> None:
    ids = TOKENIZER.encode(text)
    spans = TOKENIZER.spans(ids)
    assert len(spans) == len(ids)
    assert "".join(text[slice(*span)] for span in spans) == text


TOKENIZER = Tokenizer.train(["abc a bc", "é a b c"], vocabulary=300, exact=False)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a a a a a a a a", True),
        ("a a a a a a a", False),
        ("we go and we go and we go and", True),
        ("the cat and the dog and the bird and the fish", False),
        ("x " + "one two three four five " * 3, True),
        ("", False),
    ],
)
def test_loops(text: str, expected: bool) -> None:
    assert is_looping(text.split()) is expected

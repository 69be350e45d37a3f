"""What a user is told of translations."""

import pytest

from regard.text.word_alignment import Link
from regard.translate.translation import (
    FLAGS,
    Candidate,
    Sentence,
    Translation,
    messages,
    without_added_stop,
)


def translation(source: str, *flags: str) -> Translation:
    return Translation(source, "", [""], [Sentence(source, [], list(flags))])


def test_nothing_is_said_of_what_is_right() -> None:
    assert list(messages([translation("a")], 0, 256, None)) == []


def test_which_lines_went_round_in_circles() -> None:
    results = [translation("a"), translation("b", "repetition"), translation("c", "repetition")]
    [told] = messages(results, 0, 256, lambda place: f"line {place + 41}")
    assert told == f"2 {FLAGS['repetition']}: line 42, line 43"


def test_of_many_lines_the_first_are_named() -> None:
    results = [translation("a", "length")] * 9
    [told] = messages(results, 0, 256, lambda place: f"line {place + 1}")
    assert told.endswith(": line 1, line 2, line 3, line 4, line 5 and 4 more")


def test_a_text_without_a_name_is_shown() -> None:
    [told] = messages([translation("b" * 90, "repetition")], 0, 256)
    assert told == f"1 {FLAGS['repetition']}: '{'b' * 40}…'"


def test_cut_sentences_are_counted_before_they_were_cut() -> None:
    cut = Translation("a b", "", [""], [Sentence("a", [], ["cut"]), Sentence("b", [], ["cut"])])
    [told] = messages([cut], 1, 256)
    assert told.startswith("1 sentence(s) of more than 256 pieces")


def stop_taken(source: str, *pieces: str) -> Candidate:
    text = "".join(pieces)
    links = [Link((0, 1), (0, len(text)), 1.0), Link((1, 2), (len(text) - 1, len(text)), 1.0)]
    values = [float(-place) for place in range(len(pieces) + 1)]
    candidate = Candidate(text, list(pieces), 0.0, 0.0, values, "end", links)
    [made] = without_added_stop(Sentence(source, [candidate])).candidates
    return made


def test_a_label_that_ends_in_a_number_stays_one() -> None:
    made = stop_taken("Total: $45", "Total : 45 ", "$", ".")
    assert (made.text, made.tokens) == ("Total : 45 $", ["Total : 45 ", "$"])
    assert made.token_log_probabilities == [0.0, -1.0, -3.0]
    assert made.alignment == [Link((0, 1), (0, 12), 1.0)]
    made = stop_taken("Total: $45", "Total : 45 ", "$.")
    assert (made.tokens, made.token_log_probabilities) == (["Total : 45 ", "$"], [0.0, -1.0, -2.0])


@pytest.mark.parametrize(
    "source, text", [("It is $45.", "C'est 45 $."), ("Save $5", "Épargnez."), ("I left", "Parti.")]
)
def test_a_sentence_keeps_its_full_stop(source: str, text: str) -> None:
    assert stop_taken(source, text).text == text

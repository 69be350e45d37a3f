"""What a user is told of translations."""

from regard.translate.translation import Sentence, Translation, messages


def translation(source: str, *flags: str) -> Translation:
    return Translation(source, "", [""], [Sentence(source, [], list(flags))])


def test_of_many_lines_the_first_are_named() -> None:
    results = [translation("a", "length")] * 9
    [told] = messages(results, 0, 256, lambda place: f"line {place + 1}")
    assert told.endswith(": line 1, line 2, line 3, line 4, line 5 and 4 more")


def test_cut_sentences_are_counted_before_they_were_cut() -> None:
    cut = Translation("a b", "", [""], [Sentence("a", [], ["cut"]), Sentence("b", [], ["cut"])])
    [told] = messages([cut], 1, 256)
    assert told.startswith("1 sentence(s) of more than 256 tokens")

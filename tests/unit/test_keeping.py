"""What must come back letter for letter does: with stand-ins, as it is, or in parts."""

import pytest
from keeping_fixtures import Model, request

from regard.text.kept import Stretch, stretches
from regard.translate.glossary import Glossary
from regard.translate.keeping import Keeping
from regard.translate.translation import Sentence
from regard.translate.wishes import Request, Wishes


def find(text: str) -> list[Stretch]:
    return stretches(text, str.isascii)


def translated(model: Model, text: str, asked: Request | None = None) -> Sentence:
    [sentence] = Keeping(model.search, find, asked or request()).sentences([text], [0])
    return sentence


def test_an_ordinary_sentence_is_asked_for_once_as_it_is() -> None:
    model = Model(lambda text: [text.upper()])
    assert translated(model, "It is late.").candidates[0].text == "IT IS LATE."
    assert model.asked == ["It is late."]


def test_a_name_has_a_stand_in() -> None:
    model = Model(lambda text: [f"Voir {text.split()[1]}"])
    found = translated(model, "See https://a.org/b or")
    assert model.asked == ["See X1 or"] and found.source == "See https://a.org/b or"
    [best] = found.candidates
    assert best.text == "Voir https://a.org/b" and best.tokens == ["▁Voir", "▁https://a.org/b"]
    assert len(best.token_log_probabilities) == 2 and found.flags == []


def test_a_stand_in_is_no_word_of_the_sentence() -> None:
    model = Model(lambda text: [text])
    found = translated(model, "X1 and x2 are in /a/b, 731 in %d.")
    assert model.asked == ["X1 and x2 are in X3, 731 in 842."]
    assert found.candidates[0].text == "X1 and x2 are in /a/b, 731 in %d."


def test_a_number_is_first_asked_for_as_it_is() -> None:
    model = Model(lambda text: [text])
    assert translated(model, "Call 555-0142 now").candidates[0].text == "Call 555-0142 now"
    assert model.asked == ["Call 555-0142 now"]
    forgetful = Model(lambda text: [text.replace("555-0142", "555")])
    assert translated(forgetful, "Call 555-0142 now").candidates[0].text == "Call 555-0142 now"
    assert forgetful.asked == ["Call 555-0142 now", "Call 731 now"]


def test_where_a_stand_in_is_lost_the_sentence_is_asked_for_as_it_is() -> None:
    model = Model(lambda text: [text.replace("X1", "")])
    assert translated(model, "Open /a/b now").candidates[0].text == "Open /a/b now"
    assert model.asked == ["Open X1 now", "Open /a/b now"]


def test_where_both_are_lost_the_words_between_are_translated() -> None:
    model = Model(
        lambda text: ["Ouvre." if text == "Open" else "Maintenant" if text == "now" else "?"]
    )
    found = translated(model, "Open /a/b now")
    [best] = found.candidates
    assert best.text == "Ouvre /a/b maintenant" and found.flags == ["parts"]
    assert best.alignment is None and len(best.tokens) == len(best.token_log_probabilities)


def test_a_sentence_that_is_all_kept_is_not_translated() -> None:
    model = Model(lambda text: ["?"])
    assert translated(model, "Привет, мир!").candidates[0].text == "Привет, мир!"
    assert model.asked == []


def test_tags_go_around_the_words_that_translate_theirs() -> None:
    model = Model(lambda text: ["Clique ici vite"])
    found = translated(model, "Click <0>here</0> fast")
    assert model.asked == ["Click here fast"]
    assert found.candidates[0].text == "Clique <0>ici</0> vite"


@pytest.mark.parametrize("mark", ["*", "**", "_", "~", "~~"])
def test_marks_of_stress_go_around_the_words_that_translate_theirs(mark: str) -> None:
    model = Model(lambda text: ["Clique ici vite"])
    found = translated(model, f"Click {mark}here{mark} fast")
    assert model.asked == ["Click here fast"]
    assert found.candidates[0].text == f"Clique {mark}ici{mark} vite"


def test_a_tag_alone_goes_between_its_words() -> None:
    model = Model(lambda text: ["Un chat dort"])
    found = translated(model, "A <img src='x'/> cat<wbr>sleeps")
    assert model.asked == ["A  cat sleeps"]
    assert found.candidates[0].text == "Un <img src='x'/>chat <wbr>dort"


def test_links_are_those_of_the_text() -> None:
    model = Model(lambda text: [text])
    asked = request()
    asked.alignment = True
    source = "Open /a/b <b>now</b>, дом!"
    best = translated(model, source, asked).candidates[0]
    assert best.text == source and best.alignment
    for link in best.alignment:
        assert source[slice(*link.source)] == best.text[slice(*link.target)]
    assert "/a/b" in [source[slice(*link.source)] for link in best.alignment]


def test_of_the_n_best_each_has_what_is_kept() -> None:
    model = Model(lambda text: [text, f"{text} !"] if "X1" in text else ["?"])
    found = translated(model, "Open /a/b", request(n_best=2))
    assert [each.text for each in found.candidates] == ["Open /a/b", "Open /a/b !"]
    careless = Model(lambda text: [text, "?", f"{text} !"])
    found = translated(careless, "Call 555-0142", request(n_best=3))
    assert [each.text for each in found.candidates] == ["Call 555-0142", "Call 555-0142 !"]


def test_a_ban_has_the_last_word() -> None:
    model = Model(lambda text: [text])
    translated(model, "Open /a/b", request(Wishes(banned=["b"])))
    assert model.asked == ["Open /a/b"]


def test_a_prefix_allows_no_parts_and_what_is_lost_is_said() -> None:
    model = Model(lambda text: ["Ouvre"])
    found = translated(model, "Open /a/b", request(Wishes(prefix="Ouvre")))
    assert found.candidates[0].text == "Ouvre" and found.flags == ["lost"]


def test_capitals_are_read_as_capitals_whatever_is_kept() -> None:
    model = Model(lambda text: [text])
    assert translated(model, "OPEN v1.2 NOW").candidates[0].text == "OPEN v1.2 NOW"
    assert model.asked == ["OPEN 731 NOW"]


@pytest.mark.parametrize("number", [1, 3])
def test_neighbours_do_not_matter(number: int) -> None:
    texts = ["Open /a/b", "It is late.", "Open /a/b", "дом", "Call 555-0142"]
    model = Model(lambda text: [text.replace("o", "0")])
    together = Keeping(model.search, find, request()).sentences(texts * number, range(5 * number))
    assert together == [translated(model, text) for text in texts] * number


@pytest.mark.parametrize("text", ["Ask {name} now", "Open /a/name now", "Ask name@a.org now"])
def test_a_word_of_the_glossary_inside_an_address_is_no_word(text: str) -> None:
    model = Model(lambda text: [text])
    asked = request(Wishes(glossary=Glossary([("name", "nom")])))
    assert translated(model, text, asked).candidates[0].text == text
    assert text not in model.asked


def test_what_is_a_term_as_a_whole_is_left_to_the_glossary() -> None:
    model = Model(lambda text: [text])
    asked = request(Wishes(glossary=Glossary([("a@b.org", "c@d.fr"), ("дом", "maison")])))
    for text in ("Ask a@b.org now", "The дом, друг"):
        translated(model, text, asked)
        assert model.asked[-1] == text

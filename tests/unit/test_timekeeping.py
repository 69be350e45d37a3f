"""Times that a model loses or changes are put right, and nothing else is touched."""

import pytest
from keeping_fixtures import Model, request

from regard.text.clock import Clock
from regard.text.kept import stretches
from regard.translate.glossary import Glossary
from regard.translate.keeping import Keeping
from regard.translate.timekeeping import Timekeeping
from regard.translate.translation import Sentence
from regard.translate.wishes import Request, Wishes


def translated(
    model: Model, text: str, asked: Request | None = None, languages: tuple[str, str] = ("fr", "en")
) -> Sentence:
    asked = asked or request(alignment=True)
    keeping = Keeping(model.search, lambda each: stretches(each, str.isalnum), asked)
    kept = Timekeeping(keeping, model.search, asked, Clock(*languages))
    [sentence] = kept.sentences([text], [0])
    return sentence


def answers(**texts: str) -> Model:
    """first: what it says at first; then: what it says of a sentence with stand-ins."""
    model = Model(lambda text: [texts["first"] if not model.asked[1:] else texts["then"]])
    return model


@pytest.mark.parametrize(
    "source, says",
    [
        ("Il est tard.", "It is late."),
        ("Il a 12 chats.", "He has 13 cats."),
        ("Il part à 17h45.", "He leaves at 5:45 pm."),
        ("Il part à 17h45.", "He leaves at 17:45."),
    ],
)
def test_what_is_right_is_asked_for_once_and_stays(source: str, says: str) -> None:
    model = Model(lambda text: [says])
    assert translated(model, source).candidates[0].text == says
    assert model.asked == [source]


def test_a_wrong_time_is_corrected_where_it_stands() -> None:
    model = Model(lambda text: ["He came at 2:10 pm today."])
    best = translated(model, "Il vint à 2h10 hier.").candidates[0]
    assert best.text == "He came at 2:10 am today." and len(model.asked) == 1
    assert best.tokens == ["▁He", "▁came", "▁at", "▁2:10 am", "▁today."]
    assert best.token_log_probabilities == [-1.0, -1.0, -1.0, -2.0, -1.0]
    assert best.alignment
    for link in best.alignment:
        assert best.text[slice(*link.target)].strip()


def test_the_stop_of_an_abbreviation_is_that_of_the_sentence() -> None:
    model = Model(lambda text: ["He came at 2 p.m."])
    assert translated(model, "Il vint à 3h.").candidates[0].text == "He came at 3 a.m."
    other = Model(lambda text: ["Il vint à 15 h."])
    best = translated(other, "He came at 3 a.m.", languages=("en", "fr")).candidates[0]
    assert best.text == "Il vint à 3 h."


def test_of_two_the_wrong_one_is_corrected() -> None:
    model = Model(lambda text: ["Closed at 5 p.m. and open at 5 p.m."])
    best = translated(model, "Fermé à 16h36 et ouvert à 17h.").candidates[0]
    assert best.text == "Closed at 4:36 p.m. and open at 5 p.m."


def test_for_a_lost_time_the_model_sees_stand_ins() -> None:
    model = answers(first="Open from 8 a.m.", then="Open from 10:31 a.m. to 11:42.")
    found = translated(model, "Ouvert de 8h à 12h.")
    assert found.candidates[0].text == "Open from 8 a.m. to noon." and found.flags == []
    assert model.asked == ["Ouvert de 8h à 12h.", "Ouvert de 10 h 31 à 11 h 42."]
    assert found.source == "Ouvert de 8h à 12h."


def test_a_length_of_time_has_one_of_its_own() -> None:
    model = answers(first="The film lasts 1:30 am.", then="The film lasts 41 minutes.")
    best = translated(model, "Le film dure 1h30.").candidates[0]
    assert best.text == "The film lasts 1 hour and 30 minutes."
    assert model.asked[1] == "Le film dure 41 minutes."
    model = answers(first="A 1:15 stop.", then="A 41-minute stop.")
    best = translated(model, "Une escale de 1h15.").candidates[0]
    assert best.text == "A 1-hour-15-minute stop."


def test_a_range_with_a_dash_has_one_stand_in() -> None:
    model = answers(first="Hours: 9 a.m.", then="Hours: 10:31.")
    assert translated(model, "Horaires : 9h–17h.").candidates[0].text == "Hours: 9 a.m.–5 p.m."
    assert model.asked[1] == "Horaires : 10 h 31."
    model = answers(first="In 48 a.m.", then="In 41 minutes.")
    assert translated(model, "En 24 à 48h.").candidates[0].text == "In 24 to 48 hours."


def test_capitals_have_stand_ins_in_capitals() -> None:
    model = answers(first="OPEN AT 8 A.M.", then="OPEN FROM 10:31 A.M. TO 11:42")
    best = translated(model, "OUVERT DE 8H À 18H").candidates[0]
    assert best.text == "OPEN FROM 8 A.M. TO 6 P.M."
    assert model.asked[1] == "OUVERT DE 10 H 31 À 11 H 42"


def test_a_stand_in_is_no_time_of_the_sentence() -> None:
    model = answers(first="?", then="From 11:42 to 9:53.")
    best = translated(model, "De 10h31 à 18h.").candidates[0]
    assert best.text == "From 10:31 a.m. to 6 p.m."


def test_what_cannot_be_helped_stays_as_it_was() -> None:
    model = answers(first="Open from 8 a.m.", then="Open.")
    assert translated(model, "Ouvert de 8h à 12h.").candidates[0].text == "Open from 8 a.m."


def test_what_else_is_kept_is_kept() -> None:
    model = Model(lambda text: ["See X1." if "h" not in text[6:] else "See X1 at 10:31."])
    best = translated(model, "Voir https://a.org/b à 8h.").candidates[0]
    assert best.text == "See https://a.org/b at 8 a.m."


def test_of_the_n_best_those_with_the_times_are_left() -> None:
    model = Model(lambda text: ["At 8 a.m.", "Soon.", "By 8 a.m."])
    found = translated(model, "À 8h.", request(n_best=3, alignment=True))
    assert [each.text for each in found.candidates] == ["At 8 a.m.", "By 8 a.m."]


def test_a_ban_and_a_glossary_have_the_last_word() -> None:
    model = answers(first="Soon.", then="At 10:31.")
    banned = translated(model, "À 12h.", request(Wishes(banned=["noon"]), alignment=True))
    assert banned.candidates[0].text == "Soon."
    model = Model(lambda text: ["At dawn."])
    glossary = request(Wishes(glossary=Glossary([("8h", "dawn")])))
    assert translated(model, "À 8h.", glossary).candidates[0].text == "At dawn."
    assert model.asked == ["À 8h."]


def test_neighbours_do_not_matter() -> None:
    texts = ["Il vint à 2h10.", "Il est tard.", "Ouvert de 8h à 12h.", "Il vint à 2h10."]
    model = Model(lambda text: [text.replace("h", ":") + " pm"])
    asked = request(alignment=True)
    keeping = Keeping(model.search, lambda each: stretches(each, str.isalnum), asked)
    kept = Timekeeping(keeping, model.search, asked, Clock("fr", "en"))
    assert kept.sentences(texts, range(4)) == [translated(model, text) for text in texts]

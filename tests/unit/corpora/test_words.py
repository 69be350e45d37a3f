"""Words as in a dictionary, and verbs in their tenses."""

from __future__ import annotations

import pytest

from regard.corpora import clauses, verbs, words
from regard.corpora.slots import slots

FOUND = list(words.dictionary())


@pytest.mark.parametrize(
    ("french", "english"),
    [
        ("la porte", "the door"),
        ("une porte", "a door"),
        ("les portes", "the doors"),
        ("Porte", "Door"),
        ("le haricot", "the bean"),
        ("l'homme", "the man"),
        ("les hommes", "the men"),
        ("l'État", "the state"),
        ("les chevaux", "the horses"),
        ("les yeux", "the eyes"),
        ("l'eau", "water"),
        ("l'eau", "the water"),
        ("les vacances", "the holidays"),
        ("une heure", "an hour"),
        ("un parapluie", "an umbrella"),
        ("les pommes de terre", "the potatoes"),
        ("fermé", "closed"),
        ("fermée", "closed"),
        ("ouvrir", "to open"),
        ("Bientôt", "Soon"),
    ],
)
def test_the_forms_of_a_word(french: str, english: str) -> None:
    assert (french, english) in FOUND


def test_a_word_that_is_not_counted_has_no_plural_and_no_verb_has_a_capital() -> None:
    sides = {french for french, _ in FOUND}
    assert sides.isdisjoint({"une eau", "les eaux", "un vacances", "Ouvrir"})


def test_every_line_is_a_noun_or_has_no_gender() -> None:
    for french, english in words.entries():
        assert english and not set("|\t") & set(english), french
        first = french.split(" ")[0]
        assert first not in ("m-", "f-", "m+", "f+", "m", "f") or words._NOUN.fullmatch(french)
    assert len(words.counted()) > 800


def test_every_noun_has_a_plural() -> None:
    for noun in words.counted():
        assert noun.plural.replace(" ", "-").split("-")[0][-1] in "sxz", noun
        # What hisses gets es, but not the ch of stomach.
        hisses = noun.english_plural.endswith(("ss", "xs", "chs"))
        assert not hisses or noun.english == "stomach", noun


@pytest.mark.parametrize(
    ("french", "english", "said"),
    [
        ("manger une pomme", "eat an apple", ("mangeons une pomme", "mangions une pomme")),
        ("prendre le bus", "take the bus", ("prenons le bus", "prenions le bus")),
        ("voir un film", "see a movie", ("voyons un film", "voyions un film")),
    ],
)
def test_we_and_our_subjunctive(french: str, english: str, said: tuple[str, str]) -> None:
    verb = verbs.verb(french, english)
    assert (verb.present(3), verb.subjunctive(3)) == said


@pytest.mark.parametrize(
    ("english", "third", "past", "done", "doing"),
    [
        ("watch TV", "watches TV", "watched TV", "watched TV", "watching TV"),
        ("study law", "studies law", "studied law", "studied law", "studying law"),
        ("play chess", "plays chess", "played chess", "played chess", "playing chess"),
        ("write a book", "writes a book", "wrote a book", "written a book", "writing a book"),
        ("swim", "swims", "swam", "swum", "swimming"),
        ("do it", "does it", "did it", "done it", "doing it"),
    ],
)
def test_the_english_of_a_verb(english: str, third: str, past: str, done: str, doing: str) -> None:
    verb = verbs.verb("faire", english)
    assert (verb.third(), verb.past(), verb.done(), verb.doing()) == (third, past, done, doing)


def test_after_a_negation_un_and_du_become_de() -> None:
    """But not where du belongs to the verb."""
    for slot in ("he does not watch", "he did not watch", "he never watches", "he will not watch"):
        for french, english in slots()[slot]:
            assert " some " not in english
            for word in (" pas ", " jamais "):
                after = french.partition(word)[2]
                assert not after.startswith(("un ", "une ", "des ", "de l'", "de la ")), french


def test_questions_are_asked_in_three_ways() -> None:
    asked = [french for french, _ in clauses.clauses()["did he watch"]]
    for start in ("est-ce que", "il a ", "a-t-il "):
        assert any(french.startswith(start) for french in asked), start

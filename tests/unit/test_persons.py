"""A surname after a first name comes back as it is, and nothing else is taken for one."""

import pytest

from regard import load
from regard.config import DecodeConfig
from regard.text.kept import Stretch, stretches
from regard.text.persons import persons
from regard.translate.naming import Naming
from regard.translate.translation import Candidate, Sentence
from regard.translate.wishes import Request, Wishes


@pytest.mark.parametrize(
    "sentence, surnames",
    [
        ("J'ai vu Claire Noël hier.", ["Noël"]),
        ("Yesterday Tom Hill and Anna Stone left.", ["Hill", "Stone"]),
        ("Le livre d'Anna Leroy-Petit est là.", ["Leroy-Petit"]),
        ("Tom Hill's book is here.", ["Hill"]),
        ("Mme Claire Noël est partie.", ["Noël"]),
        ("Claire Noël", ["Noël"]),
        ("Il a lu Jean Pierre Roche.", ["Roche"]),
    ],
)
def test_who_is_named(sentence: str, surnames: list[str]) -> None:
    found = list(persons(sentence))
    assert [each.surname for each in found] == surnames
    assert [sentence[slice(*each.span)] for each in found] == surnames


@pytest.mark.parametrize(
    "sentence",
    [
        "L'Union Européenne a voté.",
        "The White House and the United States agreed.",
        "See Anna Tuesday about it.",
        "He studied at Charles University in Prague.",
        "Joseph Staline est mort.",
        "How Anna Found the Cat",
        "The Life and Times of Thomas Edison Junior High School",
        "Rue Victor Hugo, il pleut.",
        "Tell Tom I am here.",
        "ANNA HILL IS HERE",
        "Tom NATO",
        "Tom and Anna left.",
        "",
    ],
)
def test_who_is_not(sentence: str) -> None:
    assert list(persons(sentence)) == []


@pytest.mark.parametrize(
    "translation, is_changed",
    [
        ("I saw Claire Christmas.", True),
        ("I saw Claire Noel.", False),
        ("I saw Mrs Noël, called Claire.", False),
        ("I saw Clara Christmas.", False),
    ],
)
def test_what_has_changed(translation: str, is_changed: bool) -> None:
    [person] = persons("J'ai vu Claire Noël.")
    assert person.is_changed_in(translation) == is_changed


def candidate(text: str) -> Candidate:
    pieces = [f"▁{word}" for word in text.split()]
    return Candidate(text, pieces, -1.0, -1.0, [-1.0] * len(pieces), "end")


def named(source: str, first: str, again: str, wishes: Wishes = Wishes()) -> tuple[str, list[str]]:  # noqa: B008 (frozen)
    """What is said with a model that first said one thing and then another; and what it was asked."""
    request = object.__new__(Request)
    request.wishes, request.decode, request.alignment = wishes, DecodeConfig(), False
    asked: list[str] = []

    def search(text: str) -> Sentence:
        asked.append(text)
        return Sentence(text, [candidate(again)])

    def find(text: str) -> list[Stretch]:
        return stretches(text, str.isprintable)

    naming = Naming(search, find, request)
    return naming.with_names(Sentence(source, [candidate(first)])).candidates[0].text, asked


def test_a_changed_name_is_put_back() -> None:
    source, wrong = "J'ai vu Claire Noël.", "I saw Claire Christmas."
    assert named(source, wrong, "I saw Claire Zorvan.") == (
        "I saw Claire Noël.",
        ["J'ai vu Claire Zorvan."],
    )
    assert named(source, wrong, "I saw Mr Zorvan.")[0] == wrong
    assert named(source, wrong, "I saw Claire.")[0] == wrong
    assert named(source, wrong, "I saw Claire Zorvan.", Wishes(banned=("Noël",)))[0] == wrong


def test_what_is_right_or_kept_by_other_means_is_not_asked_for_again() -> None:
    assert named("J'ai vu Claire Noël.", "I saw Claire Noël.", "") == ("I saw Claire Noël.", [])
    source, wrong = "Claire Noël a écrit à a@b.org.", "Claire Christmas wrote to a@b.org."
    assert named(source, wrong, "") == (wrong, [])


@pytest.mark.parametrize(
    "model, sentence",
    [("fr-en", "J'ai vu Claire Noël hier soir."), ("en-fr", "I saw Nigel Price last night.")],
)
def test_through_the_bundled_models(model: str, sentence: str) -> None:
    [person] = persons(sentence)
    assert f"{person.first} {person.surname}" in load(model).translate(sentence)


@pytest.mark.parametrize("model", ["fr-en", "en-fr"])
def test_a_name_alone_stays(model: str) -> None:
    """A model would make a stone of Pierre."""
    names = ["Pierre Durand", "Rose Martin", "Marc Petit"]
    assert [load(model).translate(name) for name in names] == names

"""Ordinals in digits come out by their value, as the other language writes them."""

from collections.abc import Callable

import pytest

from regard import load
from regard.config import DecodeConfig
from regard.text.ordinals import Ordinals
from regard.text.word_alignment import Link, words
from regard.translate.glossary import Glossary
from regard.translate.numbering import Numbering
from regard.translate.standing_in import corrected
from regard.translate.translation import Candidate, Sentence
from regard.translate.wishes import Request, Wishes


def candidate(source: str, text: str) -> Candidate:
    """One that has the same words in the same order, as far as there are as many."""
    pairs = zip(words(source), words(text), strict=False)
    pieces = [f"▁{word}" for word in text.split()]
    links = [Link(*pair, 1.0) for pair in pairs]
    return Candidate(text, pieces, -1.0, -1.0, [-1.0] * len(pieces), "end", links)


def mended(source: str, target: str, languages: tuple[str, str]) -> str:
    ordinals = Ordinals(*languages)
    return corrected(candidate(source, target), ordinals.corrections(source, target)).text


@pytest.mark.parametrize(
    "source, target, expected",
    [
        ("Il est 2ème.", "He is 2th.", "He is 2nd."),
        ("Au 11e étage.", "On the 11st floor.", "On the 11th floor."),
        ("Le 12e et le 13e.", "The 12nd and the 13rd.", "The 12th and the 13th."),
        ("La 21e fois.", "The 21th time.", "The 21st time."),
        ("Il a fini 102e.", "He finished 102e.", "He finished 102nd."),
        ("Mon 111ème match.", "My 11th match.", "My 111th match."),
        ("La 11e fois.", "The 11 time.", "The 11th time."),
        ("Il a fini 1er sur 50.", "He finished 1 out of 50.", "He finished 1st out of 50."),
        ("LE 2E ÉTAGE", "THE 2TH FLOOR", "THE 2ND FLOOR"),
    ],
)
def test_from_french(source: str, target: str, expected: str) -> None:
    assert mended(source, target, ("fr", "en")) == expected


@pytest.mark.parametrize(
    "source, target, expected",
    [
        ("On the 23rd floor.", "Au 23 étage.", "Au 23e étage."),
        ("He came 101st.", "Il est venu le 101er.", "Il est venu le 101e."),
        ("The 1st time.", "La 1e fois.", "La 1re fois."),
        ("The 1st time.", "La 1er fois.", "La 1re fois."),
        ("He came 1st.", "Il est venu 1st.", "Il est venu 1er."),
        ("The 2nd and 3rd players.", "Les 2 et 3rd joueurs.", "Les 2e et 3e joueurs."),
        ("Finished 33rd out of 50.", "A fini 33 sur 50.", "A fini 33e sur 50."),
        ("My birthday is on the 3rd.", "Mon anniversaire est le 3rd.", "Mon anniversaire est le 3."),
    ],
)  # fmt: skip
def test_from_english(source: str, target: str, expected: str) -> None:
    assert mended(source, target, ("en", "fr")) == expected


@pytest.mark.parametrize(
    "source, target, languages",
    [
        ("Le 1er janvier 2020.", "On 1 January 2020.", "fr en"),
        ("La 6e fois.", "The sixth time.", "fr en"),
        ("La 42e partie.", "Part 42.", "fr en"),
        ("Le 2e roi du XXIe siècle.", "The second king of the 21st century.", "fr en"),
        ("La 3e de 3 fois.", "Three of the 3 times.", "fr en"),
        ("Il a 2 chats.", "The 2th cats.", "fr en"),
        ("The 4th of July.", "Le 4 juillet.", "en fr"),
        ("July 4th, 2020.", "Le 4 juillet 2020.", "en fr"),
        ("Today is the 5th.", "Nous sommes le 5.", "en fr"),
        ("Between the 2nd and the 5th.", "Entre le 2 et le 5.", "en fr"),
        ("The 2nd part, the 3rd one.", "La 2nde partie, la 3ème.", "en fr"),
        ("The 1st of them.", "Le 1er d'entre eux, la 1ère.", "en fr"),
        ("Her 22nd birthday.", "Ses 22 ans.", "en fr"),
        ("Das 2. Mal, 2nd.", "2th", "de en"),
    ],
)
def test_what_is_right_or_unclear_stays(source: str, target: str, languages: str) -> None:
    assert mended(source, target, tuple(languages.split())) == target  # type: ignore[arg-type]


def test_pieces_and_links_follow() -> None:
    made = corrected(candidate("Le 2e chat dort", "The 2th cat sleeps"), [((4, 7), "2nd")])
    assert made.text == "The 2nd cat sleeps" and made.tokens == ["▁The", "▁2nd", "▁cat", "▁sleeps"]
    made = corrected(candidate("Le 3e chat", "Le 3rd chat"), [((3, 6), "3e")])
    assert made.tokens == ["▁Le", "▁3e", "▁chat"] and made.alignment is not None
    assert [link.target for link in made.alignment] == [(0, 2), (3, 5), (6, 10)]


def numbered(
    say: Callable[[str], str],
    source: str,
    wishes: Wishes = Wishes(),  # noqa: B008 (frozen)
) -> tuple[Sentence, list[str]]:
    """What becomes of a sentence with a model that says this, and what the model was asked beyond it."""
    request = object.__new__(Request)
    request.wishes, request.decode = wishes, DecodeConfig()
    asked: list[str] = []

    def search(text: str) -> Sentence:
        asked.append(text)
        return Sentence(text, [candidate(text, say(text))])

    numbering = Numbering(search, request, Ordinals("en", "fr"))
    found = Sentence(source, [candidate(source, say(source))])
    return numbering.with_ordinals(found), asked


def test_one_that_is_lost_is_asked_for_as_most_are_written() -> None:
    source = "It is the 32nd time."
    found, asked = numbered(
        lambda text: "C'est la 32e fois." if "32th" in text else "32 ans.", source
    )
    assert found.source == source and asked == ["It is the 32th time."]
    assert found.candidates[0].text == "C'est la 32e fois."
    lost, _ = numbered(lambda text: f"{text[-2]} ans", source)
    assert lost.candidates[0].text == "e ans"


def test_a_sentence_without_one_is_not_touched_and_wishes_hold() -> None:
    def say(text: str) -> str:
        return "La 2th fois"

    def said(*given: object) -> str:
        return numbered(say, *given)[0].candidates[0].text  # type: ignore[arg-type]

    assert said("It is 2 o'clock.") == "La 2th fois"
    assert said("The 2nd time") == "La 2e fois"
    assert said("The 2nd time", Wishes(banned=("2e",))) == "La 2th fois"
    assert said("The 2nd time", Wishes(glossary=Glossary([("2nd", "2th")]))) == "La 2th fois"


def test_through_the_bundled_models() -> None:
    assert "102nd" in load("fr-en").translate("La 102e édition du festival commence demain.")
    assert "23e étage" in load("en-fr").translate("They live on the 23rd floor.")


@pytest.mark.parametrize(
    "languages, source, target",
    [
        ("fr en", "Entre 1e-5 et 1e-4.", "Between 1e-5 and 1e-4."),
        ("fr en", "La commande -6e et la porte 41E.", "The command -6e and the 41E door."),
        ("fr en", "Les points en %2E.", "The dots as %2E."),
        ("fr en", "1er jour : mercredi 12 mars", "Day one: Wednesday, March 12th"),
        ("fr en", "Du 1er au 14 novembre", "From November 1 to November 14th"),
        ("en fr", "From June, 14th to 17th.", "Du 14 au 17 juin."),
        ("en fr", "Open - from the 20th to the 22nd - to all.", "Ouvert - du 20 au 22 - à tous."),
        ("en fr", "On the 24th there will be a party.", "Il y aura une fête au 24."),
    ],
)
def test_what_is_right_stays(languages: str, source: str, target: str) -> None:
    one, other = languages.split()
    assert mended(source, target, (one, other)) == target


def test_a_day_before_its_month_is_a_number() -> None:
    assert mended("Friday 2nd July.", "Vendredi 2e juillet.", ("en", "fr")) == "Vendredi 2 juillet."


def test_roman_numbers_and_words_are_ordinals_too() -> None:
    ordinals = Ordinals("en", "fr")
    assert not ordinals.lacks("In the 21st century.", "Au XXIe siècle.")
    assert not ordinals.lacks("The 3rd time.", "La troisième fois.")
    assert ordinals.lacks("In the 1st century.", "Au XXIe siècle.")

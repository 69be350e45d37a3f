"""Terms put where the translation of their words stands."""

import pytest

from regard.text.word_alignment import Link, words
from regard.translate.glossary import Glossary, Place
from regard.translate.term_places import agreeing, has_strays, proposals


def places(pairs: dict[str, str], source: str) -> list[Place]:
    return Glossary(pairs.items()).places_in(source)


def links(source: str, text: str, chosen: list[int], weights: dict[int, float]) -> list[Link]:
    """For each word of the text the number of its source word."""
    known = words(source)
    return [
        Link(known[place], span, weights.get(number, 0.7))
        for number, (span, place) in enumerate(zip(words(text), chosen, strict=True))
    ]


TABLE = "Le chat dort sur la table rouge."


@pytest.mark.parametrize(
    "pairs, source, text, chosen, language, expected",
    [
        (
            {"chat": "kitten", "table rouge": "scarlet desk"},
            TABLE,
            "The cat sleeps on the red table.",
            [0, 1, 2, 3, 4, 6, 5, 7],
            "en",
            ["The kitten sleeps on the scarlet desk."],
        ),
        (
            {"maison": "dwelling"},
            "Maison et maison",
            "House and house",
            [0, 1, 2],
            "en",
            ["Dwelling and dwelling"],
        ),
        ({"chat": "iCat"}, "Chat noir", "Cat black", [0, 1], "en", ["iCat black"]),
        ({"chat": "kitten"}, "LE CHAT", "THE CAT", [0, 1], "en", ["THE KITTEN"]),
        ({"child": "gamin"}, "A child", "L'enfant", [1, 1, 1], "fr", ["Le gamin", "La gamin"]),
        (
            {"board of directors": "Directoire"},
            "the board of directors",
            "le conseil d'administration",
            [0, 1, 2, 0, 3],
            "fr",
            ["le Directoire", "la Directoire"],
        ),
        ({"chat": "Cat"}, "le chat", "the cat", [0, 1], "en", ["the Cat"]),
        ({"chat": "kitten"}, "le chat", "hello", [0], "en", []),
        ({"chat noir": "puss", "dort": "naps"}, "chat noir dort", "a cat", [2, 2], "en", []),
    ],
)
def test_places(
    pairs: dict[str, str],
    source: str,
    text: str,
    chosen: list[int],
    language: str,
    expected: list[str],
) -> None:
    made = proposals(text, links(source, text, chosen, {}), places(pairs, source), language)
    assert list(dict.fromkeys(each.text for each in made)) == expected


def test_words_that_may_not_belong_to_it_stay_in_one_of_the_proposals() -> None:
    source, text = "another child", "un autre enfant"
    known = links(source, text, [0, 1, 1], {1: 0.3})
    made = proposals(text, known, places({"child": "chien"}, source), "fr")
    assert {"un chien", "un autre chien"} <= {each.text for each in made}


def test_links_follow() -> None:
    source, text = "He eats a potato here", "Il mange une pomme de terre ici"
    known = links(source, text, [0, 1, 2, 3, 3, 3, 4], {})
    made = proposals(text, known, places({"potato": "oignon"}, source), "fr")
    assert made[0].text == "Il mange un oignon ici"
    assert [
        (source[slice(*link.source)], made[0].text[slice(*link.target)]) for link in made[0].links
    ] == [("He", "Il"), ("eats", "mange"), ("a", "un"), ("potato", "oignon"), ("here", "ici")]


def test_what_came_of_a_term_beside_it() -> None:
    source = "Le chat dort"
    wanted = places({"chat": "kitten"}, source)
    for text, chosen, expected in (
        ("The kitten sleeps", [0, 1, 2], False),
        ("The kitten sleeps", [1, 1, 2], False),
        ("The cat kitten sleeps", [0, 1, 1, 2], True),
    ):
        assert has_strays(text, links(source, text, chosen, {}), wanted, "en") is expected


def test_determiners_that_do_not_suit() -> None:
    wanted = places({"agreement": "convention"}, "The agreement")
    made = agreeing("L' convention", [], wanted, "fr")
    assert [each.text for each in made] == ["Le convention", "La convention"]

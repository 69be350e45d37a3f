"""What times are worth in each language, and whether a translation has them."""

import time

import pytest

from regard.text.clock import Clock
from regard.text.clock_reading import times


def read(text: str, language: str, *, of_source: bool = True) -> list[tuple[str, str, str]]:
    """Each time with what it may be worth and its kinds by their first letters."""
    return [
        (
            each.text,
            " ".join(f"{minutes // 60}:{minutes % 60:02}" for minutes in each.minutes),
            "".join(sorted(kind[0] for kind in each.kinds)),
        )
        for each in times(text, language, of_source=of_source)
        if not each.is_guessed
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("À 17h45, à 8 h.", [("17h45", "17:45", "c"), ("8 h", "8:00", "c")]),
        ("Il est 3 h du matin.", [("3 h du matin", "3:00", "c")]),
        ("À 8 heures du soir", [("8 heures du soir", "20:00", "c")]),
        ("À 9 heures moins le quart", [("9 heures moins le quart", "8:45", "c")]),
        ("De 9 à 17h", [("9", "9:00", "cl"), ("17h", "17:00", "cl")]),
        ("De 8h à 17h", [("8h", "8:00", "c"), ("17h", "17:00", "c")]),
        ("Il prend de 3h à 4h.", [("3h", "3:00", "l"), ("4h", "4:00", "l")]),
        ("Le 12 à 14h", [("14h", "14:00", "cl")]),
        ("Départ 8h, 45 min de route", [("8h", "8:00", "cl"), ("45 min", "0:45", "l")]),
        ("9h–17h", [("9h", "9:00", "cl"), ("17h", "17:00", "cl")]),
        ("Entre midi et 14h", [("midi", "12:00", "c"), ("14h", "14:00", "c")]),
        ("Cet après-midi à 15h", [("15h", "15:00", "c")]),
        ("Le film dure 1h30.", [("1h30", "1:30", "l")]),
        ("1h30 de retard", [("1h30", "1:30", "l")]),
        ("Il prend entre 3h et 4h.", [("3h", "3:00", "l"), ("4h", "4:00", "l")]),
        ("35h par semaine", [("35h", "35:00", "l")]),
        ("Laissez reposer la pâte 1 h.", [("1 h", "1:00", "l")]),
        ("Réserver 12 h au réfrigérateur", [("12 h", "12:00", "l")]),
        ("On se voit à 12 h au four à pain", [("12 h", "12:00", "c")]),
        ("En 24 à 48h", [("24", "24:00", "l"), ("48h", "48:00", "l")]),
        ("Nous sommes à 2h de Paris.", [("2h", "2:00", "l")]),
        ("Il part à 14h de Paris.", [("14h", "14:00", "c")]),
        ("2 h 15 min, 45 min", [("2 h 15 min", "2:15", "l"), ("45 min", "0:45", "l")]),
        ("Ce soir à 8h", [("8h", "20:00", "c")]),
        ("24h/24 et 7j/7", [("24h/24 et 7j/7", "0:00", "a")]),
        ("50 km/h, 3/4h, 1,5 h, article 3, 12:5", []),
    ],
)
def test_what_french_says(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(text, "fr") == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("At 5:45 p.m. and 6pm", [("5:45 p.m.", "17:45", "c"), ("6pm", "18:00", "c")]),
        ("It ends at 6 p.m.", [("6 p.m", "18:00", "c")]),
        ("At 12 a.m., 12 p.m.!", [("12 a.m.", "0:00", "c"), ("12 p.m.", "12:00", "c")]),
        ("At 2:30", [("2:30", "2:30 14:30", "cl")]),
        ("At 08:15 or 14:00", [("08:15", "8:15", "cl"), ("14:00", "14:00", "cl")]),
        ("From 10 to 11:30 p.m", [("10", "22:00", "c"), ("11:30 p.m", "23:30", "c")]),
        ("9-5pm", [("9", "9:00", "c"), ("5pm", "17:00", "c")]),
        ("2:10, 4:40 and 9:20 pm", [("2:10", "14:10", "c"), ("4:40", "16:40", "c"), ("9:20 pm", "21:20", "c")]),
        ("He works from 9 to 5.", [("9", "9:00", "c"), ("5", "17:00", "c")]),
        ("It fell from 9 to 5.", []),
        ("They work with 3 to 5 people, from 9 to 5 of them.", []),
        ("I called you at 9, but you left home at 12.", [("9", "9:00 21:00", "c")]),
        ("At 6 tonight", [("6", "6:00 18:00", "c")]),
        ("At 3 in the morning", [("3 in the morning", "3:00", "c")]),
        ("At half past eight", [("half past eight", "8:30 20:30", "c")]),
        ("From noon to 2 p.m.!", [("noon", "12:00", "c"), ("2 p.m.", "14:00", "c")]),
        ("1 hour and 20 minutes", [("1 hour and 20 minutes", "1:20", "l")]),
        ("A 2-hour drive, 6 hrs, 2h30", [("2-hour", "2:00", "l"), ("6 hrs", "6:00", "l"), ("2h30", "2:30", "l")]),
        ("24/7 or 24 hours a day", [("24/7", "0:00", "a"), ("24 hours a day", "0:00", "a")]),
        ("He is 5, I am 6 and 3.5 am", []),
    ],
)  # fmt: skip
def test_what_english_says(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(text, "en") == expected


def test_a_translation_is_taken_for_what_it_says() -> None:
    assert read("At 2:30", "en", of_source=False) == [("2:30", "2:30", "c")]
    assert read("At 0:45 am", "en", of_source=False) == [("0:45 am", "", "c")]
    assert read("At 0:45 am", "en") == [("0:45 am", "0:45", "c")]


def agree(source: str, target: str, languages: tuple[str, str]) -> bool:
    clock = Clock(*languages)
    given = clock.given(source)
    assert given
    return clock.agree(given, target)


@pytest.mark.parametrize(
    "source, target",
    [
        ("De 8h à 12h.", "From 8 a.m. to noon."),
        ("De 13h30 à 15h.", "From 1:30 to 3 p.m."),
        ("À 17h45.", "At 17:45."),
        ("À 8h30.", "At 8:30."),
        ("Il est 8 heures et demie.", "It's half past eight."),
        ("J'ai attendu 2 heures.", "I waited for two hours."),
        ("Prêt en 30 min, à 8h.", "Ready in half an hour, at 8 a.m."),
        ("Dans une demi-heure, à 8h.", "In 30 minutes, at 8 a.m."),
        ("Ouvert 24h/24.", "Open around the clock."),
        ("Le temps était de 3:42:15.", "The time was 3:42:15."),
    ],
)
def test_what_agrees(source: str, target: str) -> None:
    assert agree(source, target, ("fr", "en"))


@pytest.mark.parametrize(
    "source, target",
    [
        ("De 8h à 12h et de 14h à 18h.", "From 8 a.m. to 2 p.m. to 6 p.m."),
        ("À 17h45.", "At 5:45 a.m."),
        ("À 17h45.", "At 5:45."),
        ("À 2h10.", "At 2:10 pm."),
        ("Le film dure 1h30.", "The film lasts 1:30 am."),
        ("Le film dure 1h30.", "The film lasts 1:30."),
        ("À 8h.", "At 8 a.m. and 9 a.m."),
        ("Entre midi et 14h.", "Between 2 p.m."),
        ("Ce soir à 8h.", "Tonight at 8 a.m."),
    ],
)
def test_what_does_not(source: str, target: str) -> None:
    assert not agree(source, target, ("fr", "en"))


def test_french_has_nothing_of_an_english_time_left() -> None:
    assert not agree("From 3 p.m., at 11 a.m.", "De 15 h.m, à 11 h.", ("en", "fr"))
    assert not agree(
        "It was 10 p.m. when she came.", "Il était 22 h. quand elle vint.", ("en", "fr")
    )
    assert agree("It was 10 p.m. when she came.", "Il était 22 h quand elle vint.", ("en", "fr"))


@pytest.mark.parametrize(
    "languages, text, written",
    [
        (("fr", "en"), "à 17h45", "5:45 p.m."),
        (("fr", "en"), "à 9h", "9 a.m."),
        (("fr", "en"), "à 18h00", "6:00 p.m."),
        (("fr", "en"), "à 0h30", "12:30 a.m."),
        (("fr", "en"), "à 12h", "noon"),
        (("fr", "en"), "à 24h", "midnight"),
        (("fr", "en"), "à 14:05", "14:05"),
        (("fr", "en"), "dure 1h", "1 hour"),
        (("fr", "en"), "dure 1h45", "1 hour and 45 minutes"),
        (("fr", "en"), "en 2 h 15 min", "2 h 15 min"),
        (("fr", "en"), "en 3h42min15s", "3:42:15"),
        (("fr", "en"), "24h/24", "24 hours a day"),
        (("fr", "en"), "7j/7", "7 days a week"),
        (("fr", "en"), "À 8h, le matin ou le soir", "8:00"),
        (("en", "fr"), "at 5:45 p.m.!", "17 h 45"),
        (("en", "fr"), "at 5:45pm", "17h45"),
        (("en", "fr"), "at 6pm", "18h"),
        (("en", "fr"), "at 8:30", "8 h 30"),
        (("en", "fr"), "at 12:30 a.m.!", "0 h 30"),
        (("en", "fr"), "at 12 a.m.!", "minuit"),
        (("en", "fr"), "at 1 o'clock", "1 heure"),
        (("en", "fr"), "for 1 hour and 20 minutes", "1 heure et 20 minutes"),
        (("en", "fr"), "24/7", "24 heures sur 24, 7 jours sur 7"),
    ],
)  # fmt: skip
def test_a_time_as_the_other_language_writes_it(
    languages: tuple[str, str], text: str, written: str
) -> None:
    clock = Clock(*languages)
    [given] = clock.given(text)
    assert clock.written(given) == written


def test_the_manner_of_the_one_that_it_replaces() -> None:
    clock = Clock("fr", "en")
    [given] = clock.given("à 2h10")
    assert clock.written(given, "2:10 pm") == "2:10 am"
    assert clock.written(given, "2:10 p.m") == "2:10 a.m."


def test_nothing_is_known_of_other_languages_or_without_digits() -> None:
    assert Clock("de", "en").given("Um 17h45") == []
    assert Clock("fr", "en").given("À midi, pendant deux heures") == []
    assert Clock("en", "fr").given("It costs 12 dollars.") == []
    assert Clock("fr", "en").given("Le train de 3 h P.M. est parti.") == []


@pytest.mark.parametrize(
    "part", ["1h ", "12:30 ", "8-", "de 8 à ", "p.m.", "1 heure et ", "24h/24"]
)
def test_a_hostile_text_costs_no_more_than_its_length(part: str) -> None:
    begin = time.process_time()
    for languages in (("fr", "en"), ("en", "fr")):
        clock = Clock(*languages)
        text = part * 1000
        assert clock.agree(clock.given(text), text) in (True, False)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "source, target",
    [
        ("Bob sera de retour à 6 heures.", "Bob will be back at six."),
        ("Il est ici entre 5 et 6 heures.", "He is here between 5 and 6."),
        ("24 heures sur 24, sept jours sur sept.", "24 hours a day, seven days a week."),
    ],
)
def test_what_is_said_in_short_is_right(source: str, target: str) -> None:
    clock = Clock("fr", "en")
    assert clock.agree(clock.given(source), target)


@pytest.mark.parametrize(
    "source, target",
    [
        ("It starts at 6 and lasts 2 hours.", "Cela commence à 6 heures et dure 2 heures."),
        ("At 1 p.m. or on Thursday at 5.", "À 13 h ou jeudi à 17 heures."),
        (
            "Open 24 hours a day, seven days a week.",
            "Ouvert 24 heures par jour, 7 jours par semaine.",
        ),
        ("Suspended at 11.55 a.m. until 12 noon.", "Suspendu à 11 h 55 jusqu'à 12 heures."),
        ("The next 30 or 40 minutes.", "Les 30 ou 40 prochaines minutes."),
    ],
)
def test_so_it_is_from_english(source: str, target: str) -> None:
    clock = Clock("en", "fr")
    assert clock.agree(clock.given(source), target)


def test_an_hour_that_is_only_guessed_does_not_hide_a_wrong_one() -> None:
    clock = Clock("en", "fr")
    given = clock.given("At 11 p.m., not at 9.")
    lacking, strange = clock.differences(given, "À 22 h, pas à 9 heures.")
    assert [each.text for each in lacking] == ["11 p.m."]
    assert [each.text for each in strange] == ["22 h"]


def test_how_a_french_hour_is_written() -> None:
    clock = Clock("fr", "en")
    wanted = {"À 6 heures.": "6 o'clock", "À 7 heures et demie, le 5.": "7:30", "À 6h.": "6 a.m."}
    assert {text: clock.written(clock.given(text)[0]) for text in wanted} == wanted
    [minutes] = clock.given("Pendant 90 minutes.")
    assert clock.written(minutes) == "90 minutes"


def test_less_than_24_hours_is_not_before_midnight() -> None:
    assert read("Un délai inférieur à 24 heures", "fr") == [("24 heures", "24:00", "l")]
    assert read("Le trajet est limité à 8 heures.", "fr") == [("8 heures", "8:00", "l")]

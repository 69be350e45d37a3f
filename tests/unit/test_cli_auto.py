"""`--from auto` over lines: most of the text decides, and a line clearly in another language goes its own way."""

from cli_fixtures import assert_one_sentence, run

from regard import load
from regard.api import Model
from regard.cli.model_choice import LanguageRouter

FRENCH = "Le petit chat dort sur la table rouge de la cuisine."
ENGLISH = "The small cat is sleeping on the red table in the kitchen."


def opened(source: str | None, target: str | None) -> Model:
    return load(source_language=source, target_language=target)


def line(place: int) -> str:
    return f"line {place + 1}"


def test_a_first_line_in_another_language_does_not_decide() -> None:
    lines = ["Good morning", FRENCH, FRENCH, "Merci.", "", ENGLISH]
    result = run("translate", "--from", "auto", stdin="\n".join(lines).encode())
    assert result.exit_code == 0
    found = result.stdout.split("\n")[:-1]
    french = load("fr-en")
    assert found == [*french.translate(lines[:5]), ENGLISH]


def test_every_portion_helps_to_decide_until_there_is_enough() -> None:
    router = LanguageRouter(opened, None)
    first, _ = router.translate(["OK"], where=line)
    later, [answer] = router.translate([FRENCH * 3], where=line)
    assert (
        later is not None and later.manifest.source_language == "fr" and answer.text != FRENCH * 3
    )
    last, [kept] = router.translate([ENGLISH], where=line)
    assert last is later and kept.text == ENGLISH and kept.sentences == []
    assert first is not None and first.manifest.task == "translate"


def test_what_is_in_the_wanted_language_waits_for_something_to_translate() -> None:
    router = LanguageRouter(opened, "en")
    none, answers = router.translate([ENGLISH, "OK"], where=line)
    assert none is None and [each.text for each in answers] == [ENGLISH, "OK"]
    model, [answer] = router.translate([FRENCH], where=line)
    assert model is not None and answer.text == model.translate(FRENCH) != FRENCH


def test_the_target_that_is_named_holds() -> None:
    router = LanguageRouter(opened, "fr")
    main, answers = router.translate([ENGLISH, FRENCH], where=line)
    assert main is not None and main.manifest.target_language == "fr"
    assert answers[0].text == load("en-fr").translate(ENGLISH) and answers[1].text == FRENCH


def test_a_language_that_no_model_reads_is_refused() -> None:
    german = "Der Hund schläft heute im Garten und die Katze auch, denn es ist warm."
    refused = run("translate", "--from", "auto", stdin=f"{german}\n".encode())
    assert_one_sentence(refused, 2)
    assert "no model translates from de" in refused.stderr
    # A single line of it is read as the rest is.
    mixed = run("translate", "--from", "auto", stdin=f"{FRENCH}\n{FRENCH}\n{german}\n".encode())
    assert mixed.exit_code == 0 and mixed.stdout.count("\n") == 3

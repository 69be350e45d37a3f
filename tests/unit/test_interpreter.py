"""Whether a turn asks for a translation, of what, and in which direction."""

from regard.config import GenerateConfig
from regard.generate.interpreter import TranslationRequest, fixed_reply

PAIRS = [("fr", "en"), ("en", "fr")]
BEFORE = ["I painted the kitchen on Sunday.", "That must look lovely. Which colour did you take?"]


def asked(*turns: str, pairs: list[tuple[str, str]] = PAIRS, template: str = "lines", translates: bool = True):
    return fixed_reply([*BEFORE, *turns], pairs, GenerateConfig(chat_template=template, translates=translates))  # type: ignore[arg-type]


INTO_FRENCH = {
    "Please translate \u201cMy brother's boat is old.\u201d into French!": "My brother's boat is old.",
    "how would you say i lost my umbrella in French?": "i lost my umbrella",
    "What\u2019s the French word for \u2018window\u2019?": "window",
    'Comment dit-on "it is raining" en fran\u00e7ais ?': "it is raining",
    "Que veut dire \u00ab never mind \u00bb ?": "never mind",
    "And how do you say that in French?": BEFORE[1],
}
INTO_ENGLISH = {
    "translate to english \u00ab\u00a0On part demain ?\u00a0\u00bb": "On part demain ?",
    "Translate this short letter into English:\n\nCher Paul,\nIl neige. Viens !": "Cher Paul,\nIl neige. Viens !",
    'What does "tant pis" mean?': "tant pis",
    "Do you know what \u00ab laisse tomber \u00bb means?": "laisse tomber",
    "Traduisez s'il vous pla\u00eet : On a deux chats. Ils dorment.": "On a deux chats. Ils dorment.",
    "Translate from French to English: Elle viendra": "Elle viendra",
}
TALK = """My aunt is a translator in Geneva.
I can never translate my worries into words, you know.
What does patience mean to you?
How do you say no to a boss?
In French class we sang: it was fun.
J'apprends l'anglais depuis un an."""


def test_requests_and_talk() -> None:
    for turn, text in INTO_FRENCH.items():
        assert asked(turn) == TranslationRequest(text, ("en", "fr")), turn
    for turn, text in INTO_ENGLISH.items():
        assert asked(turn) == TranslationRequest(text, ("fr", "en")), turn
    for turn in TALK.splitlines():
        assert asked(turn) is None, turn


def test_what_was_said_before_can_be_meant() -> None:
    found = asked("My gran says 'least said, soonest mended'.", "Wise!", "How do you say that in French?")
    assert found == TranslationRequest("least said, soonest mended", ("en", "fr"))
    first, german = ("Translate 'a cup of tea' into French.", "une tasse de th\u00e9"), ("en", "de")
    found = asked(*first, "And in German?", pairs=[*PAIRS, german])
    assert found == TranslationRequest("a cup of tea", german)
    assert asked("And in German?") is None


def test_what_cannot_be_translated_is_said_in_a_sentence_or_left_to_a_model_that_may() -> None:
    refused = "I have no translator for that. I translate French into English, English into French."
    assert asked('Translate "Das Gesch\u00e4ft ist heute leider geschlossen." into English.') == refused
    assert asked("Translate 'good luck' into Elvish.") == refused
    assert asked("Comment dit-on \u00ab au revoir \u00bb en italien ?").startswith("Je n'ai pas de traducteur")
    assert asked("Translate into English: This is not French at all.") == "That is in English already."
    assert "Write, for example: translate into French:" in asked("Hi! Can you translate something for me?")
    assert asked("Translate into German: The shop is shut.", template="chatml") is None
    assert asked("Translate into French: The shop is shut.", translates=False) is None
    assert asked("Translate into French: The shop is shut.", pairs=[]) is None

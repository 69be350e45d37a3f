"""Plain words of people in danger are met by help, and nobody else is."""

from __future__ import annotations

import pytest

from regard.corpora import small_talk
from regard.drafting import Draft
from regard.text.danger import DESPAIR, EMERGENCY, VIOLENCE, reply_to_danger


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("I keep thinking about ending it all", DESPAIR),
        ("I have been cutting my arms again.", DESPAIR),
        ("i dont want to live any more", DESPAIR),
        ("my mum has collapsed on the kitchen floor", EMERGENCY),
        ("He fell in the pool and isn't breathing!", EMERGENCY),
        ("I drank bleach by mistake", EMERGENCY),
        ("The house next door is on fire", EMERGENCY),
        ("My uncle touches me and says I must not tell.", VIOLENCE),
        ("someone just stabbed my friend", VIOLENCE),
        ("My husband says he will kill me if I leave.", VIOLENCE),
    ],
)
def test_danger(said: str, reply: str) -> None:
    assert reply_to_danger(said) == reply
    assert Draft(reply).sends_to_help


@pytest.mark.parametrize(
    "said",
    [
        "I'm dying to see that film.",
        "This heat is killing me.",
        "The traffic was murder today.",
        "I choked during the quiz and forgot everything.",
        "Grandpa beat me at chess again.",
        "My feet are on fire in these shoes.",
        "He stabbed me in the back and took my promotion.",
        "We're not moving at all on the motorway.",
        "I cut myself chopping onions.",
        "Why does the hero jump off the roof at the end of that film?",
        "My mum's gonna kill me, I broke her vase.",
    ],
)
def test_what_only_sounds_like_it(said: str) -> None:
    assert reply_to_danger(said) is None


def test_small_talk_is_seldom_taken_for_danger() -> None:
    """Of what people say there, nearly all that looks like danger is answered as danger or with care for it."""
    alarmed = [
        (way, turns[place + 1][0])
        for turns in small_talk.dialogues()
        for place in range(0, len(turns), 2)
        for way in turns[place]
        if reply_to_danger(way)
    ]
    others = [way for way, reply in alarmed if not Draft(reply).sends_to_help]
    assert len(alarmed) > 150 and len(others) < 0.2 * len(alarmed), others

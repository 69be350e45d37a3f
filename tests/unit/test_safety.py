"""Plain words of people in danger are met by help, and nobody else is."""

from __future__ import annotations

import pytest

from regard.generate.safety import DESPAIR, EMERGENCY, VIOLENCE, names_help, reply_to_danger


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("I keep thinking about ending it all", DESPAIR),
        ("i dont want to live any more", DESPAIR),
        ("I want to die", DESPAIR),
        ("my mum has collapsed on the kitchen floor", EMERGENCY),
        ("He fell in the pool and isn't breathing!", EMERGENCY),
        ("My dad fell down the stairs and he is not waking up.", EMERGENCY),
        ("There's an old man on the pavement and he isn't moving. What do I do?", EMERGENCY),
        ("I drank bleach by mistake", EMERGENCY),
        ("I took 30 paracetamol", EMERGENCY),
        ("The house next door is on fire", EMERGENCY),
        ("My uncle touches me and says I must not tell.", VIOLENCE),
        ("my boyfriend hit me last night", VIOLENCE),
        ("someone just stabbed my friend", VIOLENCE),
        ("there's a man in my house", VIOLENCE),
        ("he's following me", VIOLENCE),
        ("My husband says he will kill me if I leave.", VIOLENCE),
    ],
)
def test_danger(said: str, reply: str) -> None:
    assert reply_to_danger(said) == reply
    assert names_help(reply)


@pytest.mark.parametrize(
    "said",
    [
        "I'm dying to see that film.",
        "This heat is killing me.",
        "The traffic was murder today.",
        "Grandpa beat me at chess again.",
        "He stabbed me in the back and took my promotion.",
        "We're not moving at all on the motorway.",
        "I cut myself chopping onions.",
        "My phone is going to die",
        "I don't want to die",
        "nobody would miss me if I skipped the meeting",
        "She's not moving to London",
        "My son won't wake up on school days",
        "She hit me up on Instagram",
        "My wife is going to kill me, I forgot our anniversary",
        "My cousin is following me on Instagram",
        "My mum's gonna kill me, I broke her vase.",
    ],
)
def test_what_only_sounds_like_it(said: str) -> None:
    assert reply_to_danger(said) is None

"""Plain words of people in danger are met by help, and nobody else is."""

import pytest

from regard.generate.safety import DESPAIR, EMERGENCY, VIOLENCE, names_help, reply_to_danger


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("i dont want to live any more", DESPAIR),
        ("He fell in the pool and isn't breathing!", EMERGENCY),
        ("I drank bleach by mistake", EMERGENCY),
        ("The house next door is on fire", EMERGENCY),
        ("My uncle touches me and says I must not tell.", VIOLENCE),
        ("there's a man in my house", VIOLENCE),
        # What only sounds like it.
        ("I'm dying to see that film.", None),
        ("Grandpa beat me at chess again.", None),
        ("He stabbed me in the back and took my promotion.", None),
        ("I cut myself chopping onions.", None),
        ("nobody would miss me if I skipped the meeting", None),
        ("My son won't wake up on school days", None),
    ],
)
def test_danger(said: str, reply: str | None) -> None:
    assert reply_to_danger(said) == reply
    assert reply is None or names_help(reply)

"""Turns of a conversation that only those before them explain."""

from __future__ import annotations

import re

_GOING_ON = frozenset(
    "about and at because but by either every for from in last maybe neither next no nope not on or perhaps same since "
    "so sometimes sure then to tomorrow tonight until why with without yeah yep yes yesterday".split()
)
"""a turn that begins so answers or continues what was said"""
_ASKING = frozenset(
    "am are can could did do does guess had has have how is remember say should tell was were what whats when where "
    "which who whos will would".split()
)
_POINTING = frozenset(
    "else he her hers him his i it its mine my our she that their them these they this those we".split()
)
"""at the person who asks, or at what was said before"""
_WORDS = re.compile(r"\w+")


def refers_back(turn: str) -> bool:
    """Whether a turn cannot be answered without those before it: it goes on, or asks for what was said.

    >>> [refers_back(turn) for turn in ("Yes, my sister.", "What's my name?", "I like my name.", "Who are you?")]
    [True, True, False, False]
    """
    words = _WORDS.findall(turn.lower())
    first = words[0] if words else ""
    asks = "?" in turn or first in _ASKING
    return first in _GOING_ON or (asks and not _POINTING.isdisjoint(words))

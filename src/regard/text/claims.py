"""What a reply claims of the person it answers: what they are called, or what they have said."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CALLED = re.compile(r", (?P<word>(?!I\b)[A-Z]\w*+(?: \w++){0,3}+)(?=[.!?]|$)")
_SAID = re.compile(r"\b[Yy]ou (?:said|told me)\b[^.!?]*?\b(?P<word>\w++)(?=[.!]|$)")
_NAMES = re.compile(r"(?<=[\w,] )(?!I\b)[A-Z]\w*+|^\W*+(?!I\b)[A-Z]\w*+(?=\W*+$)")
"""words with a capital that does not come from beginning a sentence"""
_NUMBERS = re.compile(r"\b\d++\b")
_WORDS = re.compile(r"\w+")
_MOST = 4
"""names that are tried for a wrong one: the last ones"""


def false_claim(reply: str, heard: Sequence[str]) -> re.Match[str] | None:
    """Where a reply calls a person what is in none of their turns, or makes them say what ends in such a word.

    >>> false_claim("Nice to meet you, Bob!", ["I'm Ann."])["word"]
    'Bob'
    >>> false_claim("You said that you are 43.", ["I am 43."])
    """
    claims = [found for each in (_CALLED, _SAID) for found in each.finditer(reply)]
    if not claims:
        return None
    said = {word for turn in heard for word in _WORDS.findall(turn.lower())}
    return next(
        (claim for claim in claims if not said.issuperset(_WORDS.findall(claim["word"].lower()))),
        None,
    )


def corrected(reply: str, claim: re.Match[str], heard: Sequence[str]) -> list[str]:
    """The reply with each of the last names (or numbers) a person has told; where there are none, it calls them nothing.

    >>> claim = false_claim("Nice to meet you, Bob!", ["hello"])
    >>> [corrected(claim.string, claim, [turn]) for turn in ("hello", "I'm Ann.")]
    [['Nice to meet you!'], ['Nice to meet you, Ann!']]
    """
    start, end = claim.span("word")
    number, name = claim["word"].isdigit(), claim["word"][0].isupper()
    kind = _NUMBERS if number else _NAMES if name else None
    told = [found[0].strip() for turn in heard for found in kind.finditer(turn)] if kind else []
    texts = [reply[:start] + word + reply[end:] for word in [*dict.fromkeys(told)][-_MOST:]]
    unnamed = [reply[: claim.start()] + reply[end:]] if claim.re is _CALLED else []
    return texts or unnamed

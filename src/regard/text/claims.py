"""What a reply claims of the person it answers: what they are called, or what they have said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from regard.text.first_names import FIRST_NAMES

_CALLED = re.compile(r", (?P<word>(?!I\b)[A-Z]\w*+(?: \w++){0,3}+)(?=[.!?]|$)")
# What somebody likes best they need not have called so.
# A question is passed over as a whole, or each "you said" in it would be followed to its end.
_SAID = re.compile(
    r"\b[Yy]ou (?:said|told me)\b(?:[^.!?]*\b(?P<word>(?!best\b)\w++)(?: best)?(?=[.!]|$)|[^.!?]*+)"
)
_NAMED = re.compile(r"\b[Yy]our name (?:is|was) (?P<word>(?!not\b)\w++)")
# How people tell their names. After "I am" may stand anything; with a capital, or where none is typed at all, it is one.
_TOLD = re.compile(
    r"(?:\b(?:(?:[Mm]y|[Tt]he) names?(?:'s| is| was)?|(?i:calls?) me|[Tt]his is|[Ii](?:'?m| am) called|I go by|i(?:'?m| am)|[Ii]t(?:'?s| is))\W{1,3}"
    r"|^\W*(?!(?i:hi|hello|hey|yes|no|well|ok)\b)(?=\w++\W*(?:$|[.,!;]))|\bI(?:'m| am) (?=[A-Z]))(?P<name>\w++)"
    r"|\b(?P<here>(?!(?i:what)\b)\w++) (?:here|is my name)\b"
)
_DENIED = re.compile(r"\b[Yy]ou have not told me\b(?P<word>)")
_ASKED = re.compile(r"\b(?:my name|who (?:am i|i am))\b", re.IGNORECASE)
# Surer than the above: what a person is told to have said when the model has forgotten it.
_SURELY_TOLD = re.compile(
    r"\b(?:[Mm]y name(?:'s| is)|[Cc]all me|I(?:'m| am) called) (?P<name>[A-Z]\w*+)"
    r"|\bI(?:'m| am) (?P<am>[A-Z]\w++)(?=[.,!]| and\b|$)|\b(?P<here>(?!What\b)[A-Z]\w++) (?:here|is my name)\b"
)
_WELCOMED = "to meet you, "
_SUM = re.compile(
    r"\b(?P<left>\d{1,9}) ?(?P<sign>\+|plus|-|minus|\*|x|times) ?(?P<right>\d{1,9})\b",
    re.IGNORECASE,
)
_OF_A_COUNTRY = ("ish", "an", "ese", "ench", "utch")
_NAMES = re.compile(r"(?:(?<=[\w,] )|^\W*+(?=\w++\W*+$))((?!I\b)[A-Z]\w*+)")
"""words with a capital that does not come from beginning a sentence"""
_NUMBERS = re.compile(r"\b\d++\b")
_WORDS = re.compile(r"\w+")
_MOST = 4
"""names that are tried for a wrong one: the last ones"""


class Told:
    """What a person has said in a conversation, turn by turn, for replies to be held against."""

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = turns

    @cached_property
    def _words(self) -> set[str]:
        return {word for turn in self._turns for word in _WORDS.findall(turn.lower())}

    @cached_property
    def _names(self) -> dict[str, str]:
        """What they said they are called, by its small letters."""
        found = (match for turn in self._turns for match in _TOLD.finditer(turn))
        told = [match["name"] or match["here"] for match in found]
        return {name.lower(): name for name in told}

    @cached_property
    def _sure_name(self) -> str | None:
        """What they surely said they are called; I'm German is no name, I'm Ian is."""
        found = None
        for match in (match for turn in self._turns for match in _SURELY_TOLD.finditer(turn)):
            name = match["name"] or match["am"] or match["here"]
            if not match["am"] or name in FIRST_NAMES or not name.endswith(_OF_A_COUNTRY):
                found = name
        return found

    @property
    def has_just_told_a_name(self) -> bool:
        """
        >>> Told(["Hello!", "I'm Zoë."]).has_just_told_a_name
        True
        """
        return bool(self._turns) and Told(self._turns[-1:])._sure_name is not None

    def false_claim(self, reply: str) -> re.Match[str] | None:
        """Where a reply calls a person what is in none of their turns, or makes them say what ends in such a word.

        What it says their name is they must have told as their name; and it must not say that they never told it.

        >>> Told(["I'm Ann."]).false_claim("Nice to meet you, Bob!")["word"]
        'Bob'
        >>> Told(["I am 43."]).false_claim("You said that you are 43.")
        >>> Told(["I'm Ann.", "I love jazz."]).false_claim("You said your name is jazz.")["word"]
        'jazz'
        >>> Told(["I'm Ann.", "What's my name?"]).false_claim("You have not told me yet.") is None
        False
        """
        if self._turns and _ASKED.search(self._turns[-1]) and self._sure_name:
            denied = _DENIED.search(reply)
            if denied:
                return denied
        claims = (found for each in (_NAMED, _CALLED, _SAID) for found in each.finditer(reply))
        for claim in claims:
            told = self._names.keys() if claim.re is _NAMED else self._words
            if claim["word"] and not set(_WORDS.findall(claim["word"].lower())) <= told:
                return claim
            is_welcome = reply[: claim.start("word")].endswith(_WELCOMED)
            if is_welcome and self._sure_name and claim["word"] != self._sure_name:
                return claim
        return None

    def miscounts(self, reply: str) -> bool:
        """Whether the last turn asks for a sum and the reply gives another number.

        >>> [Told(["What is 2 + 2?"]).miscounts(reply) for reply in ("It is 5.", "It is 4.", "I cannot count.")]
        [True, False, False]
        """
        asked = _SUM.search(self._turns[-1]) if self._turns else None
        if not asked:
            return False
        left, right, sign = int(asked["left"]), int(asked["right"]), asked["sign"].lower()
        result = (
            left + right
            if sign in ("+", "plus")
            else left - right
            if sign in ("-", "minus")
            else left * right
        )
        given = _NUMBERS.findall(reply)
        return bool(given) and str(abs(result)) not in given

    def corrected(self, claim: re.Match[str]) -> list[str]:
        """The reply with each of the last names (or numbers) told; where there are none, it calls them nothing.

        >>> [told.corrected(told.false_claim("Hello, Bob!")) for told in (Told(["hi"]), Told(["I'm Ann."]))]
        [['Hello!'], ['Hello, Ann!']]
        """
        if claim.re is _DENIED:
            return [f"You said your name is {self._sure_name}."]
        reply, (start, end) = claim.string, claim.span("word")
        number, name = claim["word"].isdigit(), claim["word"][0].isupper()
        kind = _NUMBERS if number else _NAMES if name else None
        told = [word for turn in self._turns for word in kind.findall(turn)] if kind else []
        if claim.re is _CALLED and self._sure_name:
            told = [self._sure_name]
        if claim.re is _NAMED:
            told = [name for name in self._names.values() if name[0].isupper()]
        texts = [reply[:start] + word + reply[end:] for word in [*dict.fromkeys(told)][-_MOST:]]
        unnamed = [reply[: claim.start()] + reply[end:]] if claim.re is _CALLED else []
        return texts or unnamed

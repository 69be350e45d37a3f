"""What a reply claims of the person it answers: what they are called, or what they have said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from regard.text.first_names import FIRST_NAMES

# Who is met is called something, capital or not; friend is nobody's name.
_CALLED = re.compile(
    r", (?P<word>(?:(?!I\b)[A-Z]|(?<=to meet you, )(?!I\b|friend\b|too\b|both\b|all\b|again\b)\w)\w*+(?:-\w++)*+(?: \w++){0,3}+)(?=[.!?]|$)"
)
# What somebody likes best they need not have called so.
# A question is passed over as a whole, or each "you said" in it would be followed to its end.
_SAID = re.compile(
    r"\b[Yy]ou (?:said|told me)\b(?:[^.!?]*\b(?P<word>(?!best\b)\w++)(?: best)?(?=[.!]|$)|[^.!?]*+)"
)
_NAMED = re.compile(r"\b[Yy]our name (?:is|was) (?P<word>(?!not\b)\w++(?:-\w++)*+)")
# How people tell their names. After "I am" may stand anything; with a capital, or where none is typed at all, it is one.
_TOLD = re.compile(
    r"(?:\b(?:(?:[Mm]y|[Tt]he) names?(?:'s| is| was)?|(?i:calls?) me|[Tt]his is|[Ii](?:'?m| am) called|I go by|i(?:'?m| am)|[Ii]t(?:'?s| is))\W{1,3}"
    r"|^\W*(?!(?i:hi|hello|hey|yes|no|well|ok)\b)(?=\w++\W*(?:$|[.,!;]))|\bI(?:'m| am) (?=[A-Z]))(?P<name>\w++(?:-\w++)*+)"
    r"|\b(?P<here>(?!(?i:what)\b)\w++) (?:here|is my name)\b"
)
_DENIED = re.compile(r"\b[Yy]ou have not told me\b")
_SPEAKS_OF_THEIR_NAME = re.compile(r"\b(?:my name|who (?:am i|i am))\b", re.IGNORECASE)
_ASKS_FOR_THEIR_NAME = re.compile(
    r"\bwhat(?:'?s| is| was) my name\b|\bwho am i\b"
    r"|(?<!how )\b(?:do|can|could|will) you (?:still |even )?(?:remember|recall|know|tell me|say) my name\b"
    r"|^\W*(?:please |now |so ){0,2}(?:tell me|say) my name\W*$",
    re.IGNORECASE,
)
# You are visiting Ann does not say who you are.
_GIVEN = re.compile(
    r"(?:.*(?:\b(?i:your name is|(?:you are|you're)(?: called)?|it is|it's|said)|[,.!:;?]))?\W{0,3}$"
)
# Surer than the above: what a person is told to have said when the model has forgotten it.
_SURELY_TOLD = re.compile(
    r"\b(?:[Mm]y name(?:'s| is)|[Cc]all me|I(?:'m| am) called) (?P<name>[A-Z]\w*+(?:-\w++)*+)"
    r"|\bI(?:'m| am) (?P<am>[A-Z]\w++(?:-\w++)*+)(?=[.,!]| and\b|$)"
    r"|\b(?:[Hh]i|[Hh]ello|[Hh]ey)\W{1,3}(?P<greets>[A-Z]\w++) here\b|\b(?P<here>[A-Z]\w++) here\b"
    r"|\b(?P<own>(?!What\b)[A-Z]\w++) is my name\b"
)
_ASKS_AGAIN = re.compile(r"\b[Ww]hat(?:'s| is) your name\b")
_SENTENCE_END = re.compile(r"[.!?]++")
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


class Kind(Enum):
    """What is wrong with a claim."""

    CALLED = "they are called what they never said"
    SAID = "they said what they did not"
    NAMED = "their name is another"
    DENIED = "they have not told their name"
    ASKED_AGAIN = "their name is not known"
    LEFT_OUT = "their name, which they ask for, is not worth saying"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a reply says wrongly, and where."""

    kind: Kind
    reply: str
    span: tuple[int, int]
    """of the wrong word; of the sentence that asks again; else nothing"""
    start: int = 0
    """of the words around it"""

    @property
    def word(self) -> str:
        start, end = self.span
        return self.reply[start:end]


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
    def _words_of_names(self) -> set[str]:
        return {word for name in self._names for word in _WORDS.findall(name)}

    @cached_property
    def _sure_name(self) -> str | None:
        """What they surely said they are called; I'm German is no name, I'm Ian is; Nobody here is none, Tom here is."""
        found = None
        for match in (match for turn in self._turns for match in _SURELY_TOLD.finditer(turn)):
            name = next(filter(None, match.groups()))
            is_country = match["am"] and name.endswith(_OF_A_COUNTRY)
            if name in FIRST_NAMES or not (match["here"] or is_country):
                found = name
        return found

    @property
    def has_just_told_a_name(self) -> bool:
        """
        >>> Told(["Hello!", "I'm Zoë."]).has_just_told_a_name
        True
        """
        return bool(self._turns) and Told(self._turns[-1:])._sure_name is not None

    @cached_property
    def asked_for_name(self) -> str | None:
        """What they surely said they are called, where that is what they ask.

        >>> Told(["I'm Ann.", "Who am I?"]).asked_for_name, Told(["Who am I?"]).asked_for_name
        ('Ann', None)
        """
        return (
            self._sure_name
            if self._turns and _ASKS_FOR_THEIR_NAME.search(self._turns[-1])
            else None
        )

    def false_claim(self, reply: str) -> Claim | None:
        """Where a reply calls a person what is in none of their turns, or makes them say what ends in such a word.

        What it says their name is they must have told as their name; it must not say that they never told it, nor leave it
        out when asked for it, nor ask for it again.

        >>> Told(["I'm Ann."]).false_claim("Nice to meet you, Bob!").word
        'Bob'
        >>> Told(["I am 43."]).false_claim("You said that you are 43.")
        >>> Told(["I'm Ann.", "I love jazz."]).false_claim("You said your name is jazz.").word
        'jazz'
        >>> told = Told(["I'm Ann.", "What's my name?"])
        >>> [told.false_claim(reply) is None for reply in ("You have not told me yet.", "You like it.", "Ann.")]
        [False, False, True]
        """
        asked = self._turns[-1] if self._turns and self._sure_name else ""
        if _SPEAKS_OF_THEIR_NAME.search(asked) and _DENIED.search(reply):
            return Claim(Kind.DENIED, reply, (0, 0))
        if self._sure_name and (again := _ASKS_AGAIN.search(reply)):
            return Claim(Kind.ASKED_AGAIN, reply, _sentence_around(reply, again.start()))
        for kind, pattern in ((Kind.NAMED, _NAMED), (Kind.CALLED, _CALLED), (Kind.SAID, _SAID)):
            for found in pattern.finditer(reply):
                word = found["word"] or ""
                words = set(_WORDS.findall(word.lower()))
                is_told = (
                    word.lower() in self._names if kind is Kind.NAMED else words <= self._words
                )
                is_welcome = reply[: found.start("word")].endswith(_WELCOMED)
                is_another = is_welcome and self._sure_name and word != self._sure_name
                if is_another or not is_told:
                    return Claim(kind, reply, found.span("word"), found.start())
        if self.asked_for_name:
            if not any(_GIVEN.match(reply, 0, place) for place in self._places_of_names(reply)):
                return Claim(Kind.LEFT_OUT, reply, (0, 0))
        return None

    def _places_of_names(self, reply: str) -> Iterator[int]:
        """Where a reply has a name that they said is theirs."""
        for found in _WORDS.finditer(reply):
            if found[0].lower() in self._words_of_names:
                yield found.start()

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

    def corrected(self, claim: Claim) -> list[str]:
        """The reply with each of the last names (or numbers) told; where there are none, it calls them nothing.

        Who asks for their name is given it, and a question for it is left out.

        >>> [told.corrected(told.false_claim("Hello, Bob!")) for told in (Told(["hi"]), Told(["I'm Ann."]))]
        [['Hello!'], ['Hello, Ann!']]
        >>> told = Told(["I'm Ann.", "My dog is called Rex."])
        >>> told.corrected(told.false_claim("How nice! What is your name?"))
        ['How nice!']
        """
        reply, (start, end) = claim.reply, claim.span
        if self.asked_for_name or claim.kind is Kind.DENIED:
            return [f"You said your name is {self._sure_name}."]
        if claim.kind is Kind.ASKED_AGAIN:
            rest = f"{reply[:start]}{reply[end:]}".strip()
            return [rest or f"Nice {_WELCOMED}{self._sure_name}!"]
        number, name = claim.word.isdigit(), claim.word[0].isupper()
        kind = _NUMBERS if number else _NAMES if name else None
        told = [word for turn in self._turns for word in kind.findall(turn)] if kind else []
        if claim.kind is Kind.CALLED and self._sure_name:
            told = [self._sure_name]
        if claim.kind is Kind.NAMED:
            told = [name for name in self._names.values() if name[0].isupper()]
        texts = [reply[:start] + word + reply[end:] for word in [*dict.fromkeys(told)][-_MOST:]]
        unnamed = [reply[: claim.start] + reply[end:]] if claim.kind is Kind.CALLED else []
        return texts or unnamed


def _sentence_around(text: str, place: int) -> tuple[int, int]:
    """From the end of the sentence before a place to the end of its own."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    before = max((end for end in ends if end <= place), default=0)
    return before, min((end for end in ends if end > place), default=len(text))

"""Dialogues become what a chat model is trained on: the conversation so far, and the reply."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from regard.corpora.spelling import plain
from regard.generate.one_line import recent, to_one_line
from regard.text.repetition import is_looping

LENGTH = "too short or too long"
CHARACTERS = "links, codes or shouting"
LOOP = "goes round in circles"
ECHO = "says what was said"
OFTEN = "said too often"
COARSE = "coarse words"

_LEAST_WORDS, _MOST_WORDS = 2, 30
_MOST_TIMES = 30
"""of one reply in a whole corpus; "me too" alone would otherwise be a tenth of it"""
_UNFIT = re.compile(r"https?:|www\.|\.com\b|[<>{}\[\]|@#*_=\\]|\b[A-Z]{4,}(?: [A-Z]{3,})+\b|\d{5}")
_LABEL = re.compile(
    r"^(?:person|speaker|user|me|you|friend|bot|a|b)\s*+(?:\d\s*+)?:\s*", re.IGNORECASE
)
_COARSE = re.compile(
    r"\b(?:fuck\w*|shit\w*|bitch\w*|cunt\w*|nigg\w*|fag\w*|whore\w*|slut\w*|rap(?:e|ed|ist)|porn\w*|"
    r"dick|pussy|cock|retard\w*|suicid\w*|sexy?|nazis?|hitler|kill(?:ed)? (?:my|your|him|her)self|turk(?:er)?|hits?)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w']+")
_FIRST_PERSON = re.compile(r"\bi(?=\b(?!\.\w))")
_SENTENCE_START = re.compile(r"(?:^|(?<=[.!?]) )([a-z])")
_WITHOUT_APOSTROPHE = {
    "dont": "don't",
    "doesnt": "doesn't",
    "didnt": "didn't",
    "isnt": "isn't",
    "wasnt": "wasn't",
    "cant": "can't",
    "couldnt": "couldn't",
    "wouldnt": "wouldn't",
    "shouldnt": "shouldn't",
    "havent": "haven't",
    "hasnt": "hasn't",
    "im": "I'm",
    "ive": "I've",
    "youre": "you're",
    "thats": "that's",
    "whats": "what's",
    "theyre": "they're",
    "arent": "aren't",
    "u": "you",
    "ur": "your",
}
_MISSPELT = re.compile(rf"\b(?:{'|'.join(_WITHOUT_APOSTROPHE)})\b", re.IGNORECASE)
_SPACE_BEFORE = re.compile(r" (?=[.,!?])")
_STOPS = re.compile(r"([!?,])\1+|\.{2,}")


@dataclass(frozen=True)
class Exchange:
    """What was said so far as one line, and the reply to it."""

    context: str
    reply: str


def tidy(turn: str) -> str:
    """A turn as a careful writer types it: capitals, apostrophes, one stop at the end.

    >>> tidy("yes, i dont know  . why??")
    "Yes, I don't know. Why?"
    """
    turn = _SPACE_BEFORE.sub("", plain(turn))
    turn = _STOPS.sub(lambda match: match[1] or "...", turn)
    turn = _MISSPELT.sub(lambda match: _cased(match[0]), turn)
    turn = _FIRST_PERSON.sub("I", turn)
    turn = _SENTENCE_START.sub(lambda match: match[0].upper(), turn)
    return turn if not turn or turn[-1] in ".!?\"')" else turn + "."


def exchanges(turns: list[str], replies: Iterable[int]) -> Iterator[Exchange]:
    """For each of these turns the ones before it; those of the same speaker are as a model would have said them."""
    tidied, typed = [tidy(turn) for turn in turns], [plain(turn) for turn in turns]
    for place in replies:
        said = [(tidied if (place - n) % 2 == 0 else typed)[n] for n in range(place)]
        yield Exchange(to_one_line("\n".join(recent(said))), tidied[place])


class DialogueCleaner:
    """Exchanges of one corpus after another; what is said too often is left out from then on."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._times: Counter[str] = Counter()

    def __call__(self, line: str) -> Iterator[Exchange]:
        """Those of a dialogue, its turns separated by tabs, that teach how to answer."""
        turns = [_LABEL.sub("", turn.strip()) for turn in line.split("\t")]
        turns = [turn for turn in turns if turn]
        said: set[str] = set()
        for place, found in enumerate(exchanges(turns, range(1, len(turns))), start=1):
            said.add(_words_of(turns[place - 1]))
            reason = self._flaw(found.reply, turns[place - 1], said)
            if reason:
                self.dropped[reason] += 1
            else:
                yield found

    def _flaw(self, reply: str, before: str, earlier: set[str]) -> str | None:
        said = _words_of(reply)
        words = said.split()
        if not _LEAST_WORDS <= len(words) <= _MOST_WORDS or len(before.split()) > 2 * _MOST_WORDS:
            return LENGTH
        if _UNFIT.search(reply) or _UNFIT.search(before):
            return CHARACTERS
        if _COARSE.search(reply) or _COARSE.search(before):
            return COARSE
        if is_looping(words) or any(len(word) > 20 for word in words):
            return LOOP
        if said in earlier:
            return ECHO
        self._times[said] += 1
        return OFTEN if self._times[said] > _MOST_TIMES else None


def _words_of(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _cased(word: str) -> str:
    right = _WITHOUT_APOSTROPHE[word.lower()]
    return right[0].upper() + right[1:] if word[0].isupper() else right

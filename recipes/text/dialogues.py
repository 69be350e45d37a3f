"""Dialogues as pairs of conversation so far and reply: `python recipes/text/dialogues.py FILES`.

A line is a dialogue, its turns separated by tabs. data/prepared/chat/ gets dialogues.tsv.gz, of which one dialogue of a
hundred goes into valid.context and valid.reply instead, and small-talk.tsv.gz, made of small_talk.tsv. A file named
with --talks has a person and the chatbot in turn (chat_text.py makes such): NAME.tsv.xz becomes NAME.tsv.gz.

In small_talk.tsv a person speaks first, then the chatbot, and so on. Bars in a person's turn separate ways of saying
the same: `Hi|Hello|Hey there`. Braces are filled from small_talk_slots.tsv: `I'm {person}`. The number of marks of a
heading says how its dialogues are joined to others: `#` before and after them, `##` only after, `###` not at all.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fr_en import is_drawn, key_of, plain

from regard.data.lines import read_lines
from regard.generate.prompts import MAX_TURNS, recent, to_one_line
from regard.text import is_looping

LENGTH = "too short or too long"
CHARACTERS = "links, codes or shouting"
LOOP = "goes round in circles"
ECHO = "says what was said"
OFTEN = "said too often"
COARSE = "coarse words"

_VALID_SHARE = 100
"""one dialogue of so many is held out"""
_MIN_WORDS, _MAX_WORDS = 2, 30
_MAX_TIMES = 30
"""of one reply in a whole corpus; "me too" alone would otherwise be a tenth of it"""
_UNFIT = re.compile(r"https?:|www\.|\.com\b|[<>{}\[\]|@#*_=\\]|\b[A-Z]{4,}(?: [A-Z]{3,})+\b|\d{5}")
_LABEL = re.compile(r"^(?:person|speaker|user|me|you|friend|bot|a|b)\s*+(?:\d\s*+)?:\s*", re.IGNORECASE)
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


def exchanges(turns: list[str], replies: Iterable[int], most: int = MAX_TURNS) -> Iterator[Exchange]:
    """For each of these turns the ones before it; those of the same speaker are as a model would have said them."""
    tidied, typed = [tidy(turn) for turn in turns], [plain(turn) for turn in turns]
    for place in replies:
        said = [(tidied if (place - n) % 2 == 0 else typed)[n] for n in range(place)]
        yield Exchange(to_one_line("\n".join(recent(said, most))), tidied[place])


class DialogueCleaner:
    """Exchanges of one corpus after another; what is said too often is left out from then on."""

    def __init__(self, most_turns: int = MAX_TURNS) -> None:
        self._most_turns = most_turns
        self.dropped: Counter[str] = Counter()
        self._times: Counter[str] = Counter()

    def __call__(self, line: str) -> Iterator[Exchange]:
        """Those of a dialogue, its turns separated by tabs, that teach how to answer."""
        turns = [_LABEL.sub("", turn.strip()) for turn in line.split("\t")]
        turns = [turn for turn in turns if turn]
        said: set[str] = set()
        for place, found in enumerate(exchanges(turns, range(1, len(turns)), self._most_turns), start=1):
            said.add(_words_of(turns[place - 1]))
            reason = self._flaw(found.reply, turns[place - 1], said)
            if reason:
                self.dropped[reason] += 1
            else:
                yield found

    def _flaw(self, reply: str, before: str, earlier: set[str]) -> str | None:
        said = _words_of(reply)
        words = said.split()
        if not _MIN_WORDS <= len(words) <= _MAX_WORDS or len(before.split()) > 2 * _MAX_WORDS:
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
        return OFTEN if self._times[said] > _MAX_TIMES else None


def _words_of(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _cased(word: str) -> str:
    right = _WITHOUT_APOSTROPHE[word.lower()]
    return right[0].upper() + right[1:] if word[0].isupper() else right


FILE = Path(__file__).with_name("small_talk.tsv")
SLOTS = Path(__file__).with_name("small_talk_slots.tsv")

_NUM_FILLED = 6
"""dialogues that are made of one with slots"""
_PUNCTUATION = re.compile(r"(?<![.,!?;])[.,!?;]++(?=\s|$)")


@dataclass(frozen=True)
class Talk:
    """A dialogue: turn by turn the ways of saying it, and how many marks its heading has."""

    turns: list[list[str]]
    num_marks: int

    @property
    def has_slots(self) -> bool:
        return any("{" in way for turn in self.turns for way in turn)


def talks(path: Path = FILE) -> Iterator[Talk]:
    """Every dialogue of the file."""
    num_marks = 1
    for line in read_lines(path):
        if line.startswith("#"):
            num_marks = len(line) - len(line.lstrip("#"))
        elif line:
            yield Talk([turn.split("|") for turn in line.split("\t")], num_marks)


def small_talk(seed: int = 1, path: Path = FILE, most_turns: int = MAX_TURNS) -> Iterator[Exchange]:
    """Every exchange of the file: as it is written, carelessly typed, and after another conversation."""
    draw = random.Random(seed)
    slots = _Slots(draw)
    known = list(talks(path))
    first = [talk.turns for talk in known if talk.num_marks == 1]
    for talk in known:
        for said in _said(talk, draw, slots):
            for typed in dict.fromkeys((0, draw.choice((1, 2)), 3)):
                person = [_typed(turn, typed) if place % 2 == 0 else turn for place, turn in enumerate(said)]
                yield from exchanges(person, range(1, len(person), 2), most_turns)
            if first and talk.num_marks < 3:
                earlier = [draw.choice(turn) for turn in draw.choice(first)]
                both = [*earlier, *said]
                yield from exchanges(both, range(len(earlier) + 1, len(both), 2), most_turns)


def _said(talk: Talk, draw: random.Random, slots: _Slots) -> Iterator[list[str]]:
    """Each way at least once; a dialogue with slots many times, any way with any other."""
    if talk.has_slots:
        for _ in range(_NUM_FILLED):
            yield slots.fill([draw.choice(turn) for turn in talk.turns])
    else:
        for way in range(max(len(turn) for turn in talk.turns)):
            yield [turn[way % len(turn)] for turn in talk.turns]


class _Slots:
    """What fills the braces; each word comes once before one comes again."""

    def __init__(self, draw: random.Random) -> None:
        self._words: dict[str, Iterator[str]] = {}
        for line in read_lines(SLOTS):
            name, _, words = line.partition("\t")
            listed = words.split("|")
            self._words[name] = itertools.cycle(draw.sample(listed, len(listed)))

    def fill(self, turns: list[str]) -> list[str]:
        """A slot holds the same word in all of a dialogue."""
        names = sorted(set(re.findall(r"\{(\w+)\}", " ".join(turns))))
        words = {name: next(self._words[name]) for name in names}
        return [turn.format(**words) for turn in turns]


def _typed(turn: str, way: int) -> str:
    """0 as it is, 1 in lower case, 2 without punctuation, 3 without any of it.

    >>> [_typed("Hi, what's up?", way) for way in range(4)]
    ["Hi, what's up?", "hi, what's up?", "Hi what's up", 'hi whats up']
    """
    typed = turn.lower() if way in (1, 3) else turn
    if way in (2, 3):
        typed = _PUNCTUATION.sub("", typed)
    if way == 3:
        typed = typed.replace("'", "")
    return typed.strip() or turn


def of_talks(lines: Iterable[str], most_turns: int) -> Iterator[Exchange]:
    """The chatbot's turns of dialogues that a person begins."""
    for line in lines:
        turns = line.split("\t")
        yield from exchanges(turns, range(1, len(turns), 2), most_turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--talks", type=Path, action="append", default=[])
    parser.add_argument("--turns", type=int, default=MAX_TURNS, help="what the model reads: its num_turns")
    parser.add_argument("--output", type=Path, default=Path("data/prepared/chat"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    kept: dict[bool, list[Exchange]] = {False: [], True: []}
    clean = DialogueCleaner(options.turns)
    for line in itertools.chain.from_iterable(map(read_lines, options.files)):
        kept[is_drawn(key_of(line), _VALID_SHARE)] += clean(line)
    _write(options.output / "dialogues.tsv.gz", kept[False])
    _write(options.output / "small-talk.tsv.gz", small_talk(most_turns=options.turns))
    for path in options.talks:
        _write(options.output / f"{path.name.partition('.')[0]}.tsv.gz", of_talks(read_lines(path), options.turns))
    for name in ("context", "reply"):
        lines = [f"{getattr(each, name)}\n" for each in kept[True]]
        (options.output / f"valid.{name}").write_text("".join(lines), "utf-8", newline="\n")
    for reason, count in clean.dropped.most_common():
        print(f"left out: {reason} {count:,}")


def _write(path: Path, exchanges: Iterable[Exchange]) -> None:
    with gzip.open(path, "wt", encoding="utf-8", newline="\n") as output:
        output.writelines(f"{each.context}\t{each.reply}\n" for each in exchanges)


if __name__ == "__main__":
    main()

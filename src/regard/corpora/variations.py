"""A phrase in other company: after another or before it, cried, told, without its point, as an item of a list.

Cleaning leaves out a pair that comes again (`data/clean.py`), so a phrase that is to be met often has to differ each time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from regard.corpora.tables import Value, table

NUM_TIMES = 5
"""that a phrase is written, at most: as it stands and in so many other ways but one"""

_FARTHEST = 15
"""phrases between two that are joined: those near each other are of the same matter"""
_ENDS = (".", "!", "?")
_OPENINGS = table(
    "Bonjour !=Hello!;Salut !=Hi!;Oui.=Yes.;Non.=No.;Ah !=Ah!;Écoute.=Listen.;Écoutez.=Listen.;D'accord.=OK.;"
    "Bon.=Well.;Désolé.=Sorry.;Pardon.=Sorry.;Merci.=Thank you.;Regarde !=Look!;Tu sais quoi ?=You know what?;"
    "Attends !=Wait!;Attendez.=Wait.;Eh bien !=Well!;Mon Dieu !=My God!;Papa !=Dad!;Maman !=Mom!;Bonsoir.=Good evening.;"
    "Super !=Great!;Allô ?=Hello?;Enfin !=Finally!"
)
_BEGINNINGS = table(
    "Tu sais, =You know, ;Vous savez, =You know, ;Oui, =Yes, ;Non, =No, ;Mais =But ;Et =And ;Eh bien, =Well, ;"
    "Alors, =So, ;En fait, =Actually, ;Franchement, =Frankly, ;Désolé, =Sorry, ;Malheureusement, =Unfortunately, ;"
    "Heureusement, =Fortunately, ;À mon avis, =In my opinion, ;Après tout, =After all, ;Bref, =In short, "
)
# What a sentence may begin with that is no name and asks nothing, so that something can stand before it.
_PLAIN_FRENCH = re.compile(
    r"(?:Il|Elle|On|Nous|Vous|Ils|Elles|Je|Tu|J'\w+|C'est|Ce|Ça|Le|La|Les|L'\w+|Mon|Ma|Mes|Ton|Ta|Son|Sa|Cette|Ces) "
)
_PLAIN_ENGLISH = re.compile(
    r"(?:It|He|She|We|You|They|The|This|That|These|There|My|Your|His|Her|Our)\b|I\b"
)
_SPEAKERS = {
    ".": table(
        "dit-il=he said;dit-elle=she said;dit mon père=my father said;répondit-elle=she answered"
    ),
    "!": table("cria-t-il=he shouted;cria-t-elle=she shouted;dit-elle=she said"),
    "?": table("demanda-t-il=he asked;demanda-t-elle=she asked;demanda ma mère=my mother asked"),
}
_TELLERS = table(
    "Il a dit :=He said,;Elle a dit :=She said,;Je lui ai dit :=I told him,;Ma mère dit toujours :=My mother always says,;"
    "Elle m'a répondu :=She answered,"
)


def varied(phrases: Sequence[Value], draw: random.Random) -> Iterator[Value]:
    """Each phrase in several other ways, none of them as it stands."""
    sentences = [pair for pair in phrases if _is_sentence(pair)]
    place = 0
    for pair in phrases:
        if _is_sentence(pair):
            found = _sentence_ways(pair, _neighbor(sentences, place, draw), draw)
            place += 1
        else:
            found = _label_ways(pair)
        different = [way for way in dict.fromkeys(found) if way != pair]
        yield from draw.sample(different, min(len(different), NUM_TIMES - 1))


def _is_sentence(pair: Value) -> bool:
    """And neither a sign in capitals nor an abbreviation."""
    french, english = pair
    is_ended = french.endswith(_ENDS) and english.endswith(_ENDS)
    return is_ended and not french.isupper() and not french[0].islower()


def _neighbor(sentences: list[Value], place: int, draw: random.Random) -> Value:
    """A sentence from further down, but not the same in other words."""
    farthest = [sentences[(place + step) % len(sentences)] for step in range(1, _FARTHEST + 1)]
    others = [other for other in farthest if not set(other) & set(sentences[place])]
    return draw.choice(others or farthest)


def _sentence_ways(pair: Value, other: Value, draw: random.Random) -> Iterator[Value]:
    opening = draw.choice(_OPENINGS)
    yield f"{pair[0]} {other[0]}", f"{pair[1]} {other[1]}"
    yield f"{other[0]} {pair[0]}", f"{other[1]} {pair[1]}"
    yield f"{opening[0]} {pair[0]}", f"{opening[1]} {pair[1]}"
    mark = pair[0][-1]
    if mark == pair[1][-1] and not set('"«') & set("".join(pair)):
        yield from _spoken(pair, mark, draw)
        if mark != "?":
            yield _without_mark(pair)
            yield _with_mark(pair, "." if mark == "!" else "!")
    if mark == "." and _PLAIN_FRENCH.match(pair[0]) and _PLAIN_ENGLISH.match(pair[1]):
        before = draw.choice(_BEGINNINGS)
        first = pair[1] if pair[1].startswith("I") and pair[1][1] in " '" else _lower(pair[1])
        yield f"{before[0]}{_lower(pair[0])}", f"{before[1]}{first}"


def _spoken(pair: Value, mark: str, draw: random.Random) -> Iterator[Value]:
    who, english_who = draw.choice(_SPEAKERS[mark])
    if mark == ".":
        yield f"« {pair[0][:-1]} », {who}.", f'"{pair[1][:-1]}," {english_who}.'
    else:
        yield f"« {pair[0]} » {who}.", f'"{pair[1]}" {english_who}.'
    who, english_who = draw.choice(_TELLERS)
    yield f"{who} « {pair[0]} »", f'{english_who} "{pair[1]}"'


def _without_mark(pair: Value) -> Value:
    return pair[0][:-1].rstrip(), pair[1][:-1]


def _with_mark(pair: Value, mark: str) -> Value:
    """
    >>> _with_mark(("Il pleut.", "It's raining."), "!")
    ('Il pleut !', "It's raining!")
    """
    french, english = _without_mark(pair)
    return f"{french}{' ' if mark == '!' else ''}{mark}", f"{english}{mark}"


def _label_ways(pair: Value) -> Iterator[Value]:
    """What is no sentence: an item of a list, with a colon behind it, and in other letters unless these mean something."""
    yield f"- {pair[0]}", f"- {pair[1]}"
    if not pair[0].endswith((",", "?", ".", ":")) and not set(":/") & set(pair[0]):
        yield f"{pair[0]} :", f"{pair[1]}:"
    if any(map(str.isdigit, "".join(pair))) or not all(map(_has_plain_letters, pair)):
        return
    for change in _LETTERS:
        yield change(pair[0]), change(pair[1])


def _has_plain_letters(side: str) -> bool:
    """All of them capitals, or none but the first."""
    return side.isupper() or side[1:] == side[1:].lower()


def _lower(side: str) -> str:
    return side[0].lower() + side[1:]


_LETTERS: tuple[Callable[[str], str], ...] = (str.upper, str.lower, str.capitalize)

"""Stories to be known by heart, each after beginnings of many kinds.

A small model that reads a story in many words learns its sentences sooner than what leads to what. So here a story is told
in the same words every time, but for its names and what is drawn, and comes to be known whole. People begin theirs
in ways of their own: before it stands a beginning that was written for it by somebody who left the plot out, or the first
sentences of another story, one with words of this one in it (`regard.corpora.beginnings`), about the same people. What is
learnt is to take up any beginning with a story that may follow, and to tell it of those whom the beginning names.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from regard.corpora.beginnings import Beginnings, another_name, by_mentions, may_be_called
from regard.corpora.tales import beginnings_of, cast_of, drawn, named, ways_of

NUM_TOLD, PLOT_NUM_TOLD = 15, 30
"""tellings of a tale, and of a plot, for each beginning that was written for it"""
_OWN_SHARE, _LENT_SHARE = 0.15, 0.25
"""of the tellings, those that begin as the story does, in any of its ways, and those with another's beginning; the others
have one that was written for it, or where there is none another's"""
_NEW_LINE_SHARE = 0.5
"""of the beginnings, those after which the story starts a paragraph"""
_UNHEARD_SHARE = 0.15
"""of the names, those that nobody has: they can only be copied"""

_ONSETS = (
    "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl gl gr ph pl pr qu sh sk sl sn st sw th tr wh y"
).split()
_VOWELS = "a a a e e e i i i o o o u u ai au ea ee ei ia ie io oa oo ou y".split()
_ENDS = ["", "", "", "", *"l n r s t m x nd ck lt nn rt sh th ss d n r l".split()]


def retold(
    stories: Sequence[list[str]],
    num_told: int,
    *,
    others: Sequence[list[str]] = (),
    seed: int = 1,
) -> Iterator[list[str]]:
    """The paragraphs of each story, `num_told` times for each beginning that was written for it. others: stories that only lend their beginnings."""
    beginnings = Beginnings(stories, others)
    for place, story in enumerate(stories):
        draw = random.Random(f"{seed} {place}")
        for _ in range(num_told * max(1, len(beginnings_of(story)))):
            yield telling(place, story, beginnings, draw)


def telling(place: int, story: list[str], beginnings: Beginnings, draw: random.Random) -> list[str]:
    """One of the story at a place among those of the beginnings."""
    untold, (first, *rest) = ways_of(story)
    written = beginnings_of(story)
    chance = draw.random()
    is_own = chance < _OWN_SHARE
    begun, called = "", None
    if written and chance > _OWN_SHARE + _LENT_SHARE:
        begun, called = draw.choice(written)
    lines = [draw.choice(first) if is_own else first[0], *(ways[0] for ways in rest)]
    # A beginning may name what the first paragraph draws, so it is drawn after the story.
    *paragraphs, begun = drawn([*untold, *lines, begun], draw)[len(untold) :]
    heroes = by_mentions("\n".join(paragraphs))
    if not begun and not is_own:
        begun, called = beginnings.lent(place, paragraphs, heroes, draw)
    if begun:
        between = "\n" if draw.random() < _NEW_LINE_SHARE else " "
        paragraphs[0] = f"{begun}{between}{paragraphs[0]}"
    text = "\n".join(paragraphs)
    return named(text, _cast(text, heroes, called, draw)).split("\n")


def _cast(
    text: str, heroes: Sequence[str], called: str | None, draw: random.Random
) -> dict[str, str]:
    cast = cast_of([text], draw)
    for slot in cast:
        if slot[1] != "s" and draw.random() < _UNHEARD_SHARE:
            cast[slot] = unheard_of(draw)
    if heroes:
        called = called or another_name(text, heroes[0], draw)
        if called and may_be_called(text, heroes[0], called):
            cast[heroes[0]] = called
    return cast


def unheard_of(draw: random.Random) -> str:
    """A first name of two or three syllables."""
    syllables = [draw.choice(_ONSETS) + draw.choice(_VOWELS) for _ in range(draw.choice((1, 1, 2)))]
    last = draw.choice(_ONSETS) + draw.choice(_VOWELS) + draw.choice(_ENDS)
    return "".join([*syllables, last]).capitalize()

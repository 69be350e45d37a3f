"""Stories to be known by heart: the same words each time, after beginnings of many kinds, about those whom they name."""

from __future__ import annotations

import functools
import random
import re
from collections import Counter

import pytest

from regard.corpora import retold, tales
from regard.corpora.beginnings import (
    Beginnings,
    _first_sentences,
    another_name,
    by_mentions,
    may_be_called,
    sentences,
)

PLOTS = tales.tales(tales.PLOTS_FILE)
SHORT = tales.tales()
MARKS = re.compile(r"[\[\]{}|=\t]")
LOST_RING = [
    "= [hero/he/him/his={f1}/she/her/her|{m1}/he/him/his] [thing=ring|watch]",
    "> [hero] had never lost anything before, so [he] said.",
    "> The young baker was always in a hurry.\tthe baker",
    "[hero] lost a [thing] in the snow.",
    "+ Snow lay deep when [hero] lost a [thing].",
    "Old Mr. {s1} dug it out, and [rain|snow] fell on [hero].",
    "+ It was Mr. {s1} who dug and dug.",
    "[hero] baked him a cake.",
    "+ The next day [he] came with a cake.",
]


@functools.cache
def told() -> list[list[str]]:
    return list(retold.retold(PLOTS[::7], 6, others=SHORT[::9], seed=2))


def test_every_telling_is_whole() -> None:
    for paragraphs in [*told(), *retold.retold(SHORT[::9], 2, others=PLOTS[::7])]:
        text = "\n".join(paragraphs)
        assert not MARKS.search(text), text
        assert "  " not in text and all(line == line.strip() for line in paragraphs), text
        assert text.count('"') % 2 == 0, text
    assert told()[:12] == list(retold.retold(PLOTS[::7], 6, others=SHORT[::9], seed=2))[:12]


def test_a_story_is_told_in_the_same_words() -> None:
    ends = Counter(
        "\n".join(paragraphs[-2:]) for paragraphs in retold.retold([LOST_RING] * 2, 60, seed=5)
    )
    assert all("dug it out" in end and "baked him a cake" in end for end in ends)
    firsts = [paragraphs[0] for paragraphs in retold.retold([LOST_RING] * 2, 60, seed=5)]
    assert any(first.startswith("Snow lay deep") for first in firsts), "as it begins, in any way"
    assert not any("Snow lay deep" in first and "before" in first for first in firsts)


def test_a_written_beginning_is_about_the_hero() -> None:
    texts = ["\n".join(lines) for lines in retold.retold([LOST_RING] * 2, 80, seed=5)]
    written = [text for text in texts if "lost anything before" in text]
    assert len(written) > 10
    for text in written:
        name, pronoun = re.match(r"(.+) had never .* so (she|he) said", text).groups()  # type: ignore[union-attr]
        assert f"{name} baked" in text and pronoun in ("she", "he"), text
    bakers = [text for text in texts if "always in a hurry" in text]
    assert len(bakers) > 10
    assert all("The baker baked him a cake." in text and "on the baker." in text for text in bakers)


def test_some_names_can_only_be_copied() -> None:
    draw = random.Random(1)
    names = {retold.unheard_of(draw) for _ in range(500)}
    assert len(names) > 480 and all(re.fullmatch(r"[A-Z][a-z]{2,}", name) for name in names)


@pytest.mark.parametrize("stories", [PLOTS, SHORT], ids=["plots", "tales"])
def test_written_beginnings_name_whom_their_story_names(stories: list[list[str]]) -> None:
    draw = random.Random(4)
    num_written = 0
    for story in stories:
        untold, ways = tales.ways_of(story)
        for text, called in tales.beginnings_of(story):
            num_written += 1
            lines = [*untold, *(way[0] for way in ways), text]
            *paragraphs, begun = tales.drawn(lines, draw)[len(untold) :]
            assert not re.search(r"[\[\]|=\t]", begun), text
            assert re.search(r"[.!?]\"?$", begun) and begun.count('"') % 2 == 0, text
            heroes = by_mentions("\n".join(paragraphs))
            assert set(tales.slots_of(begun)) <= set(heroes), text
            assert called is None or re.fullmatch(r"the [a-z][a-z' -]+", called), text
    assert num_written > 3 * len(stories)


def test_another_storys_beginning_is_about_this_ones_hero() -> None:
    stories = PLOTS[:60]
    beginnings = Beginnings(stories, SHORT[:60])
    draw = random.Random(3)
    num_named = num_lent = num_called = 0
    for place, story in enumerate(stories):
        untold, ways = tales.ways_of(story)
        paragraphs = tales.drawn([*untold, *(way[0] for way in ways)], draw)[len(untold) :]
        heroes = by_mentions("\n".join(paragraphs))
        text, called = beginnings.lent(place, paragraphs, heroes, draw)
        num_lent += bool(text)
        num_called += called is not None
        known = tales.slots_of(text)
        assert set(known) <= set(heroes), text
        num_named += bool(known)
        assert not known or heroes[0] in known, text
        wrong = {"{f": r"\b(?:he|his|boy)\b", "{m": r"\b(?:she|her|girl)\b"}
        if heroes and len(known) < 2 and heroes[0][:2] in wrong:
            assert not re.search(wrong[heroes[0][:2]], text), text
    assert num_lent > 30 and num_named > 10 and num_called < num_lent / 2


def called(text: str) -> set[str | None]:
    draw = random.Random(1)
    return {another_name(text, "{m1}", draw) for _ in range(400)}


def test_a_hero_is_now_and_then_called_by_what_they_are() -> None:
    names = called("{m1} ran. Then {m1} fell.")
    assert None in names and "the detective" in names
    assert any(name and name.startswith("Captain ") for name in names)
    assert tales.named("{m1} ran. Then {m1} fell.", {"{m1}": "the king"}) == (
        "The king ran. Then the king fell."
    )


@pytest.mark.parametrize(
    "text",
    [
        "It was old {m1}.",
        "King {m1} sat.",
        "He was {m1} {s1}.",
        "The reporter {m1} ran.",
        "It was Dame {m1} who came.",
        "He wrote to his friend {m1}.",
        "{m1} the farmer sat.",
    ],
)
def test_who_has_a_title_is_called_by_name(text: str) -> None:
    assert called(text) == {None} and not may_be_called(text, "{m1}", "the king")


@pytest.mark.parametrize("text", ["A boy called {m1} ran.", '"{m1}, come here!"'])
def test_who_is_introduced_or_spoken_to_is_called_by_name(text: str) -> None:
    assert {(name or "").startswith("the ") for name in called(text)} == {False}


def test_sentences_end_where_they_end() -> None:
    text = 'Mr. Hill came. "Who is it?" he asked. It rained.'
    assert sentences(text) == ["Mr. Hill came.", '"Who is it?" he asked.', "It rained."]
    assert _first_sentences(text, 1) == "Mr. Hill came."

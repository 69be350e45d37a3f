"""Stories that are planned: an outline after the beginning, of what the rest of the story then tells."""

from __future__ import annotations

import functools
import random
import re

from regard.corpora import tales
from regard.corpora.beginnings import Beginnings, _first_sentences, another_name, sentences
from regard.corpora.outlines import planned

PLOTS = tales.tales(tales.PLOTS_FILE)
OUTLINE = re.compile(r" \[ ([^\[\]]+) \]")
MARKS = re.compile(r"[{}|=]")
LOST_KEY = [
    "= [hero/he/him/his={f1}/she/her/her|{m1}/he/him/his] [thing=ring|watch] [how=with a smile that nobody there forgot]",
    "[hero] lost the [thing] in the snow.",
    "+ Snow lay deep when [hero] lost the [thing].",
    "Old Mr. {s1} dug it out, and [rain|snow] fell [how].",
    "+ It was Mr. {s1} who dug and dug.",
    "[hero] baked him a cake.",
    "+ The next day [he] came with a cake.",
]


@functools.cache
def told() -> list[list[str]]:
    return list(planned(PLOTS[::7], 6, others=PLOTS[1::7], seed=2))


def test_each_telling_has_one_outline_and_is_whole_without_it() -> None:
    num_alone = 0
    for paragraphs in told():
        text = "\n".join(paragraphs)
        assert len(OUTLINE.findall(text)) == 1, text
        plain = OUTLINE.sub("", text)
        assert not MARKS.search(text) and "[" not in plain and "]" not in plain, text
        assert "  " not in plain and all(line == line.strip() for line in paragraphs), text
        if text.endswith("]"):
            num_alone += 1
        else:
            assert plain.count('"') % 2 == 0, text
    assert 0.5 * len(told()) < num_alone < 0.7 * len(told())


def test_an_outline_has_a_sentence_of_each_paragraph_that_comes() -> None:
    num_right = num_paragraphs = 0
    for paragraphs in told():
        [place] = [i for i, line in enumerate(paragraphs) if OUTLINE.search(line)]
        if paragraphs[-1].endswith("]"):
            continue
        [found] = OUTLINE.findall(paragraphs[place])
        said = sentences(found.split("; ", 1)[1])
        assert len(said) >= len(paragraphs) - place
        for sentence, paragraph in zip(
            said, [OUTLINE.split(paragraphs[place])[-1], *paragraphs[place + 1 :]], strict=False
        ):
            num_paragraphs += 1
            words = {word for word in re.findall(r"\w+", sentence.lower()) if len(word) > 3}
            num_right += bool(words & set(re.findall(r"\w+", paragraph.lower())))
    assert num_right > 0.85 * num_paragraphs > 1000


def test_whom_it_names_are_those_of_the_story() -> None:
    whole = [
        text
        for text in map("\n".join, planned([LOST_KEY, *PLOTS[:3]], 40))
        if "cake" in text and not text.endswith("]")
    ]
    assert len(whole) > 5
    for text in whole:
        [found] = OUTLINE.findall(text)
        people = found.split("; ", 1)[0]
        for each in people.split(", "):
            name = re.sub(r" (?:he|she)$", "", each)
            assert re.search(re.escape(name), OUTLINE.sub("", text), re.IGNORECASE), text
        first, said = people.split(", ")[0].rsplit(" ", 1)
        assert said in ("he", "she") and first
    assert list(planned(PLOTS[:3], 2)) == list(planned(PLOTS[:3], 2)), "the same every time"


def test_beginnings_stop_at_sentences_and_within_them() -> None:
    before = [
        OUTLINE.split("\n".join(paragraphs))[0]
        for paragraphs in told()
        if OUTLINE.search(paragraphs[0])
    ]
    ended = sum(bool(re.search(r"[.!?][\"']?$", text)) for text in before)
    assert 0.5 * len(before) < ended < 0.85 * len(before)


def test_another_storys_beginning_is_about_this_ones_hero() -> None:
    stories = PLOTS[:60]
    beginnings = Beginnings(stories)
    draw = random.Random(3)
    num_named = num_lent = 0
    for place, story in enumerate(stories):
        untold, ways = tales.ways_of(story)
        paragraphs = tales.drawn([*untold, *(way[0] for way in ways)], draw)[len(untold) :]
        hero = next(iter(tales.slots_of("\n".join(paragraphs))), None)
        text = beginnings.lent(place, paragraphs, hero, draw)
        num_lent += bool(text)
        assert set(tales.slots_of(text)) <= {hero}, text
        num_named += hero is not None and hero in text
        wrong = {"{f": r"\b(?:he|his|boy)\b", "{m": r"\b(?:she|her|girl)\b"}.get((hero or "")[:2])
        assert not (wrong and re.search(wrong, text)), text
    assert num_lent > 30 and num_named > 10


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


def test_who_has_a_title_or_is_introduced_is_called_by_name() -> None:
    for text in ("It was old {m1}.", "King {m1} sat.", "He was {m1} {s1}."):
        assert called(text) == {None}, text
    for text in ("A boy called {m1} ran.", '"{m1}, come here!"'):
        assert {(name or "").startswith("the ") for name in called(text)} == {False}, text


def test_sentences_end_where_they_end() -> None:
    text = 'Mr. Hill came. "Who is it?" he asked. It rained.'
    assert sentences(text) == ["Mr. Hill came.", '"Who is it?" he asked.', "It rained."]
    assert _first_sentences(text, 1) == "Mr. Hill came."

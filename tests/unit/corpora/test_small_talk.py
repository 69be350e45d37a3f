"""The small talk written for regard: well-formed, honest about what was told, and without what models are judged by."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

from regard.corpora import dialogues, small_talk
from regard.data.corpus import read_lines
from regard.generate.claims import Told
from regard.generate.one_line import MARK

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
OPENINGS = (BENCHMARKS / "chat_openings.txt", BENCHMARKS / "chat_fresh.txt")
GREETINGS = {"hello", "hey", "good morning", "good night"}
"""what no conversation can do without"""


@functools.cache
def all_of_it() -> list[dialogues.Exchange]:
    """Made once: that takes a minute."""
    return list(small_talk.small_talk())


def words_of(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower().replace("'", "")))


def contexts(path: Path) -> list[list[str]]:
    return [found.context.split(f" {MARK} ") for found in small_talk.small_talk(path=path)]


def test_the_small_talk() -> None:
    """Well-formed, varied, and never without an answer."""
    known = small_talk.dialogues()
    replies = Counter[str]()
    num_exchanges = 0
    for turns in known:
        assert len(turns) % 2 == 0, turns
        assert all(way == way.strip() and way for turn in turns for way in turn), turns
        for reply in turns[1::2]:
            assert len(reply) == 1, f"a reply has one way of saying it: {reply}"
            is_whole = not reply[0].startswith("{")
            assert not is_whole or reply[0] == dialogues.tidy(reply[0]), reply
            replies[reply[0]] += 1
        num_exchanges += sum(map(len, turns[::2]))
    assert num_exchanges >= 1500 and len(replies) >= 1000
    found = all_of_it()
    assert len(found) > 3 * num_exchanges
    again = itertools.islice(small_talk.small_talk(), 20_000)
    assert found[:20_000] == list(again), "the same every time"
    assert all(each.reply and each.context.strip() for each in found)
    assert not any(sign in each.context + each.reply for each in found for sign in "\t{}")


def test_no_dialogue_begins_with_an_opening_that_models_are_judged_by() -> None:
    openings = {words_of(line) for path in OPENINGS for line in read_lines(path)}
    first = {words_of(way) for turns in small_talk.dialogues() for way in turns[0]}
    first |= {words_of(found.context) for found in all_of_it()}
    assert first & openings == GREETINGS


def test_what_is_told_before_is_never_denied() -> None:
    """Names, facts and danger are nobody's earlier talk, and who was told nothing has heard nothing else."""
    known = list(small_talk.talks())
    assert {talk.num_marks for talk in known} == {1, 2, 3}
    for talk in known:
        replies = " ".join(talk.turns[place][0] for place in range(1, len(talk.turns), 2))
        assert talk.num_marks > 1 or not re.search(
            r"You said|crisis line|emergency number|\{", replies
        )
        assert talk.num_marks == 3 or "You have not told me" not in replies, replies


def test_no_reply_would_be_given_up_for_a_false_claim() -> None:
    """What is learnt would never be said."""
    for found in all_of_it():
        told = Told(found.context.split(f" {MARK} ")[-1::-2][::-1])
        assert not told.false_claim(found.reply), found


@pytest.mark.parametrize(
    ("marks", "comes_before", "comes_after"),
    [("#", True, True), ("##", False, True), ("###", False, False)],
)
def test_marks_say_how_alone_a_dialogue_stands(
    tmp_path: Path, marks: str, comes_before: bool, comes_after: bool
) -> None:
    path = tmp_path / "talk.tsv"
    path.write_text(f"# a\nOne\tTwo.\n{marks} b\nThree\tFour.\nFive\tSix.\nSeven\tEight.\n")
    others = {"Three", "Five", "Seven"}
    earlier = {turns[0] for turns in contexts(path) if len(turns) > 1}
    assert bool(earlier & others) is comes_before
    assert any(turns[-1] in others for turns in contexts(path) if len(turns) > 1) is comes_after


def test_slots_hold_one_word_in_a_dialogue_and_many_in_all(tmp_path: Path) -> None:
    path = tmp_path / "talk.tsv"
    path.write_text(
        "### a\nI'm {person}|{person}\tHi, {person}.\tI live in {place}\tYou, {person}?\n"
    )
    found = list(small_talk.small_talk(path=path))
    names = [re.sub(r"Hi, |You, |[.?]", "", each.reply) for each in found]
    assert len(set(names)) > 5
    for name, each in zip(names, found, strict=True):
        assert name.lower() in each.context.lower()
    assert all("{" not in each.context + each.reply for each in found)

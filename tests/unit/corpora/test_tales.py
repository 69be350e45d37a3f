"""The short stories written for regard: sound however they are told, and none that begins as those models are judged by."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.corpora import tales

BEGINNINGS = Path(__file__).parents[3] / "benchmarks" / "story_beginnings.txt"
PLOTS = tales.tales(tales.PLOTS_FILE)
MARKS = re.compile(r"[\[\]{}|=]")
A_BEFORE_A_VOWEL = re.compile(r"\b[Aa] (?!one\b|once\b|eu|uni|use|o-)[aeio][a-z]+")
AN_BEFORE_A_CONSONANT = re.compile(r"\b[Aa]n (?!hour|honest|heir|honou)[bcdfghjklmnpqrstvwxz]\w*")


@functools.cache
def told_tales() -> list[list[str]]:
    return list(tales.told(tales.tales(), seed=2))


@functools.cache
def told_plots() -> list[list[str]]:
    return list(tales.told(PLOTS, 40, seed=2))


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize("told, shortest", [(told_tales, 150), (told_plots, 110)])
def test_every_telling_is_whole(told: Callable[[], list[list[str]]], shortest: int) -> None:
    for paragraphs in told():
        text = "\n".join(paragraphs)
        assert shortest <= len(text.split()) <= 400, text
        assert not MARKS.search(text), text
        assert not A_BEFORE_A_VOWEL.search(text) and not AN_BEFORE_A_CONSONANT.search(text), text
        for paragraph in paragraphs:
            assert paragraph.count('"') % 2 == 0, paragraph
            assert re.search(r"[.!?][\"')]*$", paragraph), paragraph
            assert paragraph == paragraph.strip() and "  " not in paragraph, paragraph


def test_a_story_is_told_in_many_ways_with_many_names() -> None:
    known = tales.tales()
    assert len(known) >= 1000
    told = told_tales()
    assert len(told) == tales.NUM_TOLD * len(known)
    assert len({"\n".join(paragraphs) for paragraphs in told}) > 0.99 * len(told)
    assert list(tales.told(known[:3])) == list(tales.told(known[:3])), "the same every time"


def test_no_two_tellings_of_a_plot_are_alike_for_long() -> None:
    assert len(PLOTS) >= 1000
    for plot in PLOTS:
        first, *later = (ways for ways in tales._ways(plot) if not ways[0].startswith("= "))
        assert len(first) >= 6 and len(later) >= 5 and min(map(len, later)) >= 4, plot[1]
        tellings = [set(told) for told in tales.told([plot], 20)]
        pairs = list(itertools.combinations(tellings, 2))
        shared = sum(len(one & other) / len(one) for one, other in pairs) / len(pairs)
        assert shared < 0.2, plot[1]


def test_none_begins_like_a_beginning_that_models_are_judged_by() -> None:
    judged_by = [words(line.split("\t")[0]) for line in BEGINNINGS.read_text("utf-8").splitlines()]
    firsts = [re.split(r"[|\[\]]", story[0]) for story in tales.tales()]
    firsts += [re.split(r"(?<=[.!?]) ", told[0]) for told in told_plots()]
    for way in (way for ways in firsts for way in ways):
        for beginning in judged_by:
            shared = len(words(way) & beginning) / len(words(way) | beginning)
            assert shared <= 0.6, way


def test_those_held_out_are_none_of_those_trained_on() -> None:
    training, valid = tales.split()
    assert len(training) + len(valid) == len(tales.tales())
    assert len(valid) >= 40 and not {tuple(story) for story in training} & set(map(tuple, valid))


def test_names_and_what_is_drawn_stay_the_same_within_a_story(tmp_path: Path) -> None:
    path = tmp_path / "tales.txt"
    path.write_text(
        "{f1} had a [pet=cat|dog].\n\n\n{m1} {s1}, {m1}.\nThe [sky|sea] was [grey|red].\n"
    )
    first, second = tales.tales(path)
    assert (first, second[1]) == (["{f1} had a [pet=cat|dog]."], "The [sky|sea] was [grey|red].")
    found = [" ".join(story) for story in tales.told([["{f1}, {f2}, {f1}: [pet=cat|dog], [pet]."]])]
    assert len(set(found)) > 5
    for text in found:
        one, two, again, pet, same = re.findall(r"[\w'-]+(?: [\w'-]+)*", text)
        assert one == again != two and pet == same and pet in ("cat", "dog")


def test_a_paragraph_is_told_in_one_of_its_ways() -> None:
    plot = [
        "= [pet/call=cat/miaowed|dog/barked]",
        "A [pet] came.",
        "+ In came a [pet].",
        "It [call].",
    ]
    found = {tuple(story) for story in tales.told([plot], 50)}
    assert found == {
        (first, second)
        for pet, second in (("cat", "It miaowed."), ("dog", "It barked."))
        for first in (f"A {pet} came.", f"In came a {pet}.")
    }


def test_a_word_that_was_never_drawn_is_an_error() -> None:
    with pytest.raises(KeyError, match="thing"):
        list(tales.told([["The [thing] was gone."]]))

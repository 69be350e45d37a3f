"""Queries and the passages they should find, to train a search with: `python recipes/text/search_pairs.py FILES`.

A line without a tab is a paragraph, one of two or three columns a text, its translation and perhaps a label, and one of
more columns a dialogue. They become data/prepared/search/pairs.tsv.gz:

a sentence of a paragraph    the paragraph without it (Lee et al. 2019), now and then with it
some words of a text         the text, or its translation: as people type what they look for
a turn of a dialogue         the turn that answers it

--teacher makes pairs for `teacher` in place of these: what a model reads, and the English text whose vector it should
have. A line is English, French TAB English, or a dialogue in English. Each text, some words of it, and some neighbours joined to a paragraph
stand beside themselves; what is French stands beside its translation.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from fr_en import key_of

from regard.data.lines import read_lines
from regard.text.sentences import split

Pair = tuple[str, str]

_WORD = re.compile(r"\w[\w'’-]*\w")
_MIN_LETTERS = 5
"""of a word that says what a text is about"""
_NUM_WORDS = (2, 6)
_MAX_COLUMNS = 3
_WAITING = 50_000
"""pairs among which the next is drawn, so that neighbours do not stay together"""
_TRANSLATIONS_SHARE = 0.35
_SAME_SHARE, _JOINED_SHARE, _FEW_SHARE = 0.5, 0.5, 0.25
"""for a teacher: of English sides that are read too, of lines after which a paragraph ends, and of French sides of which a
word or a few stand for the whole: what these mean is the mean of what they are said in"""
_KEPT_SHARE = 0.2
"""of the sentences that stay in their paragraph: the same words should be found as well"""
_MIN_PASSAGE = 40
"""characters below which there is nothing to find"""
_MAX_PASSAGE = 600
_AS_TYPED = 0.5
"""of the queries that are written in small letters, and of those the share without accents"""


def pairs(lines: Iterable[str], seed: int = 1) -> Iterator[Pair]:
    """The pairs of lines of any kind, in a new order."""
    draw = random.Random(seed)
    waiting: list[Pair] = []
    for line in lines:
        columns = [" ".join(column.split()) for column in line.split("\t")]
        if len(columns) == 1:
            found = of_paragraph(columns[0], draw)
        elif len(columns) <= _MAX_COLUMNS:
            found = of_translation(columns[0], columns[1], draw)
        else:
            found = of_dialogue(columns)
        for pair in found:
            waiting.append(pair)
            if len(waiting) > _WAITING:
                place = draw.randrange(len(waiting))
                waiting[place], waiting[-1] = waiting[-1], waiting[place]
                yield waiting.pop()
    draw.shuffle(waiting)
    yield from waiting


def for_teacher(lines: Iterable[str], seed: int = 1) -> Iterator[Pair]:
    """What is read, and the English text of that meaning."""
    draw = random.Random(seed)
    joined: Pair = ("", "")
    for line in lines:
        columns = [" ".join(column.split()) for column in line.split("\t")]
        if len(columns) > _MAX_COLUMNS:  # turns of a dialogue, each its own meaning
            yield from ((turn, turn) for turn in columns if turn and len(turn) <= _MAX_PASSAGE)
            continue
        english = columns[min(1, len(columns) - 1)]
        if english.startswith("#") or not columns[0] or not english or len(english) > _MAX_PASSAGE:
            continue
        yield columns[0], english
        if len(columns) > 1 and draw.random() < _SAME_SHARE:
            yield _as_typed(english, draw), english
        if draw.random() < _TRANSLATIONS_SHARE and (words := keywords(english, draw)):
            yield words, words
        if len(columns) > 1 and draw.random() < _FEW_SHARE and (words := keywords(columns[0], draw)):
            yield " ".join(words.split()[: draw.randint(1, 3)]), english
        joined = f"{joined[0]} {columns[0]}".strip(), f"{joined[1]} {english}".strip()
        if draw.random() < _JOINED_SHARE or len(joined[1]) > _MAX_PASSAGE // 2:
            if joined[1] != english and len(joined[1]) <= _MAX_PASSAGE:
                yield joined
            joined = ("", "")


def of_paragraph(paragraph: str, draw: random.Random) -> Iterator[Pair]:
    """Some of its words, and one of its sentences; of a title nothing."""
    if paragraph.startswith("#"):
        return
    sentences = split(paragraph, "en", len, _MAX_PASSAGE).sentences
    start = draw.randrange(len(sentences)) if sentences else 0
    chosen = _fitting(sentences[start:])
    passage = " ".join(chosen)
    if len(passage) < _MIN_PASSAGE:
        return
    if words := keywords(passage, draw):
        yield words, passage
    if len(chosen) > 1:
        place = draw.randrange(len(chosen))
        rest = [each for i, each in enumerate(chosen) if i != place]
        stays = draw.random() < _KEPT_SHARE
        yield _as_typed(chosen[place], draw), passage if stays else " ".join(rest)


def of_translation(text: str, translation: str, draw: random.Random) -> Iterator[Pair]:
    """Words of one side and either side, of some of them: the two sides themselves are pairs as they are."""
    asked, found = (draw.choice((text, translation)) for _ in range(2))
    if draw.random() < _TRANSLATIONS_SHARE and len(found) >= _MIN_PASSAGE:
        if words := keywords(asked, draw):
            yield words, found


def of_dialogue(turns: Iterable[str]) -> Iterator[Pair]:
    """Each turn and the one that answers it."""
    for turn, answer in pairwise(turns):
        if turn and answer:
            yield turn, answer


def keywords(text: str, draw: random.Random) -> str:
    """Some of the longer words of a text, as they would be typed; nothing where it has too few."""
    words = list(dict.fromkeys(word for word in _WORD.findall(text) if len(word) >= _MIN_LETTERS))
    least, most = _NUM_WORDS
    if len(words) <= least:
        return ""
    count = draw.randint(least, min(most, len(words) - 1))
    places = sorted(draw.sample(range(len(words)), count))
    return _as_typed(" ".join(words[place] for place in places), draw)


def _as_typed(text: str, draw: random.Random) -> str:
    if draw.random() < _AS_TYPED:
        text = text.lower()
        if draw.random() < _AS_TYPED:
            letters = unicodedata.normalize("NFD", text)
            text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return text


def _fitting(sentences: Sequence[str]) -> list[str]:
    """The first sentences that together are no longer than a passage."""
    found: list[str] = []
    size = 0
    for sentence in sentences:
        size += len(sentence) + 1
        if found and size > _MAX_PASSAGE:
            break
        found.append(sentence)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--teacher", action="store_true", help="pairs for a teacher's vectors")
    parser.add_argument("--held-out", type=Path, action="append", default=[])
    parser.add_argument("--output", type=Path, default=Path("data/prepared/search/pairs.tsv.gz"))
    options = parser.parse_args()
    held_out = {key_of(text) for path in options.held_out for line in read_lines(path) for text in line.split("\t")}
    lines = (
        line
        for path in options.files
        for line in read_lines(path)
        if not any(key_of(text) in held_out for text in line.split("\t"))
    )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(options.output, "wt", encoding="utf-8", newline="\n") as output:
        output.writelines(
            f"{query}\t{passage}\n" for query, passage in (for_teacher if options.teacher else pairs)(lines)
        )


if __name__ == "__main__":
    main()

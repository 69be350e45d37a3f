"""Pairs from which a chatbot learns to read, made of running text (Raffel et al. 2020).

    python recipes/text/reading.py books.txt.xz recipes/text/stories.txt everyday.en.txt --output data/prepared/chat/reading.tsv.gz

what somebody in a book says       what the next one answers, without what is told around it
some sentences                     the one that follows
a text with gaps, each a `_`       what stood in them, a `_` before each
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dialogues import DialogueCleaner, Exchange, _write
from fr_en import plain

from regard.data.lines import read_lines

GAP = "_"
_SPEECH = re.compile(r'"([^"]*)"')
_UNFINISHED = " ,;:-\u2014"
"""what a speech ends with when it is told who speaks"""
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[\"A-Z])|(?<=[.!?]\") (?=[\"A-Z])")
_MOST_WORDS = 60
"""of a text that is read; a longer one is cut between its sentences"""
_LEAST_WORDS = 5
_GAP_SHARE = 0.2
"""of the words"""
_GAP_WORDS = (1, 5)
_FOLLOWING_SHARE = 0.4
"""of the stretches of sentences whose last one is asked for; in the others words are"""


def pairs(lines: Iterable[str], share: float = 1.0, seed: int = 1) -> Iterator[Exchange]:
    """The pairs of paragraphs, of which this share is read."""
    draw = random.Random(seed)
    clean = DialogueCleaner()
    before = ""
    for line in lines:
        text = plain(" ".join(line.split()))
        said = _speech(text)
        if said and before:
            yield from clean(f"{before}\t{said}")
        before = said
        if draw.random() >= share:
            continue
        for stretch in _stretches(text):
            if len(stretch) > 1 and draw.random() < _FOLLOWING_SHARE:
                yield Exchange(" ".join(stretch[:-1]), stretch[-1])
            else:
                yield from _gaps(" ".join(stretch).split(), draw)


def _speech(paragraph: str) -> str:
    """What is said in a paragraph that begins with somebody's words; nothing where it does not.

    >>> _speech('"Home," said Tom, "and you?" He smiled.')
    'Home, and you?'
    """
    if not paragraph.startswith('"'):
        return ""
    return " ".join(_SPEECH.findall(paragraph)).rstrip(_UNFINISHED)


def _stretches(paragraph: str) -> Iterator[list[str]]:
    """Its sentences, as many at a time as are read at once; of a title none, nor those that are too long alone."""
    found: list[str] = []
    size = 0
    for sentence in [] if paragraph.startswith("#") else _SENTENCE_END.split(paragraph):
        num_words = len(sentence.split())
        if found and size + num_words > _MOST_WORDS:
            yield found
            found, size = [], 0
        if num_words <= _MOST_WORDS:
            found.append(sentence)
            size += num_words
    if found:
        yield found


def _gaps(words: Sequence[str], draw: random.Random) -> Iterator[Exchange]:
    """The words with gaps in them, and what is missing.

    >>> list(_gaps("The cat sat on the mat.".split(), random.Random(1)))
    [Exchange(context='The cat sat on _ mat.', reply='_ the')]
    """
    if len(words) < _LEAST_WORDS:
        return
    num_missing = max(1, round(_GAP_SHARE * len(words)))
    missing: set[int] = set()
    while len(missing) < num_missing:
        size = min(draw.randint(*_GAP_WORDS), num_missing - len(missing))
        start = draw.randrange(len(words) - size + 1)
        missing.update(range(start, start + size))
    source: list[str] = []
    target: list[str] = []
    for place, word in enumerate(words):
        if place in missing:
            if place - 1 not in missing:
                source.append(GAP)
                target.append(GAP)
            target.append(word)
        else:
            source.append(word)
    yield Exchange(" ".join(source), " ".join(target))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the paragraphs; what is said in them is read anyway"
    )
    parser.add_argument("--output", type=Path, default=Path("data/prepared/chat/reading.tsv.gz"))
    options = parser.parse_args()
    _write(options.output, pairs(itertools.chain.from_iterable(map(read_lines, options.files)), options.share))


if __name__ == "__main__":
    main()

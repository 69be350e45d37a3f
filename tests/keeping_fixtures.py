"""What has to come back in a translation: sentences that hold it, and a model that answers as it is told to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from regard.config import DecodeConfig
from regard.text.word_alignment import Link, words
from regard.translate.translation import Candidate, Sentence
from regard.translate.wishes import Request, Wishes

FOLDER = Path(__file__).parent / "kept"
LANGUAGES = {"fr": "en", "en": "fr"}
_KEPT = re.compile("⟦(.*?)⟧")
_SPACES = re.compile("[\u00a0\u202f\u2009]")


def marked_sentences(name: str) -> list[tuple[str, list[list[str]]]]:
    """Each line of a file of tests/kept without its brackets, and what stood between bars in each of them."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [
        (
            _KEPT.sub(lambda match: match[1].split("|")[0], line),
            [each.split("|") for each in _KEPT.findall(line)],
        )
        for line in lines
    ]


def with_plain_spaces(text: str) -> str:
    return _SPACES.sub(" ", text)


def assert_links_are_words(sentence: Sentence) -> None:
    """Of every candidate, whose pieces all have a probability."""
    for candidate in sentence.candidates:
        assert len(candidate.tokens) <= len(candidate.token_log_probabilities)
        assert candidate.alignment is not None
        for link in candidate.alignment:
            assert sentence.source[slice(*link.source)].strip()
            assert candidate.text[slice(*link.target)].strip()


def candidate(source: str, text: str) -> Candidate:
    """One that has the same words in the same order, as far as there are as many."""
    pairs = zip(words(source), words(text), strict=False)
    pieces = [f"▁{word}" for word in text.split()]
    links = [Link(*pair, 1.0) for pair in pairs]
    return Candidate(text, pieces, -1.0, -1.0, [-1.0] * len(pieces), "end", links)


class Model:
    """Answers as it is told to, and remembers what it was asked."""

    def __init__(self, say: Callable[[str], Sequence[str]]) -> None:
        self.say, self.asked = say, list[str]()

    def search(self, texts: Sequence[str], request: Request, _: Sequence[int]) -> list[Sentence]:
        self.asked += texts
        return [
            Sentence(text, [candidate(text, each) for each in self.say(text)]) for text in texts
        ]


def request(
    wishes: Wishes = Wishes(),  # noqa: B008 (frozen)
    n_best: int = 1,
    *,
    alignment: bool = False,
) -> Request:
    made = object.__new__(Request)
    made.wishes, made.alignment = wishes, alignment
    made.decode = DecodeConfig(n_best=n_best)
    return made

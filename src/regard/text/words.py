"""Words: where they stand, which became which in a translation, and how tokens can spell them."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from regard.text import Span
from regard.text.tokenizer import SPACE_MARK, TokenizerBase

_WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*+)++|[^\\w\\s]|_")
_MIN_ATTENTION = 0.1  # minimum attention of a link
_MAX_SPELLINGS, _MAX_TOKENS = 2000, 100_000
"""maximum spellings of a word and tokens of all of them; spellings that begin with the longest tokens come first"""


@dataclass(frozen=True, slots=True)
class Link:
    """A word of the target, the word of the source that it attended to most, and how much."""

    source: Span
    target: Span
    weight: float


def words(text: str) -> list[Span]:
    """The span of each word and of each punctuation mark."""
    return [match.span() for match in _WORD.finditer(text)]


def align(
    attention: Sequence[Sequence[float]],
    source: str,
    source_spans: Sequence[Span],
    target: str,
    target_spans: Sequence[Span],
) -> list[Link]:
    """A link for each word of the target, by cross-attention [target tokens, source tokens], ends left out or not.

    Attention is summed over the tokens of the words on both sides. Pairs are linked one by one, first the pair with the
    largest share of the attention of both its words, and no word is linked twice: an article would otherwise be linked to
    its noun, which everyone attends to. A target word left over is linked to the word that it attended to most.
    """
    source_words, target_words = words(source), words(target)
    if not source_words or not target_words or not len(attention):
        return []
    weights = np.asarray(attention, dtype=np.float64)[: len(target_spans), : len(source_spans)]
    shares = _shares(target_words, target_spans)
    found = shares @ weights @ _shares(source_words, source_spans).T
    found = found / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    linked: dict[int, int] = {}
    taken: set[int] = set()
    shared = found**2 / np.maximum(found.sum(axis=0) * found.sum(axis=1, keepdims=True), 1e-9)
    for index in np.argsort(-shared, axis=None).tolist():
        row, place = divmod(index, found.shape[1])
        if found[row, place] >= _MIN_ATTENTION and row not in linked and place not in taken:
            linked[row] = place
            taken.add(place)
    places = [linked.get(row, most) for row, most in enumerate(found.argmax(axis=1).tolist())]
    return [
        Link(source_words[place], target_words[row], round(float(found[row, place]), 4))
        for row, place in enumerate(places)
    ]


def _shares(words: Sequence[Span], tokens: Sequence[Span]) -> np.ndarray:
    """[words, tokens]: which share of a token's letters are the word's."""
    starts, ends = np.array(words).T
    begins, stops = np.array(tokens).reshape(-1, 2).T
    common = np.minimum(ends[:, None], stops) - np.maximum(starts[:, None], begins)
    return np.asarray(np.maximum(common, 0) / np.maximum(stops - begins, 1))


class Spellings:
    """Every way a word can be written in tokens: what a ban on the word must cover.

    A tokenizer segments a word in one way, but a model trained with sampled segmentations writes it in others as well.
    """

    def __init__(self, tokenizer: TokenizerBase) -> None:
        self._tokenizer = tokenizer

    @functools.cached_property
    def _ids(self) -> dict[str, int]:
        tokens, special = (
            enumerate(self._tokenizer.token_strings(range(self._tokenizer.vocab_size))),
            self._tokenizer.special_ids,
        )
        return {token: id for id, token in tokens if token and id not in special}

    @functools.cached_property
    def inside(self) -> frozenset[int]:
        """Tokens that continue a word, in scripts with capital letters: in others no space marks where a word ends."""
        return frozenset(id for text, id in self._ids.items() if text[0].isdigit() or text[0].swapcase() != text[0])

    def of(self, word: str) -> list[list[int]]:
        """The word in tokens, as one that begins after a space and as one that does not."""
        own = self._tokenizer.encode(word)
        found = [own]
        steps = self._steps(SPACE_MARK + word.replace(" ", SPACE_MARK))
        most = min(_MAX_SPELLINGS, max(1, _MAX_TOKENS // len(steps)))
        for start in (0, 1):
            found += [spelling for spelling in islice(_paths(steps, start), most) if spelling != own]
        return found

    def _steps(self, text: str) -> list[list[tuple[int, int]]]:
        """For each place of a text the tokens that begin there, longest first, with the place they lead to.

        Filled from the end, so that only tokens from which the end can be reached are among them.
        """
        longest = max(map(len, self._ids))
        steps: list[list[tuple[int, int]]] = [[] for _ in text]
        for start in range(len(text) - 1, -1, -1):
            for stop in range(min(start + longest, len(text)), start, -1):
                if stop == len(text) or steps[stop]:
                    id = self._ids.get(text[start:stop])
                    if id is not None:
                        steps[start].append((id, stop))
        return steps


def _paths(steps: list[list[tuple[int, int]]], start: int) -> Iterator[list[int]]:
    """Every way from a place to the end; without recursion, for a path may be as long as the text."""
    path: list[int] = []
    choices = [iter(steps[start])] if start < len(steps) else []
    while choices:
        id, stop = next(choices[-1], (None, 0))
        if id is None:
            choices.pop()
            del path[-1:]
        elif stop == len(steps):
            yield [*path, id]
        else:
            path.append(id)
            choices.append(iter(steps[stop]))

"""Every way a word can be written in pieces: what a ban on the word must cover.

A tokenizer cuts a word in one way, but a model trained with sampled cuts writes it in others as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice

from regard.text.tokenizer_base import SPACE_MARK, TokenizerBase

# A long word of a large vocabulary has thousands of spellings; those that begin with the longest pieces
# come first. A text that is far too long for a word gets fewer.
_MAX_SPELLINGS = 2000
_MAX_PIECES = 100_000


class Spellings:
    """The pieces of a vocabulary by their text."""

    def __init__(self, tokenizer: TokenizerBase) -> None:
        self._tokenizer = tokenizer

    @functools.cached_property
    def _ids(self) -> dict[str, int]:
        tokenizer = self._tokenizer
        ids = [id for id in range(tokenizer.vocab_size) if id not in tokenizer.special_ids]
        return dict(zip(tokenizer.token_strings(ids), ids, strict=True))

    @functools.cached_property
    def _longest(self) -> int:
        return max(map(len, self._ids))

    def of(self, word: str) -> list[list[int]]:
        """The word in pieces, as one that begins after a space and as one that does not."""
        own = self._tokenizer.encode(word)
        found = [own]
        steps = self._steps(SPACE_MARK + word.replace(" ", SPACE_MARK))
        for start in (0, 1):
            spellings = (each for each in _paths(steps, start) if each != own)
            room = _MAX_PIECES
            for spelling in islice(spellings, _MAX_SPELLINGS):
                room -= len(spelling)
                if room < 0:
                    break
                found.append(spelling)
        return found

    def _steps(self, text: str) -> list[list[tuple[int, int]]]:
        """For each place of a text the pieces that begin there, longest first, with the place they lead to.

        Filled from the end, so that only pieces from which the end can be reached are among them.
        """
        steps: list[list[tuple[int, int]]] = [[] for _ in text]
        for start in range(len(text) - 1, -1, -1):
            for stop in range(min(start + self._longest, len(text)), start, -1):
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

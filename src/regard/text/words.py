"""Every way a word can be written in pieces: what a ban on the word must cover.

A tokenizer cuts a word in one way, but a model trained with sampled cuts writes it in others as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from regard.text.tokenizer import NUM_SPECIAL, Tokenizer

_SPACE_MARK = "\u2581"

# A long word of a large vocabulary has thousands of spellings; those of the fewest pieces come first.
_MAX_SPELLINGS = 2000


class Spellings:
    """The pieces of a vocabulary by their text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        ids = range(NUM_SPECIAL, tokenizer.vocab_size)
        self._tokenizer = tokenizer
        self._ids = {piece: id for id, piece in zip(ids, tokenizer.pieces(ids), strict=True)}
        self._longest = max(map(len, self._ids))

    def of(self, word: str) -> list[list[int]]:
        """The word in pieces, as one that begins after a space and as one that does not."""
        marked = word.replace(" ", _SPACE_MARK)
        found = [self._tokenizer.encode(word)]
        for text in (_SPACE_MARK + marked, marked):
            spellings = (each for each in self._cuts(text) if each not in found)
            found += islice(spellings, _MAX_SPELLINGS)
        return found

    def _cuts(self, text: str) -> Iterator[list[int]]:
        if not text:
            yield []
            return
        for length in range(min(self._longest, len(text)), 0, -1):
            id = self._ids.get(text[:length])
            if id is not None:
                for rest in self._cuts(text[length:]):
                    yield [id, *rest]

"""The interface of a tokenizer, ours or another program's: text to token ids, and back."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from regard.text import Span

SPACE_MARK = "\u2581"
"""a space in a token"""
SURROGATE = re.compile("[\ud800-\udfff]")


class TokenizerBase(ABC):
    """A vocabulary and a segmentation."""

    vocab_size: int
    special_ids: frozenset[int]
    """ids without text: beginning, end, padding, unknown"""
    beginning: Sequence[int] = ()
    """ids before every text that the model reads or writes"""

    @abstractmethod
    def id_of(self, token: str) -> int | None:
        """The id of a token as its vocabulary spells it, or None if it lacks it."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without beginning and end."""

    @abstractmethod
    def encode_around(self, parts: Sequence[str], sign: int) -> list[int]:
        """The ids of a text with a sign, such as that of a blank, between its parts."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; special ids have none."""

    @abstractmethod
    def token_strings(self, ids: Iterable[int]) -> list[str]:
        """Each id for showing, U+2581 for a space."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """Where each token stands in the decoded text; a character of several tokens belongs to the last."""
        ends = [len(self.decode(ids[: count + 1])) for count in range(len(ids))]
        # Incomplete bytes of a character decode to replacement characters until its last byte has come.
        for place in range(len(ends) - 2, -1, -1):
            ends[place] = min(ends[place], ends[place + 1])
        return list(zip([0, *ends], ends, strict=False))

    def spans_in(self, text: str) -> list[Span]:
        """Where each token of `encode(text)` stands in the text."""
        return self.spans(self.encode(text))

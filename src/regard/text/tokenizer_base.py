"""The interface of a tokenizer, ours or another program's: text to token ids, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from regard.text import Span


class TokenizerBase(Protocol):
    """A vocabulary and a segmentation."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids without text: beginning, end, padding, unknown."""

    @property
    def beginning(self) -> Sequence[int]:
        """Ids before every text that the model reads or writes."""

    def id_of(self, token: str) -> int | None:
        """The id of a token as its vocabulary spells it."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without beginning and end."""

    def encode_around(self, parts: Sequence[str], sign: int) -> list[int]:
        """The ids of a text with a sign, such as that of a blank, between its parts."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; special ids have none."""

    def token_strings(self, ids: Iterable[int]) -> list[str]:
        """Each id for showing, U+2581 for a space."""

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """Where each token stands in the decoded text."""

    def spans_in(self, text: str) -> list[Span]:
        """Where each token of `encode(text)` stands in the text."""


def spans_of(ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[Span]:
    """Where each token stands in the decoded text; a character of several tokens belongs to the last."""
    ends = [len(decode(ids[: count + 1])) for count in range(len(ids))]
    # Incomplete bytes of a character decode to replacement characters until its last byte has come.
    for place in range(len(ends) - 2, -1, -1):
        ends[place] = min(ends[place], ends[place + 1])
    return list(zip([0, *ends], ends, strict=False))

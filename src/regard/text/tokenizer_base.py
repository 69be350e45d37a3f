"""What any tokenizer does, whoever trained it: text to the ids of its pieces, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

Span = tuple[int, int]


class TokenizerBase(Protocol):
    """A vocabulary, and the way a text is cut into its pieces."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def special_ids(self) -> frozenset[int]:
        """Those that stand for no text: beginning, end, padding, unknown."""

    @property
    def beginning(self) -> Sequence[int]:
        """What stands before every text that is read, or in every text that is written comes first."""

    def id_of(self, piece: str) -> int | None:
        """The id of a piece as its vocabulary spells it."""

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
        """Where each piece stands in the decoded text."""

    def spans_in(self, text: str) -> list[Span]:
        """Where each piece of `encode(text)` stands in the text."""


def spans_of(ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[Span]:
    """Where each piece stands in the decoded text; a character of several pieces belongs to the last."""
    ends = [len(decode(ids[: count + 1])) for count in range(len(ids))]
    # The first bytes of a character are shown as signs of their own, until the last has come.
    for place in range(len(ends) - 2, -1, -1):
        ends[place] = min(ends[place], ends[place + 1])
    return list(zip([0, *ends], ends, strict=False))

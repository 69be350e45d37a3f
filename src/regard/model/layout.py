"""How the sentences of a batch lie in a [batch, length] tensor, and which words may see which.

Figure 1 shows one sentence; a batch holds many, of unequal length. They lie either one a row, padded at
the end, or packed: all in a single row, one behind the other, with nothing between. A mask (section 3.2.3)
follows from the two layouts, of the queries and of the keys, and from whether the future is hidden.

Differs from the paper: nowhere; the paper leaves batching to the implementation.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Queries = Float[Tensor, "batch heads query_len head_dim"]
Keys = Float[Tensor, "batch key_heads key_len head_dim"]
"""keys, and values too"""
Tokens = Int[Tensor, "batch length"]
Words = Float[Tensor, "batch length d_model"]
"""a vector for each token"""


@dataclass(frozen=True)
class Layout:
    """Where each sentence of a batch begins and ends."""

    lengths: Int[Tensor, " sequences"]
    length: int
    """Length of a row."""
    longest: int
    """Upper bound of the lengths, known without asking the device."""
    boundaries: Int[Tensor, " fences"] | None = None
    """Packed only: where each sentence starts in the row, then the row's length."""

    @classmethod
    def padded(cls, lengths: Int[Tensor, " sequences"], length: int) -> Layout:
        """One sentence a row, padded at the end."""
        return cls(lengths=lengths, length=length, longest=length)

    @classmethod
    def packed(cls, lengths: Int[Tensor, " sequences"], length: int, longest: int) -> Layout:
        """All sentences in one row; together they fill it. Sentences of length 0 may stand last."""
        boundaries = torch.zeros(len(lengths) + 1, dtype=torch.int32, device=lengths.device)
        boundaries[1:] = lengths.cumsum(0)
        return cls(lengths=lengths, length=length, longest=longest, boundaries=boundaries)

    @property
    def is_packed(self) -> bool:
        return self.boundaries is not None

    def sequence_of(self) -> Int[Tensor, "batch length"]:
        """The index of the sentence that each place of the tensor belongs to."""
        places = torch.arange(self.length, device=self.lengths.device)
        if self.boundaries is None:
            rows = torch.arange(len(self.lengths), device=self.lengths.device)
            return rows[:, None].expand(-1, self.length)
        # The number of sentences that ended before it. Not searchsorted: training with it, compiled for a
        # GPU by torch 2.11, went wrong; see docs/log.md.
        return (places[:, None] >= self.boundaries[1:]).sum(dim=1)[None]

    def positions(self) -> Int[Tensor, "batch length"]:
        """The position of each word in its own sentence, from 0."""
        places = torch.arange(self.length, device=self.lengths.device)[None]
        if self.boundaries is None:
            return places.expand(len(self.lengths), -1)
        return places - self.boundaries[self.sequence_of()]


@dataclass(frozen=True)
class Visibility:
    """Which keys each query may attend to."""

    query: Layout
    key: Layout
    causal: bool = False
    """Hide the future: a word sees itself and the words before it."""
    bias: Float[Tensor, "batch heads query_len key_len"] | None = None
    """Added to the score of each pair, by its distance."""
    window: int | None = None
    """Hide also what lies farther back: a word sees so many words, itself included."""
    earlier: int = 0
    """Number of keys that stand before the first query's own."""

    @property
    def is_plainly_causal(self) -> bool:
        """Whether a padded row's words see exactly themselves and all words before."""
        is_whole = self.window is None or self.window >= self.key.length
        return self.causal and is_whole and not (self.query.is_packed or self.earlier) and self.bias is None

    def may_attend(self) -> Bool[Tensor, "batch 1 query_len key_len"]:
        """True where the query (row) may see the key (column)."""
        if self.query.is_packed:
            visible = self.query.sequence_of()[:, :, None] == self.key.sequence_of()[:, None, :]
        else:
            visible = (self.key.positions() < self.key.lengths[:, None])[:, None, :]
            visible = visible.expand(-1, self.query.length, -1)
        if self.causal:
            back = self.query.positions()[:, :, None] + self.earlier - self.key.positions()[:, None, :]
            visible = visible & (back >= 0)
            if self.window is not None:
                visible = visible & (back < self.window)
                if not self.query.is_packed:
                    # A word of the padding sees itself, or it would see nothing, and its vector would be no number.
                    visible = visible | (back == 0)
        return visible[:, None]

    def mask(self) -> Bool[Tensor, "batch 1 query_len key_len"] | Float[Tensor, "batch heads query_len key_len"]:
        """The mask of a fused kernel: `may_attend`, or numbers to add to the scores."""
        if self.bias is None:
            return self.may_attend()
        return self.bias.masked_fill(~self.may_attend(), float("-inf"))

    def key_ranges(self) -> tuple[Int[Tensor, " query_len"], Int[Tensor, " query_len"]]:
        """Packed: for each query the first key it may see, and the end of its keys."""
        assert self.key.boundaries is not None
        sequence = self.query.sequence_of()[0]
        first = self.key.boundaries[sequence]
        if self.causal:
            last = torch.arange(1, self.query.length + 1, device=first.device).to(first)
            return first if self.window is None else torch.maximum(first, last - self.window), last
        return first, self.key.boundaries[sequence + 1]

    def query_ranges(self) -> tuple[Int[Tensor, " key_len"], Int[Tensor, " key_len"]]:
        """Packed: for each key the first query that may see it, and the end of those queries."""
        assert self.query.boundaries is not None
        sequence = self.key.sequence_of()[0]
        last = self.query.boundaries[sequence + 1]
        if self.causal:
            own = torch.arange(self.key.length, device=last.device).to(last)
            return own, last if self.window is None else torch.minimum(last, own + self.window)
        return self.query.boundaries[sequence], last

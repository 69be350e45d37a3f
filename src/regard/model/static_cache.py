"""Key-value caches that never move in memory, so that a GPU can replay a recorded step on them.

`DecoderState` grows by a word a step, and reordering a beam copies it. Here the tensors have their full size
from the start, each row has its own position, and the newest key and value are written in place. No key is
copied: `owners` says for each row in whose row each of its earlier words was written. The sources of a whole
queue lie in one cache, and several rows may read the same source.

    past keys of row r at position p  =  key[owners[r, p], :, p]

Differs from the paper: nowhere; only where the numbers are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.model.attention import KeyValue, KeyValueCache, written_out
from regard.model.layout import Layout, Visibility
from regard.trace import Trace

if torch.version.cuda is not None:
    from regard.model.kernels.step import fits, step_attention


@dataclass(frozen=True)
class TargetCache:
    """The keys and values of the words written so far, in one layer."""

    key: Float[Tensor, "rows key_heads max_len head_dim"]
    value: Float[Tensor, "rows key_heads max_len head_dim"]
    positions: Int[Tensor, " rows"]
    """Number of words each row has read: where the next key goes."""
    owners: Int[Tensor, "rows max_len"] | None
    """The row in which each earlier word was written; None where every row continues itself."""
    window: int | None = None
    """Words that a word sees, itself included; all where it is None."""
    new: KeyValue | None = None

    def append(self, new: KeyValue) -> TargetCache:
        return replace(self, new=new)

    def attend(
        self, query: Float[Tensor, "rows heads 1 head_dim"], visibility: Visibility | None, trace: Trace | None
    ) -> Float[Tensor, "rows heads 1 head_dim"]:
        """Store the newest key and value, then attend to them and to all earlier ones."""
        assert self.new is not None and trace is None
        bias = None if visibility is None else visibility.bias
        if query.is_cuda and fits(query) and bias is None:
            past = self.key, self.value, self.positions
            return step_attention(query, *past, owners=self.owners, new=self.new, window=self.window)
        num_rows, _, max_len, _ = self.key.shape
        rows = torch.arange(num_rows, device=query.device)
        self.key[rows, :, self.positions] = self.new.key[:, :, 0]
        self.value[rows, :, self.positions] = self.new.value[:, :, 0]
        key, value = self.key, self.value
        if self.owners is not None:
            places = torch.arange(max_len, device=query.device)
            newest = places == self.positions[:, None]
            owners = torch.where(newest, rows[:, None], self.owners)
            # Indices on both sides of the heads bring [rows, max_len] to the front.
            key, value = (tensor[owners, :, places].transpose(1, 2) for tensor in (self.key, self.value))
        one = Layout.padded(torch.ones_like(self.positions), 1)
        if self.window is not None:
            # Places before the window count as padding: their score is minus infinity.
            far = torch.arange(max_len, device=query.device) <= (self.positions - self.window)[:, None]
            hidden = torch.zeros(far.shape, device=query.device).masked_fill(far, float("-inf"))
            bias = hidden[:, None, None]
        seen = Visibility(one, Layout.padded(self.positions + 1, max_len), bias=bias)
        return written_out(query, key, value, seen)


@dataclass(frozen=True)
class SourceCache:
    """The keys and values of all sources of a queue, in one layer."""

    key: Float[Tensor, "sentences key_heads source_len head_dim"]
    value: Float[Tensor, "sentences key_heads source_len head_dim"]
    lengths: Int[Tensor, " sentences"]
    sentence: Int[Tensor, " slots"]
    """The sentence each slot reads; a slot is the neighbouring rows of one beam."""

    def append(self, new: KeyValue) -> SourceCache:
        raise AssertionError("a source cache does not grow")

    def attend(
        self, query: Float[Tensor, "rows heads 1 head_dim"], visibility: Visibility | None, trace: Trace | None
    ) -> Float[Tensor, "rows heads 1 head_dim"]:
        assert visibility is None and trace is None
        if query.is_cuda and fits(query):
            return step_attention(query, self.key, self.value, self.lengths, sentence=self.sentence)
        num_slots = len(self.sentence)
        # The rows of a slot are so many queries of one sentence.
        queries = query[:, :, 0].unflatten(0, (num_slots, -1)).transpose(1, 2)
        several = Layout.padded(torch.ones_like(self.sentence), queries.shape[2])
        lengths = self.lengths[self.sentence]
        seen = Visibility(several, Layout.padded(lengths, self.key.shape[2]))
        context = written_out(queries, self.key[self.sentence], self.value[self.sentence], seen)
        return context.transpose(1, 2).flatten(0, 1)[:, :, None]


@dataclass(frozen=True)
class StaticState:
    """A `DecoderState` over these caches; the owner of the tensors advances the positions."""

    positions: Int[Tensor, " rows"]
    past: tuple[TargetCache, ...]
    memory: tuple[SourceCache, ...] = ()

    @property
    def longest(self) -> int:
        return self.past[0].key.shape[2]

    def positions_of(self, tokens: Int[Tensor, " rows"]) -> Int[Tensor, " rows"]:
        return self.positions

    def cross_visibility(self, num_rows: int) -> Visibility | None:
        """None: a source cache masks by its own lengths."""
        return None

    def advanced(self, past: tuple[KeyValueCache, ...], window: int | None) -> StaticState:
        return self

"""The whole of Figure 1, and the two halves of it that became models of their own.

`EncoderDecoder` is the paper's model; `DecoderOnly` (GPT) continues a text; `EncoderOnly` (BERT) fills in
blanks. All are made of the same blocks. Vaswani et al. 2017, section 3.1. `build` makes these and the recurrent
models they replaced.

Differs from the paper: nowhere in the default.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.attention import KeyValueCache
from regard.model.decoder import Decoder, DecoderState
from regard.model.encoder import Encoder
from regard.model.layout import Layout, Tokens, Visibility, Words
from regard.model.network import Network, TeacherForcing
from regard.model.norm import mark_words
from regard.model.recurrent import RecurrentEncoderDecoder
from regard.model.static_cache import StaticState
from regard.trace import Trace, at, keep

AnyState = TypeVar("AnyState", DecoderState, StaticState)


class Transformer(Network):
    """What the three architectures share: reading a source, and reading one more target token."""

    encoder: Encoder
    decoder: Decoder

    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__(config, dropout, Encoder, Decoder)

    def encode(self, source: Tokens, layout: Layout, *, trace: Trace | None = None) -> Words:
        """The memory: one vector in context for each source word."""
        self._mark_words(source, self.source, self.encoder)
        if self.config.position == "scaled":
            self.source.position.lengths = layout.lengths[layout.sequence_of()]
        embedded = self.source(source, layout.positions(), layout.longest, trace=at(trace, "source"))
        memory = self.encoder(embedded, layout, trace=at(trace, "encoder"))
        return keep(trace, "memory", memory)

    def _decode(
        self,
        target: Int[Tensor, "batch target_len"],
        layout: Layout,
        memory: tuple[KeyValueCache, ...],
        cross_visibility: Visibility | None,
        trace: Trace | None,
    ) -> Float[Tensor, "batch target_len d_model"]:
        """The decoder's last hidden vectors, all positions at once under the look-ahead mask."""
        self._mark_words(target, self.target, self.decoder)
        positions = layout.positions()
        x = self.target(target, positions, layout.longest, trace=at(trace, "target"))
        visibility = Visibility(layout, layout, causal=True, window=self.config.window)
        hidden, _ = self.decoder(x, positions, visibility, memory, cross_visibility, trace=at(trace, "decoder"))
        return hidden

    def _mark_words(self, tokens: Tokens, *modules: nn.Module) -> None:
        """Only batch normalisation takes statistics over words, and only in training."""
        if self.config.norm == "batch" and self.training:
            for module in modules:
                mark_words(module, tokens != self.config.pad_id)

    def step(
        self, tokens: Int[Tensor, " batch"], state: AnyState, *, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "batch vocab"], AnyState]:
        """The scores of the next token after one more token, and the state that has read it."""
        hidden, state = self.read(tokens, state, trace=trace)
        return self.project(hidden, trace=trace), state

    def read(
        self, tokens: Int[Tensor, " batch"], state: AnyState, *, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "batch d_model"], AnyState]:
        """The decoder's last hidden vector after one more token, and the state that has read it."""
        positions = state.positions_of(tokens)[:, None]
        x = self.target(tokens[:, None], positions, state.longest, trace=at(trace, "target"))
        seen = self._step_visibility(positions, state.longest), state.memory, state.cross_visibility(len(tokens))
        hidden, past = self.decoder(x, positions, *seen, past=state.past, trace=at(trace, "decoder"))
        return hidden[:, 0], state.advanced(past, self.config.window)

    def _step_visibility(self, positions: Int[Tensor, "batch 1"], key_len: int) -> Visibility | None:
        """None: the newest word sees all words before it. Only a bias by distance needs their places."""
        if self.decoder.position_bias is None:
            return None
        lengths = positions[:, 0] + 1
        one = Layout.padded(torch.ones_like(lengths), 1)
        return Visibility(one, Layout.padded(lengths, key_len))


class EncoderDecoder(Transformer, TeacherForcing):
    """Source in, target out: the paper's model."""

    def decode(
        self,
        target: Int[Tensor, "batch target_len"],
        target_layout: Layout,
        memory: Float[Tensor, "batch source_len d_model"],
        source_layout: Layout,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch target_len d_model"]:
        """The decoder's last hidden vectors, all positions at once under the look-ahead mask."""
        projected = self.decoder.project_memory(memory)
        cross_visibility = Visibility(target_layout, source_layout)
        return self._decode(target, target_layout, projected, cross_visibility, trace)

    def start(
        self, source: Int[Tensor, "batch source_len"], lengths: Int[Tensor, " batch"], *, trace: Trace | None = None
    ) -> DecoderState:
        """Read the source once; the state before the first target word."""
        memory = self.encode(source, Layout.padded(lengths, source.shape[1]), trace=trace)
        return DecoderState(0, None, self.decoder.project_memory(memory), lengths)


class DecoderOnly(Transformer):
    """A text in, its continuation out."""

    def decode(self, target: Tokens, layout: Layout, *, trace: Trace | None = None) -> Words:
        """The last hidden vectors, all positions at once under the look-ahead mask."""
        return self._decode(target, layout, (), None, trace)

    def forward(
        self, target: Int[Tensor, "batch target_len"], layout: Layout, *, trace: Trace | None = None
    ) -> Float[Tensor, "batch target_len vocab"]:
        return self.project(self.decode(target, layout, trace=trace), trace=trace)

    def start(self) -> DecoderState:
        """The state before the first word."""
        return DecoderState(0, None)

    def read_on(self, tokens: Tokens, state: DecoderState) -> tuple[Words, DecoderState]:
        """The last hidden vectors after each of several more tokens, in one pass, and the state that has read them."""
        num_rows, length = tokens.shape
        positions = state.position + torch.arange(length, device=tokens.device).expand(num_rows, -1)
        earlier = 0 if state.past is None else state.past[0].key.shape[2]
        new, whole = (
            Layout.padded(torch.full((num_rows,), size, device=tokens.device), size)
            for size in (length, earlier + length)
        )
        seen = Visibility(new, whole, causal=True, window=self.config.window, earlier=earlier)
        x = self.target(tokens, positions, state.position + length)
        hidden, past = self.decoder(x, positions, seen, past=state.past)
        return hidden, state.advanced(past, self.config.window, length)


class EncoderOnly(Transformer):
    """A text in, the scores of every token at each of its places out."""

    def forward(
        self, source: Int[Tensor, "batch source_len"], layout: Layout, *, trace: Trace | None = None
    ) -> Float[Tensor, "batch source_len vocab"]:
        return self.project(self.encode(source, layout, trace=trace), trace=trace)


Translating = EncoderDecoder | RecurrentEncoderDecoder
"""Models that read a source and write a target."""
Model = Transformer | RecurrentEncoderDecoder


def build(config: ModelConfig, dropout: float = 0.0) -> Model:
    """The model a configuration describes, with random weights."""
    if config.is_recurrent:
        return RecurrentEncoderDecoder(config, dropout)
    kinds: dict[str, type[Transformer]] = {
        "encoder-decoder": EncoderDecoder,
        "decoder-only": DecoderOnly,
        "encoder-only": EncoderOnly,
    }
    return kinds[config.architecture](config, dropout)

"""The encoder-decoders that the Transformer replaced: plain RNN, GRU and LSTM, with attention and without.

The encoder reads the source word by word, once from each end (Schuster and Paliwal 1997; Bahdanau et al. 2015,
section 3.2); `decoder` writes, `attention` looks from one to the other, `cell` is one step of either.

    h_j = [forwards_j ; backwards_j]

forwards_j has read the words up to j, backwards_j those from j on: together they stand for word j in its sentence.
Embeddings, output and interface (`encode`, `decode`, `start`, `step`) are those of a Transformer.

Cho et al. 2014; Sutskever et al. 2014; Bahdanau et al. 2015; Luong et al. 2015.

Differs from the papers: the two directions share d_state between them, so that h_j is as wide as the decoder's state
and Luong's dot product can compare them. Layers may be stacked; each reads both directions of the one below. The
other files say where they differ.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.dropout import Dropout
from regard.model.layout import Layout
from regard.model.network import TeacherForcing
from regard.model.recurrent.cell import make_cell, run
from regard.model.recurrent.decoder import RecurrentDecoder, RecurrentState
from regard.trace import Trace, at, keep


class RecurrentEncoderLayer(nn.Module):
    """Two cells, one for each direction."""

    def __init__(self, config: ModelConfig, num_inputs: int) -> None:
        super().__init__()
        self.forwards = make_cell(config.architecture, num_inputs, config.d_state // 2)
        self.backwards = make_cell(config.architecture, num_inputs, config.d_state // 2)

    def forward(
        self, x: Float[Tensor, "batch source_len features"], layout: Layout, *, trace: Trace | None = None
    ) -> Float[Tensor, "batch source_len d_state"]:
        forwards, _ = run(self.forwards, x)
        backwards, _ = run(self.backwards, _reversed(x, layout))
        forwards = keep(trace, "forwards", forwards)
        backwards = keep(trace, "backwards", _reversed(backwards, layout))
        return torch.cat([forwards, backwards], dim=-1)


def _reversed(x: Float[Tensor, "batch length features"], layout: Layout) -> Float[Tensor, "batch length features"]:
    """Each sentence reversed, with its padding still at the end, so that a cell reads the words first."""
    places, lengths = layout.positions(), layout.lengths[:, None]
    source = torch.where(places < lengths, lengths - 1 - places, places)
    return x.gather(1, source[..., None].to(torch.int64).expand_as(x))


class RecurrentEncoder(nn.Module):
    """The stack of layers."""

    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        inputs = [config.d_model] + [config.d_state] * (config.num_encoder_layers - 1)
        self.layers = nn.ModuleList(RecurrentEncoderLayer(config, each) for each in inputs)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch source_len d_model"], layout: Layout, *, trace: Trace | None = None
    ) -> Float[Tensor, "batch source_len d_state"]:
        assert not layout.is_packed, "a recurrent model reads one sentence a row"
        for i, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if i else x, layout, trace=at(trace, f"layers.{i}"))
        return x


class RecurrentEncoderDecoder(TeacherForcing):
    """Source in, target out, word by word."""

    encoder: RecurrentEncoder
    decoder: RecurrentDecoder

    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__(config, dropout, RecurrentEncoder, RecurrentDecoder)

    def encode(
        self, source: Int[Tensor, "batch source_len"], layout: Layout, *, trace: Trace | None = None
    ) -> Float[Tensor, "batch source_len d_state"]:
        """The memory: the states of both directions at each source word."""
        x = self.source(source, layout.positions(), trace=at(trace, "source"))
        return keep(trace, "memory", self.encoder(x, layout, trace=at(trace, "encoder")))

    def decode(
        self,
        target: Int[Tensor, "batch target_len"],
        target_layout: Layout,
        memory: Float[Tensor, "batch source_len d_state"],
        source_layout: Layout,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch target_len d_model"]:
        """The readout after every word of the target."""
        state = self.decoder.begin(memory, source_layout, trace=at(trace, "decoder"))
        words = self.target(target, target_layout.positions(), trace=at(trace, "target"))
        hidden: Tensor = self.decoder(words, state, trace=at(trace, "decoder"))[0]
        return hidden

    def start(
        self, source: Int[Tensor, "batch source_len"], lengths: Int[Tensor, " batch"], *, trace: Trace | None = None
    ) -> RecurrentState:
        """Read the source once; the state before the first target word."""
        layout = Layout.padded(lengths, source.shape[1])
        memory = self.encode(source, layout, trace=trace)
        return self.decoder.begin(memory, layout, trace=at(trace, "decoder"))

    def step(
        self, tokens: Int[Tensor, " batch"], state: RecurrentState, *, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "batch vocab"], RecurrentState]:
        """The scores of the next token after one more token, and the state that has read it."""
        positions = tokens.new_full((len(tokens), 1), state.position)
        word = self.target(tokens[:, None], positions, trace=at(trace, "target"))
        hidden, state = self.decoder(word, state, trace=at(trace, "decoder"))
        return self.project(hidden[:, 0], trace=trace), state

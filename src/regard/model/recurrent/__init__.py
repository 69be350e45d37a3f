"""The encoder-decoders that the Transformer replaced: plain RNN, GRU and LSTM, with attention and without.

`encoder` reads, `decoder` writes, `attention` looks from one to the other, `cell` is one step of either. Embeddings,
output and interface (`encode`, `decode`, `start`, `step`) are those of a Transformer.

Cho et al. 2014; Sutskever et al. 2014; Bahdanau et al. 2015; Luong et al. 2015. Each file says where it differs from
its papers.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from regard.config import ModelConfig
from regard.model.layout import Layout
from regard.model.network import Network
from regard.model.recurrent.decoder import RecurrentDecoder, RecurrentState
from regard.model.recurrent.encoder import RecurrentEncoder
from regard.trace import Trace, at, keep


class RecurrentEncoderDecoder(Network):
    """Source in, target out, word by word."""

    encoder: RecurrentEncoder
    decoder: RecurrentDecoder

    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__(config, dropout, RecurrentEncoder, RecurrentDecoder)

    def encode(
        self,
        source: Int[Tensor, "batch source_len"],
        layout: Layout,
        *,
        trace: Trace | None = None,
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

    def forward(
        self,
        source: Int[Tensor, "batch source_len"],
        source_layout: Layout,
        target: Int[Tensor, "batch target_len"],
        target_layout: Layout,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch target_len vocab"]:
        """Teacher forcing: the scores of every next token, given the correct ones before it."""
        memory = self.encode(source, source_layout, trace=trace)
        hidden = self.decode(target, target_layout, memory, source_layout, trace=trace)
        return self.project(hidden, trace=trace)

    def start(
        self,
        source: Int[Tensor, "batch source_len"],
        lengths: Int[Tensor, " batch"],
        *,
        trace: Trace | None = None,
    ) -> RecurrentState:
        """Read the source once; the state before the first target word."""
        layout = Layout.padded(lengths, source.shape[1])
        memory = self.encode(source, layout, trace=trace)
        return self.decoder.begin(memory, layout, trace=at(trace, "decoder"))

    def step(
        self,
        tokens: Int[Tensor, " batch"],
        state: RecurrentState,
        *,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "batch vocab"], RecurrentState]:
        """The scores of the next token after one more token, and the state that has read it."""
        positions = tokens.new_full((len(tokens), 1), state.position)
        word = self.target(tokens[:, None], positions, trace=at(trace, "target"))
        hidden, state = self.decoder(word, state, trace=at(trace, "decoder"))
        return self.project(hidden[:, 0], trace=trace), state

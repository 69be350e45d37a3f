"""A recurrent encoder: it reads the source word by word, once from each end.

    h_j = [forwards_j ; backwards_j]

forwards_j has read the words up to j, backwards_j those from j on: together they stand for word j in its sentence.
Schuster and Paliwal 1997; Bahdanau et al. 2015, section 3.2.

Differs from the paper: the two directions share d_state between them, so that h_j is as wide as the decoder's state
and Luong's dot product can compare them. Layers may be stacked; each reads both directions of the one below.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.dropout import Dropout
from regard.model.layout import Layout
from regard.model.recurrent.cell import make_cell, run
from regard.trace import Trace, at, keep


class RecurrentEncoderLayer(nn.Module):
    """Two cells, one for each direction."""

    def __init__(self, config: ModelConfig, num_inputs: int) -> None:
        super().__init__()
        self.forwards = make_cell(config.architecture, num_inputs, config.d_state // 2)
        self.backwards = make_cell(config.architecture, num_inputs, config.d_state // 2)

    def forward(
        self,
        x: Float[Tensor, "batch source_len features"],
        layout: Layout,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch source_len d_state"]:
        forwards, _ = run(self.forwards, x)
        backwards, _ = run(self.backwards, _reversed(x, layout))
        forwards = keep(trace, "forwards", forwards)
        backwards = keep(trace, "backwards", _reversed(backwards, layout))
        return torch.cat([forwards, backwards], dim=-1)


def _reversed(
    x: Float[Tensor, "batch length features"], layout: Layout
) -> Float[Tensor, "batch length features"]:
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
        self,
        x: Float[Tensor, "batch source_len d_model"],
        layout: Layout,
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch source_len d_state"]:
        assert not layout.is_packed, "a recurrent model reads one sentence a row"
        for i, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if i else x, layout, trace=at(trace, f"layers.{i}"))
        return x


def summary_of(
    memory: Float[Tensor, "batch source_len d_state"], layout: Layout, *, both: bool
) -> Float[Tensor, "batch summary"]:
    """The last state of both directions, or of the backward one only."""
    forwards, backwards = memory.chunk(2, dim=-1)
    first = backwards[:, 0]
    if not both:
        return first
    rows = torch.arange(len(memory), device=memory.device)
    return torch.cat([forwards[rows, layout.lengths.to(torch.int64) - 1], first], dim=-1)

"""Attention of a recurrent decoder: which source words matter for the next target word.

    e_ij = a(s_{i-1}, h_j),   alpha_ij = softmax over j of e_ij,   c_i = sum over j of alpha_ij h_j

    additive   a(s, h) = v . tanh(W s + U h)      Bahdanau et al. 2015, section 3.1 and appendix A.1.2
    dot        a(s, h) = s . h                    Luong et al. 2015, section 3.1
    general    a(s, h) = s . (W h)

h_j is the encoder's state at source word j, s the decoder's: the one before the word in additive attention,
the newest in Luong's. The matrix alpha is an alignment of the two sentences. A source word that is padding
gets the energy minus infinity, so that its weight is exactly zero.

Differs from the papers: nowhere in these formulas.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.trace import Trace, keep


class AdditiveEnergies(torch.autograd.Function):
    """v . tanh(query + key) for every pair of them.

    There are target words times source words of them: the backward pass computes them again instead of storing them.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Float[Tensor, "batch query_len width"],
        key: Float[Tensor, "batch source_len width"],
        vector: Float[Tensor, " width"],
    ) -> Float[Tensor, "batch query_len source_len"]:
        ctx.save_for_backward(query, key, vector)
        return (query[:, :, None] + key[:, None]).tanh_() @ vector

    @staticmethod
    def backward(ctx: Any, toward: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, vector = ctx.saved_tensors
        hidden = (query[:, :, None] + key[:, None]).tanh_()
        of_vector = torch.einsum("bqs,bqsw->w", toward, hidden)
        inside = toward[..., None] * vector * (1 - hidden * hidden)
        return inside.sum(dim=2), inside.sum(dim=1), of_vector


class Alignment(nn.Module):
    """One of the three scores, and the weighted sum that all share."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind, width = config.attention, config.d_state
        self.query = nn.Linear(width, width, bias=False) if self.kind == "additive" else None
        self.key = nn.Linear(width, width, bias=False) if self.kind != "dot" else None
        if self.kind == "additive":
            self.energy = nn.Parameter(torch.empty(width))
            nn.init.normal_(self.energy, std=width**-0.5)

    def keys(
        self, memory: Float[Tensor, "batch source_len width"], *, trace: Trace | None = None
    ) -> Float[Tensor, "batch source_len width"]:
        """The vectors that states are compared with, computed once a sentence."""
        return _keep(trace, "key", memory if self.key is None else self.key(memory))

    def forward(
        self,
        state: Float[Tensor, "batch query_len width"],
        keys: Float[Tensor, "batch source_len width"],
        memory: Float[Tensor, "batch source_len width"],
        may_attend: Bool[Tensor, "batch 1 source_len"],
        *,
        trace: Trace | None = None,
    ) -> Float[Tensor, "batch query_len width"]:
        """The context of each state."""
        query = _keep(trace, "query", state if self.query is None else self.query(state))
        if self.kind == "additive":
            keys, vector = keys.to(query.dtype), self.energy.to(query.dtype)
            if torch.compiler.is_compiling():  # into one kernel that stores no sum either
                energies = ((query[:, :, None] + keys[:, None]).tanh() * vector).sum(dim=-1)
            else:
                energies = AdditiveEnergies.apply(query, keys, vector)
        else:
            energies = query @ keys.transpose(1, 2)
        energies = _keep(trace, "energies", energies)
        masked = _keep(trace, "masked", energies.masked_fill(~may_attend, float("-inf")))
        weights = _keep(trace, "weights", masked.softmax(dim=-1))
        return _keep(trace, "context", weights.to(memory.dtype) @ memory)


def _keep(trace: Trace | None, name: str, value: Tensor) -> Tensor:
    """Recorded as a single head, [batch, 1, ...], since traces have heads first."""
    return value if trace is None else keep(trace, name, value[:, None])[:, 0]

"""Input embedding: the pink boxes of Figure 1, with the sum above them.

    input = dropout(embedding(token) * sqrt(d_model) + position)

Vaswani et al. 2017, sections 3.4 and 5.4: one learned row for each token of the vocabulary, the same at every
position; the two embeddings and the output's linear map share their table.

Differs from the paper: nowhere in the default. `embedding_norm` normalises the sum as well;
without `scaled_embedding` the factor is 1.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.dropout import Dropout
from regard.model.layout import Tokens, Words
from regard.model.norm import make_norm
from regard.model.position import scheme_of
from regard.trace import Trace, keep


class InputEmbedding(nn.Module):
    """Tokens in, vectors out: what the first layer of a stack reads."""

    def __init__(self, config: ModelConfig, vocab_size: int, dropout: float) -> None:
        super().__init__()
        self.scale = config.d_model**0.5 if config.scaled_embedding else 1.0
        self.embedding = nn.Embedding(vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        added = scheme_of(config).added
        self.position: Any = None if added is None else added(config)
        self.norm = make_norm(config) if config.embedding_norm else None
        self.dropout = Dropout(dropout)

    def forward(
        self, tokens: Tokens, positions: Tokens, longest: int | None = None, *, trace: Trace | None = None
    ) -> Words:
        tokens = keep(trace, "tokens", tokens)
        x = keep(trace, "embedding", self.embedding(tokens) * self.scale)
        if self.position is not None:
            x = x + keep(trace, "position", self.position(positions, longest).to(x.dtype))
        if self.norm is not None:
            x = keep(trace, "norm", self.norm(x))
        return keep(trace, "input", self.dropout(narrowed(x)))


def narrowed(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Under autocast the type of the matrix products, so that the residual path is as narrow as they are."""
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x

"""Relative positions: a learned number for how far a key stands from a query, added to their score.

    masked = query . key / sqrt(d_k) + bias[bucket(key position - query position)]

Raffel et al. 2020, section 2.1 (T5): a number for each head and each of a few distances, the same in every layer
of a stack. Near distances have a bucket each, farther ones share buckets that widen like the logarithm, and beyond
`max_distance` all are one. An encoder tells the two directions apart; a decoder only ever looks back. Nothing is
added to the embedding then.

Differs from T5: its scores are not divided by sqrt(d_k). The import multiplies the query's weights by it, so that
equation 1 stays as it is drawn.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig


class RelativePositionBias(nn.Module):
    """What is added to each score of a stack's self-attention."""

    def __init__(self, config: ModelConfig, *, looks_ahead: bool) -> None:
        super().__init__()
        self.looks_ahead = looks_ahead
        self.num_buckets, self.max_distance = config.num_buckets, config.max_distance
        self.weight = nn.Parameter(torch.empty(config.num_buckets, config.num_heads))
        nn.init.normal_(self.weight, std=config.d_model**-0.5)

    def forward(
        self, query: Int[Tensor, "batch query_len"], key: Int[Tensor, "batch key_len"]
    ) -> Float[Tensor, "batch heads query_len key_len"]:
        """The bias for these positions of queries and keys."""
        buckets = self._buckets(key[:, None, :] - query[:, :, None])
        return nn.functional.embedding(buckets, self.weight).permute(0, 3, 1, 2)

    def _buckets(
        self, distance: Int[Tensor, "batch query_len key_len"]
    ) -> Int[Tensor, "batch query_len key_len"]:
        num_buckets, first = self.num_buckets, torch.zeros_like(distance)
        if self.looks_ahead:
            num_buckets //= 2
            first = (distance > 0) * num_buckets
            distance = distance.abs()
        else:
            distance = -distance.clamp(max=0)
        num_near = num_buckets // 2
        far = torch.log(distance.clamp(min=1).float() / num_near)
        far = far / math.log(self.max_distance / num_near) * (num_buckets - num_near)
        far = (num_near + far.long()).clamp(max=num_buckets - 1)
        return first + torch.where(distance < num_near, distance, far)

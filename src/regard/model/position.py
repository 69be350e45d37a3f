"""Positional encoding: the circles at the foot of Figure 1.

    PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))

Vaswani et al. 2017, section 3.5: added to the embedding, so that equal words at different places differ.
Beside it stand a learned table (section 3.5, last paragraph), rotary positions, which turn query and key
instead of being added (Su et al. 2021), relative ones, which are added to the scores (see `relative`), and two ideas that a good encoding improves on: the position as a
plain integer, unbounded, and the position scaled into [0, 1], whose steps change with the sentence.

Differs from the paper: nowhere in the default. While a sentence is being written its length is not known,
so on the decoder's side the scaled kind takes `max_positions` for it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig

BASE = 10000.0


class Rotation(NamedTuple):
    """The angles by which rotary positions turn each pair of features."""

    cos: Float[Tensor, "batch 1 length half"]
    sin: Float[Tensor, "batch 1 length half"]


def angles(
    positions: Int[Tensor, "batch length"], num_features: int
) -> Float[Tensor, "batch length half"]:
    """pos / 10000^(2i / num_features) for each pair of features i."""
    pairs = torch.arange(0, num_features, 2, device=positions.device, dtype=torch.float32)
    return positions[..., None].float() * BASE ** (-pairs / num_features)


def sinusoidal(
    positions: Int[Tensor, "batch length"], d_model: int
) -> Float[Tensor, "batch length d_model"]:
    """Sine on even features, cosine on odd ones."""
    angle = angles(positions, d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def rotation(positions: Int[Tensor, "batch length"], head_dim: int) -> Rotation:
    angle = angles(positions, head_dim)[:, None]
    return Rotation(angle.cos(), angle.sin())


def rotate(
    x: Float[Tensor, "batch heads length head_dim"], by: Rotation
) -> Float[Tensor, "batch heads length head_dim"]:
    """Turn each pair of neighbouring features by the angle of its position."""
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * by.cos - odd * by.sin, even * by.sin + odd * by.cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)


class PositionalEncoding(nn.Module):
    """The vector to add for each position, of the kind the configuration names."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.position
        self.d_model = config.d_model
        self.max_positions = config.max_positions
        self.table: Tensor | None = None
        if self.kind == "learned":
            self.weight = nn.Parameter(torch.empty(config.max_positions, config.d_model))
            nn.init.normal_(self.weight, std=config.d_model**-0.5)

    @property
    def is_added(self) -> bool:
        return self.kind not in ("rotary", "relative", "none")

    def tabulate(self, num_positions: int, device: torch.device) -> None:
        """Compute so many sinusoidal positions now, to be looked up from then on."""
        self.table = sinusoidal(torch.arange(num_positions, device=device)[None], self.d_model)[0]

    def forward(
        self,
        positions: Int[Tensor, "batch length"],
        lengths: Int[Tensor, "batch length"] | None = None,
        longest: int | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """The vectors of these positions.

        lengths: of the sentence each position belongs to, where it is known.
        longest: a bound of the positions, where one is known.
        """
        if self.kind == "sinusoidal":
            if self.table is None or longest is None or longest > len(self.table):
                return sinusoidal(positions, self.d_model)
            return nn.functional.embedding(positions, self.table)
        if self.kind == "learned":
            return nn.functional.embedding(positions.clamp(max=self.max_positions - 1), self.weight)
        number = positions.float()
        if self.kind == "scaled":
            whole = torch.full_like(positions, self.max_positions) if lengths is None else lengths
            number = number / (whole - 1).clamp(min=1)
        return number[..., None].expand(-1, -1, self.d_model)

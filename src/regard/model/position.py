"""Positional encoding: the circles at the foot of Figure 1.

    PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))

Vaswani et al. 2017, section 3.5: added to the embedding, so that equal words at different places differ.
Beside it stand:

    learned     a table (section 3.5, last paragraph)
    rotary      query and key are turned instead of adding anything (Su et al. 2021)
    relative    a learned number for each distance is added to the scores (Raffel et al. 2020)
    alibi       a number that grows with the distance is taken from them (Press et al. 2022, in `alibi`)
    integer     the position as a number, unbounded: a rejected idea
    scaled      the position divided by the sentence's length: a rejected idea, its steps vary

Differs from the paper: nowhere in the default. While a sentence is being written its length is not known,
so on the decoder's side the scaled kind divides by `max_positions`. Rotary positions may have another base than 10000, and
smaller angles for texts longer than those of its first training: all of them (Chen et al. 2023), or only those of
pairs that turn seldom in such a text (Llama 3). T5 does not divide the scores by
sqrt(d_k); its import multiplies the query's weights by it, so that equation 1 stays as it is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.config.fields import registered
from regard.config.model import BASE, HIGH_TURNS, LOW_TURNS
from regard.model.alibi import LinearBias
from regard.model.layout import Tokens as Positions
from regard.model.layout import Words

if torch.version.cuda is not None:
    from regard.model.kernels.step import turned


class Rotation(NamedTuple):
    """The angles by which rotary positions turn each pair of features."""

    cos: Float[Tensor, "batch 1 length half"]
    sin: Float[Tensor, "batch 1 length half"]


def angles(positions: Positions, num_features: int) -> Float[Tensor, "batch length half"]:
    """pos / 10000^(2i / num_features) for each pair of features i."""
    pairs = torch.arange(0, num_features, 2, device=positions.device, dtype=torch.float32)
    return positions[..., None].float() * BASE ** (-pairs / num_features)


def sinusoidal(positions: Positions, d_model: int) -> Words:
    """Sine on even features, cosine on odd ones."""
    angle = angles(positions, d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def rotary_frequencies(config: ModelConfig, device: torch.device | None = None) -> Float[Tensor, " half"]:
    """The angle by which one word turns each pair of a head's features: base^(-2i / head_dim), or less.

    It is divided by the factor for pairs that turn at most once in `rotary_length` words, not for those that turn four
    times or more, and partly in between (Llama 3).
    """
    pairs = torch.arange(0, config.head_dim, 2, device=device, dtype=torch.float32)
    plain = config.rotary_base ** (-pairs / config.head_dim)
    kept = ((plain * config.rotary_length / math.tau - LOW_TURNS) / (HIGH_TURNS - LOW_TURNS)).clamp(0, 1)
    return plain * (kept + (1 - kept) / config.rotary_factor)


def rotation(positions: Positions, config: ModelConfig) -> Rotation:
    angle = (positions[..., None].float() * rotary_frequencies(config, positions.device))[:, None]
    return Rotation(angle.cos(), angle.sin())


def rotate(
    x: Float[Tensor, "batch heads length head_dim"], by: Rotation
) -> Float[Tensor, "batch heads length head_dim"]:
    """Turn each pair of neighbouring features by the angle of its position."""
    if x.is_cuda and not torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return turned(x, *by)
    even, odd = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack([even * by.cos - odd * by.sin, even * by.sin + odd * by.cos], dim=-1)
    return pairs.flatten(-2).to(x.dtype)


class PositionalEncoding(nn.Module):
    """The vector to add for each position, of the kind the configuration names."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.position
        self.d_model = config.d_model
        self.max_positions = config.max_positions
        self.table: Tensor | None = None
        self.lengths: Positions | None = None
        """Scaled kind: the length of the sentence each position belongs to, where it is known."""
        if self.kind == "learned":
            self.weight = nn.Parameter(torch.empty(config.max_positions, config.d_model))
            nn.init.normal_(self.weight, std=config.d_model**-0.5)

    def tabulate(self, num_positions: int, device: torch.device) -> None:
        """Compute the first sinusoidal positions once; later calls look them up."""
        self.table = sinusoidal(torch.arange(num_positions, device=device)[None], self.d_model)[0]

    def forward(self, positions: Positions, longest: int | None = None) -> Words:
        """The vectors of these positions, all of them below `longest` if it is given."""
        if self.kind == "sinusoidal":
            if self.table is None or longest is None or longest > len(self.table):
                return sinusoidal(positions, self.d_model)
            return nn.functional.embedding(positions, self.table)
        if self.kind == "learned":
            return nn.functional.embedding(positions.clamp(max=self.max_positions - 1), self.weight)
        number = positions.float()
        if self.kind == "scaled":
            length = torch.full_like(positions, self.max_positions) if self.lengths is None else self.lengths
            number = number / (length - 1).clamp(min=1)
        return number[..., None].expand(-1, -1, self.d_model)


class RelativePositionBias(nn.Module):
    """What is added to each score of a stack's self-attention: Raffel et al. 2020, section 2.1 (T5).

        masked = query . key / sqrt(d_k) + bias[bucket(key position - query position)]

    A number for each head and each bucket of distances, the same in every layer of a stack. Near distances
    have a bucket each, farther ones share buckets that widen like the logarithm, and all beyond
    `max_distance` share one. An encoder tells the two directions apart; a decoder only looks back.
    """

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

    def _buckets(self, distance: Int[Tensor, "batch query_len key_len"]) -> Int[Tensor, "batch query_len key_len"]:
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


class Scheme(NamedTuple):
    """The formula of a kind of positions: what is added to the embedding, rotated, or added to the scores of a stack."""

    added: Callable[[ModelConfig], nn.Module] | None = None
    rotated: Callable[[Positions, ModelConfig], Rotation] | None = None
    biased: Callable[..., nn.Module] | None = None


SCHEMES = {
    **dict.fromkeys(("sinusoidal", "learned", "scaled", "integer"), Scheme(added=PositionalEncoding)),
    "rotary": Scheme(rotated=rotation),
    "relative": Scheme(biased=RelativePositionBias),
    "alibi": Scheme(biased=LinearBias),
    "none": Scheme(),
}


def scheme_of(config: ModelConfig) -> Scheme:
    return registered(SCHEMES, "position", config.position)

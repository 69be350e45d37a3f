"""Edits of the real pass: each takes some values at their trace names, and gives others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.model.position import Rotation, rotate, rotation
from regard.trace import cross_attentions

Function = Callable[[Tensor], Tensor]


class ValueEdit(Protocol):
    """A change of values inside the pass."""

    def functions(self, first: int) -> dict[str, Function]:
        """By trace name, for a pass whose first target word stands at position `first`."""


@dataclass(frozen=True)
class HeadOff:
    """One head gives nothing: its context is zero."""

    attention: str
    head: int

    def functions(self, first: int) -> dict[str, Function]:
        def silence(context: Tensor) -> Tensor:
            context = context.clone()
            context[:, self.head] = 0
            return context

        return {f"{self.attention}.context": silence}


@dataclass(frozen=True)
class NoPositions:
    """Order is taken away: nothing is added, and where positions turn vectors they are turned back."""

    config: ModelConfig

    def functions(self, first: int) -> dict[str, Function]:
        if self.config.position != "rotary":
            return {"source.position": torch.zeros_like, "target.position": torch.zeros_like}
        turned: dict[str, Function] = {}
        for path in attentions(self.config):
            if path.endswith("self_attention"):
                begins = 0 if path.startswith("encoder") else first
                turned[f"{path}.query"] = lambda query, begins=begins: _turn_back(query, begins)  # type: ignore[misc]
                turned[f"{path}.key"] = lambda key: _turn_back(key, 0)
        return turned


def _turn_back(vectors: Tensor, first: int) -> Tensor:
    positions = torch.arange(first, first + vectors.shape[2])[None]
    by = rotation(positions, vectors.shape[3])
    return rotate(vectors, Rotation(by.cos, -by.sin))


@dataclass(frozen=True)
class NoMask:
    """The decoder's words see the later ones too: scores go into the softmax as they are."""

    config: ModelConfig

    def functions(self, first: int) -> dict[str, Function]:
        edits: dict[str, Function] = {}
        for layer in range(self.config.num_decoder_layers):
            path = f"decoder.layers.{layer}.self_attention"
            edits |= _unmasked(path)
        return edits


def _unmasked(path: str) -> dict[str, Function]:
    latest: list[Tensor] = []

    def remember(scaled: Tensor) -> Tensor:
        latest[:] = [scaled]
        return scaled

    return {f"{path}.scaled": remember, f"{path}.masked": lambda masked: latest[0]}


@dataclass(frozen=True)
class EditRow:
    """One word of one head attends as the reader says."""

    attention: str
    head: int
    row: int
    weights: tuple[float, ...]

    @property
    def over_target(self) -> bool:
        return self.attention.startswith("decoder") and self.attention.endswith("self_attention")

    def functions(self, first: int) -> dict[str, Function]:
        row = self.row - first if self.attention.startswith("decoder") else self.row

        def replace(weights: Tensor) -> Tensor:
            if not 0 <= row < weights.shape[2]:
                return weights
            # Another output may be shorter or longer than the one the row was taken from.
            given = torch.zeros(weights.shape[3])
            kept = self.weights[: weights.shape[3]]
            given[: len(kept)] = torch.tensor(kept)
            weights = weights.clone()
            weights[:, self.head, row] = given
            return weights

        return {f"{self.attention}.weights": replace}


def attentions(config: ModelConfig) -> list[str]:
    """The path of every attention, from the first that is computed to the last."""
    if config.is_recurrent:
        return cross_attentions(config)
    paths = []
    if config.has_encoder:
        paths += [f"encoder.layers.{i}.self_attention" for i in range(config.num_encoder_layers)]
    for i in range(config.num_decoder_layers):
        paths.append(f"decoder.layers.{i}.self_attention")
        if config.has_encoder:
            paths.append(f"decoder.layers.{i}.cross_attention")
    return paths

"""Edits of the real pass: each takes some values at their trace names, and gives others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.model.position import Rotation, rotate, rotation
from regard.trace import cross_attentions

Function = Callable[[Tensor], Tensor]
ValueEdit = Callable[[int], dict[str, Function]]
"""the functions by trace name, for a pass whose first target word stands at the given position"""


def head_off(attention: str, head: int) -> ValueEdit:
    """One head gives nothing: its context is zero."""

    def silence(context: Tensor) -> Tensor:
        context = context.clone()
        context[:, head] = 0
        return context

    return lambda first: {f"{attention}.context": silence}


def no_positions(config: ModelConfig) -> ValueEdit:
    """Order is taken away: nothing is added, and where positions turn vectors they are turned back."""

    def functions(first: int) -> dict[str, Function]:
        if config.position != "rotary":
            return {"source.position": torch.zeros_like, "target.position": torch.zeros_like}
        turned: dict[str, Function] = {}
        for path in attentions(config):
            if path.endswith("self_attention"):
                begins = 0 if path.startswith("encoder") else first
                turned[f"{path}.query"] = partial(_turn_back, first=begins)
                turned[f"{path}.key"] = partial(_turn_back, first=0)
        return turned

    return functions


def _turn_back(vectors: Tensor, first: int) -> Tensor:
    positions = torch.arange(first, first + vectors.shape[2])[None]
    by = rotation(positions, vectors.shape[3])
    return rotate(vectors, Rotation(by.cos, -by.sin))


def no_mask(config: ModelConfig) -> ValueEdit:
    """The decoder's words see the later ones too: scores go into the softmax as they are."""

    def functions(first: int) -> dict[str, Function]:
        latest: dict[str, Tensor] = {}

        def remember(scaled: Tensor, path: str) -> Tensor:
            latest[path] = scaled
            return scaled

        edits: dict[str, Function] = {}
        for layer in range(config.num_decoder_layers):
            path = f"decoder.layers.{layer}.self_attention"
            edits[f"{path}.scaled"] = partial(remember, path=path)
            edits[f"{path}.masked"] = lambda masked, path=path: latest[path]  # type: ignore[misc]
        return edits

    return functions


def edit_row(attention: str, head: int, row: int, chosen: Sequence[float]) -> ValueEdit:
    """One word of one head attends as the reader says."""

    def replace(weights: Tensor, row: int) -> Tensor:
        if not 0 <= row < weights.shape[2]:
            return weights
        # Another output may be shorter or longer than the one the row was taken from.
        kept = chosen[: weights.shape[3]]
        weights = weights.clone()
        weights[:, head, row] = 0
        weights[:, head, row, : len(kept)] = torch.tensor(kept)
        return weights

    is_decoder = attention.startswith("decoder")
    return lambda first: {
        f"{attention}.weights": partial(replace, row=row - first if is_decoder else row)
    }


def attentions(config: ModelConfig) -> list[str]:
    """The path of every attention, from the first that is computed to the last."""
    if config.is_recurrent:
        return cross_attentions(config)
    paths = []
    if config.has_encoder:
        paths += [f"encoder.layers.{i}.self_attention" for i in range(config.num_encoder_layers)]
    kinds = ["self_attention", *(["cross_attention"] if config.has_encoder else [])]
    for i in range(config.num_decoder_layers):
        paths += [f"decoder.layers.{i}.{kind}" for kind in kinds]
    return paths

"""The four wishes for positions, measured for every scheme that a Transformer can have.

A scheme that adds nothing to the embedding is judged by what stands for a position in it: rotary positions by the
sines and cosines that turn the features, relative ones by the bucket of the distance from the first word.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, get_args

import torch
from torch import Tensor

from regard.config import ModelConfig, Position
from regard.look.criteria import LONG, measure
from regard.model.position import PositionalEncoding, RelativePositionBias, rotation


def judge_schemes(config: ModelConfig) -> dict[str, list[dict[str, Any]]]:
    """For each scheme its verdicts: the wish, whether it holds, and what was measured."""
    found = {}
    for kind in get_args(Position):
        verdicts = measure(partial(vectors, config, kind, 1), partial(vectors, config, kind, 2))
        found[kind] = [{"wish": w, "holds": holds, "text": text} for w, holds, text in verdicts]
    return found


def vectors(config: ModelConfig, kind: Position, seed: int, length: int) -> Tensor:
    """What tells the positions of a sentence apart, one row each; `seed` stands for a training of a learned table."""
    # A table ends where the longest sentence that was foreseen does.
    changed = replace(config, position=kind, max_positions=LONG)
    torch.manual_seed(seed)
    places = torch.arange(length)[None]
    if kind == "none":
        return torch.zeros(length, 1)
    if kind == "rotary":
        turn = rotation(places, config.head_dim)
        return torch.cat([turn.cos, turn.sin], dim=-1)[0, 0]
    if kind == "relative":
        bias = RelativePositionBias(changed, looks_ahead=True)
        with torch.no_grad():
            bias.weight.copy_(torch.arange(len(bias.weight))[:, None].expand_as(bias.weight))
            buckets = bias(places, torch.zeros(1, 1, dtype=torch.long))[0, 0, :, 0]
        return torch.nn.functional.one_hot(buckets.long(), config.num_buckets).float()
    with torch.no_grad():
        found: Tensor = PositionalEncoding(changed)(places, torch.full((1, length), length))[0]
    # The plain numbers are the same in every feature.
    return found[:, :1] if kind in ("scaled", "integer") else found

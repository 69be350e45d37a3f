"""Four criteria for positions, measured: for every scheme that a Transformer can have.

A scheme that adds nothing to the embedding is judged by what encodes a position in it: rotary positions by the sines
and cosines that turn the features, those that bias scores by what each head adds at the distance from the first word,
or where that is learned, by its bucket.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config import ModelConfig, Position
from regard.model.position import RelativePositionBias, scheme_of

SHORT, LONG, VERY_LONG = 6, 60, 600
"""lengths of the sentences that are compared, in words"""


class Verdict(NamedTuple):
    criterion: str
    holds: bool
    measured: str


def judge(config: ModelConfig, kind: Position) -> list[Verdict]:
    """The four criteria for one scheme, at the width of this model."""
    long, again = position_vectors(config, kind, LONG), position_vectors(config, kind, LONG, seed=2)
    short, very_long = (position_vectors(config, kind, n) for n in (SHORT, VERY_LONG))
    closest = float(torch.pdist(long).min())
    early, late = (float((each[2] - each[1]).norm()) for each in (short, long))
    most, farther = (float(each.abs().max()) for each in (long, very_long))
    same = torch.equal(long, again)
    return [
        Verdict("every position is distinct", closest > 0, f"closest two of {LONG}: {closest:.3f} apart"),
        Verdict(
            "a step means the same in every sentence",
            early == late,
            f"step 1→2: {early:.3f} among {SHORT} words, {late:.3f} among {LONG}",
        ),
        Verdict(
            "bounded, also in longer sentences",
            farther <= most,
            f"largest value: {most:.1f} up to {LONG}, {farther:.1f} up to {VERY_LONG}",
        ),
        Verdict("the same every time", same, f"computed twice, {'equal' if same else 'different'}"),
    ]


@torch.no_grad()
def position_vectors(
    config: ModelConfig, kind: Position, length: int, seed: int = 1
) -> Float[Tensor, "length features"]:
    """What distinguishes the positions of a sentence; `seed` initialises a learned table."""
    # A learned table has as many rows as the longest sentence that was foreseen.
    config = replace(config, position=kind, max_positions=LONG)
    (added, rotated, biased), positions = scheme_of(config), torch.arange(length)[None]
    if rotated is not None:
        turn = rotated(positions, config)
        return torch.cat([turn.cos, turn.sin], dim=-1)[0, 0]
    # Others leave the random numbers alone: they may be those of a training in this process.
    is_drawn = kind in ("learned", "relative")
    with torch.random.fork_rng(devices=[], enabled=is_drawn):
        if is_drawn:
            torch.manual_seed(seed)
        encoding: Any = added and added(config)
        bias: Any = biased and biased(config, looks_ahead=True)
    if bias is not None:
        is_learned = isinstance(bias, RelativePositionBias)
        if is_learned:
            bias.weight.copy_(torch.arange(len(bias.weight))[:, None].expand_as(bias.weight))
        found: Tensor = bias(positions, torch.zeros(1, 1, dtype=torch.long))[0, :, :, 0].T
        return torch.nn.functional.one_hot(found[:, 0].long(), config.num_buckets).float() if is_learned else found
    if encoding is None:
        return torch.zeros(length, 1)
    encoding.lengths = torch.full((1, length), length)
    found = encoding(positions)[0]
    # The simple schemes have one number a position, the same in every feature.
    return found[:, :1] if kind in ("scaled", "integer") else found

"""What one wants of positions, measured on the paper's waves and on two simpler ideas."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.model.position import PositionalEncoding

SHORT, LONG, VERY_LONG = 6, 60, 600
"""words of the sentences that are compared"""

_IDEAS = {
    "sinusoidal": "sine and cosine",
    "scaled": "share of the sentence, 0 to 1",
    "integer": "the plain number",
}


@functools.cache
def criteria(config: ModelConfig) -> dict[str, Any]:
    """The ideas by name, and for each wish whether each idea fulfils it and what was measured."""
    measured = [_measured(config, kind) for kind in _IDEAS]
    wishes = [wish for wish, _, _ in measured[0]]
    return {
        "ideas": list(_IDEAS.values()),
        "wishes": [
            {
                "wish": wish,
                "answers": [{"holds": idea[i][1], "text": idea[i][2]} for idea in measured],
            }
            for i, wish in enumerate(wishes)
        ],
    }


def _measured(config: ModelConfig, kind: Any) -> list[tuple[str, bool, str]]:
    encoding = PositionalEncoding(replace(config, position=kind))

    def vectors(length: int) -> Tensor:
        found: Tensor = encoding(torch.arange(length)[None], torch.full((1, length), length))[0]
        # The two ideas have one number a place, the same in every feature.
        return found if kind == "sinusoidal" else found[:, :1]

    return measure(vectors)


def measure(
    vectors: Callable[[int], Tensor], again: Callable[[int], Tensor] | None = None
) -> list[tuple[str, bool, str]]:
    """Each wish, whether the vectors of a sentence so long fulfil it, and what was measured.

    again: the same vectors another time, where they might differ.
    """
    long = vectors(LONG)
    closest = float(torch.pdist(long).min())
    early, late = (float((each[2] - each[1]).norm()) for each in (vectors(SHORT), long))
    most, farther = (float(each.abs().max()) for each in (long, vectors(VERY_LONG)))
    same = torch.equal(long, (again or vectors)(LONG))
    return [
        ("every position its own", closest > 0, f"closest two of {LONG}: {closest:.3f} apart"),
        (
            "a step means the same in every sentence",
            early == late,
            f"step 1→2: {early:.3f} among {SHORT} words, {late:.3f} among {LONG}",
        ),
        (
            "bounded, so longer sentences hold no surprise",
            farther <= most,
            f"largest value: {most:.1f} up to {LONG}, {farther:.1f} up to {VERY_LONG}",
        ),
        ("the same every time", same, f"computed twice, {'equal' if same else 'different'}"),
    ]

"""Searches in batches: inputs of the same settings and of similar length run together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.config import DecodeConfig
from regard.data.batches import batches_for_inference
from regard.decode import Constraints, Hypothesis, StepModel, StepRecord, search, whole_search

_BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}
"""source tokens times hypotheses that are searched together"""


@dataclass(frozen=True, slots=True)
class SearchInput:
    """Everything that one search depends on, the engine aside."""

    source: list[int]
    decode: DecodeConfig
    constraints: Constraints | None = None
    number: int = 0
    """place among the sentences of a call; it and the seed decide what is sampled"""
    attention: bool = False


def search_in_batches(
    engine: StepModel,
    inputs: Sequence[SearchInput],
    history: list[StepRecord] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each input, best first; inputs of the same settings and similar length run together."""
    found: dict[int, list[Hypothesis]] = {}
    settings: dict[tuple[str, bool], list[int]] = {}
    for place, each in enumerate(inputs):
        settings.setdefault((repr(each.decode), each.attention), []).append(place)
    for places in settings.values():
        for batch in _batches(engine, [(place, inputs[place]) for place in places]):
            first = inputs[batch[0]]
            constraints = [inputs[place].constraints for place in batch]
            hypotheses = search(
                engine,
                [inputs[place].source for place in batch],
                first.decode,
                constraints=[each or Constraints() for each in constraints]
                if any(constraints)
                else None,
                history=history,
                attention=first.attention,
                numbers=[inputs[place].number for place in batch],
            )
            found |= dict(zip(batch, hypotheses, strict=True))
    return [found[place] for place in range(len(inputs))]


def _batches(
    engine: StepModel, inputs: Sequence[tuple[int, SearchInput]]
) -> Iterable[Sequence[int]]:
    """The places of inputs of the same settings that are searched together."""
    places = [place for place, _ in inputs]
    first = inputs[0][1]
    constraints = [each.constraints or Constraints() for _, each in inputs]
    if whole_search(engine, first.decode, constraints, first.attention) is not None:
        return [places]
    num_paths = max(first.decode.beam, first.decode.n_best)
    room = max(batch_tokens(engine) // num_paths, 1)
    groups = batches_for_inference([each.source for _, each in inputs], room)
    return [[places[i] for i in group] for group in groups]


def batch_tokens(engine: StepModel) -> int:
    device = getattr(engine, "device", None)
    return _BATCH_TOKENS.get(getattr(device, "type", "cpu"), _BATCH_TOKENS["cpu"])

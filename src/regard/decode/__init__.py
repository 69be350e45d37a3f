"""Search over any model that writes one token at a time: greedy, beam, sampling, scoring."""

from regard.decode.constraints import Constraints
from regard.decode.holding_on import HoldingOn
from regard.decode.interface import Emission, Hypothesis, State, StepModel, StepRecord
from regard.decode.scoring import score
from regard.decode.search import sample_side_by_side, search, stream, whole_search

__all__ = [
    "Constraints",
    "Emission",
    "HoldingOn",
    "Hypothesis",
    "State",
    "StepModel",
    "StepRecord",
    "sample_side_by_side",
    "score",
    "search",
    "stream",
    "whole_search",
]

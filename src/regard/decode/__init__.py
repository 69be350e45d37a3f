"""Search over any model that writes one token at a time: greedy, beam, sampling, scoring."""

from regard.decode.constraints import Constraints
from regard.decode.context_aware import ContextAwareModel
from regard.decode.interface import Emission, Hypothesis, State, StepModel, StepRecord
from regard.decode.scoring import score
from regard.decode.search import best_of_n, search, stream, whole_search

__all__ = [
    "Constraints",
    "Emission",
    "ContextAwareModel",
    "Hypothesis",
    "State",
    "StepModel",
    "StepRecord",
    "best_of_n",
    "score",
    "search",
    "stream",
    "whole_search",
]

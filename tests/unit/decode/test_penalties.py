"""Scores of outputs of unequal length, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.decode.penalties import best_attainable, length_penalty


def test_the_length_penalty_is_equation_14() -> None:
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)
    assert length_penalty(31, 0) == 1


@given(
    log_probability=st.floats(-50, 0),
    length=st.integers(0, 20),
    more=st.integers(0, 20),
    alpha=st.sampled_from([-0.7, 0.0, 0.6, 1.3]),
)
def test_no_end_can_score_above_what_is_attainable(
    log_probability: float, length: int, more: int, alpha: float
) -> None:
    """Each further token at best is certain; one of the ends reaches the bound."""
    limit = length + more
    ends = [log_probability / length_penalty(end, alpha) for end in range(length + 1, limit + 2)]
    best = best_attainable(log_probability, length, limit, alpha)
    assert math.isclose(best, max(ends), rel_tol=1e-12)

"""The filters by hand, and draws that follow their distribution."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import SOURCES, ToyModel, hashed

from regard.config import DecodeConfig
from regard.decode import Constraints, search
from regard.decode.sampling import draw, keep_top_k, keep_top_p, penalise

BOTH = pytest.mark.parametrize("make", [np.array, torch.tensor], ids=["numpy", "torch"])


def kept(logits) -> list[list[int]]:
    return [np.flatnonzero(np.isfinite(row)).tolist() for row in np.asarray(logits)]


@BOTH
def test_top_k_keeps_exactly_k_and_top_p_the_smallest_sufficient_set(make):
    logits = make([[1.0, 3.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0, -math.inf]])
    assert kept(keep_top_k(logits, 1)) == [[1], [0]]
    assert kept(keep_top_k(logits, 3)) == [[1, 2, 3], [0, 1, 2]]
    assert kept(keep_top_k(logits, 0)) == kept(keep_top_k(logits, 9)) == kept(logits)
    logits = make(np.log([[0.1, 0.4, 0.2, 0.3], [0.25, 0.25, 0.25, 0.25]]).tolist())
    assert kept(keep_top_p(logits, 0.39)) == [[1], [0, 1]]
    assert kept(keep_top_p(logits, 0.41)) == [[1, 3], [0, 1]]
    assert kept(keep_top_p(logits, 0.75)) == [[1, 2, 3], [0, 1, 2]]
    assert kept(keep_top_p(logits, 1e-9)) == [[1], [0]]
    assert kept(keep_top_p(logits, 1.0)) == [[0, 1, 2, 3]] * 2


@BOTH
def test_penalties_are_for_what_was_written_and_draws_invert_the_distribution(make):
    logits = make([[1.0, 3.0, -math.inf, 2.0, 2.0], [0.0, 1.0, 2.0, 3.0, 4.0]])
    config = DecodeConfig(method="sample", presence_penalty=0.5, frequency_penalty=0.25)
    lowered = np.asarray(penalise(logits, [[1, 3, 1, 2], []], config))
    np.testing.assert_allclose(lowered[0], [1.0, 2.0, -np.inf, 1.25, 2.0])
    np.testing.assert_array_equal(lowered[1], np.asarray(logits)[1])
    assert penalise(logits, [[1], [1]], DecodeConfig(method="sample")) is logits
    logits = make(np.log([[0.2, 1e-300, 0.5, 0.3]] * 7).tolist())
    logits[:, 1] = -math.inf
    uniforms = np.array([0.0, 0.1999, 0.2001, 0.6999, 0.7001, 0.9999, np.nextafter(1, 0)])
    assert np.asarray(draw(logits, uniforms)).tolist() == [0, 0, 2, 2, 3, 3, 3]


@settings(max_examples=50)
@given(
    values=st.lists(st.floats(-30, 30) | st.just(-math.inf), min_size=2, max_size=13),
    top_k=st.integers(0, 14),
    top_p=st.floats(0.01, 1),
    uniform=st.floats(0, 1, exclude_max=True),
)
def test_a_draw_is_always_possible_and_numpy_equals_torch(values, top_k, top_p, uniform):
    values[0] = max(values[0], -30.0)
    arrays = np.array([values]), torch.tensor([values], dtype=torch.float64)
    of_numpy, of_torch = (keep_top_p(keep_top_k(array, top_k), top_p) for array in arrays)
    assert kept(of_numpy) == kept(of_torch)
    token = int(draw(of_numpy, np.array([uniform]))[0])
    assert token in kept(of_numpy)[0]
    assert token == int(draw(of_torch, np.array([uniform]))[0])


@pytest.mark.parametrize("changes", [{}, dict(temperature=0.7, top_k=5, top_p=0.8, n_best=3)])
def test_a_sampled_output_depends_on_seed_and_number_only(changes):
    config = DecodeConfig(method="sample", seed=11, **changes)
    logits = hashed(11)
    together = search(ToyModel(logits), SOURCES, config)
    assert together == search(ToyModel(logits), SOURCES, config)
    order = [2, 0, 3]
    others = [SOURCES[at] for at in order]
    assert search(ToyModel(logits), others, config, numbers=order) == [together[at] for at in order]
    of_torch = search(ToyModel(logits, "cpu"), SOURCES, config)
    for ours, theirs in zip(of_torch, together, strict=True):
        assert [each.tokens for each in ours] == [each.tokens for each in theirs]


def test_one_candidate_is_greedy_and_a_given_beginning_has_no_penalty(device):
    model = ToyModel(hashed(11), device)
    greedy = search(model, SOURCES, DecodeConfig(method="greedy"))
    for changes in (dict(top_k=1), dict(top_p=1e-6), dict(temperature=1e-6)):
        config = DecodeConfig(method="sample", seed=7, **changes)
        found = search(model, SOURCES, config)
        assert [each[0].tokens for each in found] == [each[0].tokens for each in greedy]

    def alike(source, tokens):
        return np.zeros(11)

    config = DecodeConfig(method="sample", seed=5, top_k=1, presence_penalty=1.0, min_length=9, max_length=5)
    prefix = [4, 4, 5]
    [[found]] = search(ToyModel(alike), [[3]], config, constraints=[Constraints(prefix=prefix)])
    [[alone]] = search(ToyModel(alike), [[3]], config)
    assert found.tokens == [*prefix, *alone.tokens[:2]]
    assert len(set(alone.tokens)) == 5, "none comes again while there are others"

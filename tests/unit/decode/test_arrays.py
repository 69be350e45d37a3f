"""NumPy and torch give the same few operations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decode.arrays import arrays_of


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    vocab=st.sampled_from([3, 127, 128, 1291, 2048]),
    count=st.integers(1, 17),
    levels=st.sampled_from([2, 3, 40, 10**6]),
    share=st.sampled_from([0.01, 1.0]),
)
def test_top_is_the_beginning_of_a_stable_sort(seed, vocab, count, levels, share):
    """Few scores that differ from the rest lie apart, so that equal ones stand beside larger and smaller."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(levels, size=(5, vocab)).astype(np.float32)
    scores[rng.random(scores.shape) >= share] = 0
    before = scores.copy()
    values, tokens = arrays_of(scores).top(scores, count)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(tokens, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, axis=1))
    np.testing.assert_array_equal(scores, before)
    of_torch, _ = arrays_of(torch.from_numpy(scores)).top(torch.from_numpy(scores), count)
    np.testing.assert_array_equal(of_torch, values)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_log_softmax_is_right_and_leaves_its_argument_alone(dtype):
    logits = np.array([[1, 2, -np.inf], [-np.inf] * 3, [6e4, -6e4, 0]], dtype=dtype)
    before = logits.copy()
    of_numpy = arrays_of(logits).log_softmax(logits)
    tensor = torch.from_numpy(logits)
    of_torch = arrays_of(tensor).log_softmax(tensor).numpy()
    np.testing.assert_array_equal(logits, before)
    assert of_numpy.dtype == of_torch.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(of_numpy, of_torch, rtol=1e-6)
    np.testing.assert_allclose(np.exp(of_numpy).sum(axis=1), [1, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(of_numpy[0, 1], -np.log1p(np.exp(-1)), rtol=1e-6)

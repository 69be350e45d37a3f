"""What a beginning makes more probable becomes more so; everything else is the model's own."""

from __future__ import annotations

import numpy as np
import pytest

from regard.config import DecodeConfig
from regard.decode import Constraints, ContextAwareModel, stream

GIVEN = [4, 9, 5]
VOCAB = 11


def holding_on(toys, logits, strength: float, device: str | None = None) -> ContextAwareModel:
    return ContextAwareModel(toys.model(logits, device), len(GIVEN), strength)


@pytest.mark.parametrize("device", [None, "cpu"], ids=["numpy", "torch"])
def test_both_readings_are_compared(toys, device):
    logits, strength = toys.hashed(VOCAB), 0.5
    model = holding_on(toys, logits, strength, device)
    inner = toys.model(logits, device)
    state = model.start([[3]])
    for token in (toys.bos, *GIVEN, 7):
        found, state = model.step(inner.array(np.array([token])), state)
    state = state.select(inner.array(np.array([0, 0])))
    found, _ = model.step(inner.array(np.array([8, 6])), state)
    for row, last in zip(np.asarray(found), (8, 6), strict=True):
        with_it = toys.log_probabilities(logits, [3], [*GIVEN, 7, last])
        without = toys.log_probabilities(logits, [3], [7, last])
        scores = with_it + strength * np.clip(with_it - without, -3, 3)
        scores[with_it < with_it.max() + np.log(0.05)] = -np.inf
        expected = scores - np.log(np.exp(scores).sum())
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-5)


def test_a_stream_goes_on_from_it(toys):
    def reminded(source: tuple[int, ...], tokens: tuple[int, ...]) -> np.ndarray:
        """After the beginning 6 is nearly as probable as 7, without it hardly at all."""
        row = np.full(VOCAB, -9.0, dtype=np.float32)
        row[7], row[6] = 1.0, 0.5 if tokens[:3] == tuple(GIVEN) else -4.0
        return row

    config = DecodeConfig(method="sample", seed=1, top_k=1, max_length=5, min_length=9)
    written = {}
    for strength in (0.0, 1.0):
        model = holding_on(toys, reminded, strength)
        emissions = stream(model, [3], config, constraints=Constraints(prefix=GIVEN))
        written[strength] = [each.token for each in emissions if each.token is not None]
    assert written == {0.0: [7, 7], 1.0: [6, 6]}

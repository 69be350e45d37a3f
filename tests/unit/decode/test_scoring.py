"""The log-probability of given outputs."""

from __future__ import annotations

import numpy as np

from regard.config import DecodeConfig
from regard.decode import score, search

SOURCES = [[5, 6, 3], [4, 3], [8, 4, 4, 9, 5, 7, 3]]
TARGETS = [[4, 9], [], [10, 4, 4, 7, 1]]


def ends(toys):
    return dict(bos_id=toys.bos, eos_id=toys.eos)


def test_each_token_and_the_end_get_their_log_probability(toys, device):
    logits = toys.hashed(11)
    model = toys.model(logits, device)
    found = score(model, SOURCES, TARGETS, **ends(toys))
    for source, target, values in zip(SOURCES, TARGETS, found, strict=True):
        expected = [
            toys.log_probabilities(logits, source, target[:at])[token]
            for at, token in enumerate([*target, toys.eos])
        ]
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-6)
    # Rows that are through leave the batch.
    assert model.rows == [3, 2, 2, 1, 1, 1]


def test_nothing_to_score(toys):
    assert score(toys.model(toys.hashed(11)), [], [], **ends(toys)) == []


def test_agrees_with_the_search(toys, device):
    model = toys.model(toys.hashed(11), device)
    found = [best[0] for best in search(model, SOURCES, DecodeConfig(), **toys.ids)]
    values = score(model, SOURCES, [each.tokens for each in found], **ends(toys))
    for each, scored in zip(found, values, strict=True):
        np.testing.assert_allclose(scored, each.token_log_probabilities, rtol=1e-6)


def test_an_impossible_token_stays_a_number(toys, device):
    model = toys.model(toys.bigram({2: {4: 1.0}, 4: {3: 1.0}, 5: {3: 1.0}}, 7), device)
    [values] = score(model, [[6, 3]], [[5]], **ends(toys))
    assert values == [-1e9, 0.0]

"""The log-probability of given outputs."""

from __future__ import annotations

import numpy as np

from regard.config import DecodeConfig, ModelConfig
from regard.decode import score, search

SOURCES = [[5, 6, 3], [4, 3], [8, 4, 4, 9, 5, 7, 3]]
TARGETS = [[4, 9], [], [10, 4, 4, 7, 1]]


def test_each_token_and_the_end_get_their_log_probability(toys, device):
    logits = toys.hashed(11)
    model = toys.model(logits, device)
    found = score(model, SOURCES, TARGETS)
    for source, target, values in zip(SOURCES, TARGETS, found, strict=True):
        expected = [
            toys.log_probabilities(logits, source, target[:at])[token]
            for at, token in enumerate([*target, toys.eos])
        ]
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-6)
    # Rows that are through leave the batch.
    assert model.rows == [3, 2, 2, 1, 1, 1]


class Reading:
    """A model that reads whole outputs: how surprising a token is depends on its source and its place."""

    config = ModelConfig()

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def start(self, sources):
        return Read(np.array([source[0] for source in sources]))

    def read(self, tokens, following, state):
        self.shapes.append(tokens.shape)
        assert (tokens[:, 0] == 2).all() and (tokens[:, 1:] == following[:, :-1]).all()
        places = np.arange(tokens.shape[1])
        return -(100.0 * state.sources[:, None] + 10 * places + following), state


class Read:
    def __init__(self, sources: np.ndarray) -> None:
        self.sources = sources

    def select(self, indices):
        return Read(self.sources[indices])


def test_whole_outputs_are_read_a_bounded_number_of_places_at_once(toys, monkeypatch):
    monkeypatch.setattr("regard.decode.MOST_PLACES", 11)
    targets = [[4], [5, 6, 7, 8], [], [9], [10] * 17, [4, 4]]
    sources = [[5 + number, 3] for number in range(len(targets))]
    model = Reading()
    found = score(model, sources, targets)
    assert found == [
        [-(100.0 * source[0] + 10 * place + token) for place, token in enumerate([*target, 3])]
        for source, target in zip(sources, targets, strict=True)
    ]
    assert model.shapes == [(2, 5), (2, 2), (1, 18), (1, 3)], "only one that is longer goes beyond"


def test_agrees_with_the_search(toys, device):
    model = toys.model(toys.hashed(11), device)
    found = [best[0] for best in search(model, SOURCES, DecodeConfig())]
    values = score(model, SOURCES, [each.tokens for each in found])
    for each, scored in zip(found, values, strict=True):
        np.testing.assert_allclose(scored, each.token_log_probabilities, rtol=1e-6)

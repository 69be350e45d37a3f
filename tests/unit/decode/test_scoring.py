"""The array operations of a search, ensembles, and the log-probability of given outputs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import EOS, ToyModel, hashed, log_probabilities

from regard.config import DecodeConfig, ModelConfig
from regard.decode import EnsembleModel, score, search
from regard.decode.arrays import arrays_of


@settings(max_examples=40)
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


SOURCES = [[5, 6, 3], [4, 3], [8, 4, 4, 9, 5, 7, 3]]
TARGETS = [[4, 9], [], [10, 4, 4, 7, 1]]


def test_each_token_and_the_end_get_their_log_probability(device):
    logits = hashed(11)
    model = ToyModel(logits, device)
    found = score(model, SOURCES, TARGETS)
    for source, target, values in zip(SOURCES, TARGETS, found, strict=True):
        expected = [log_probabilities(logits, source, target[:at])[token] for at, token in enumerate([*target, EOS])]
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


def test_whole_outputs_are_read_a_bounded_number_of_places_at_once(monkeypatch):
    monkeypatch.setattr("regard.decode.MAX_PLACES", 11)
    targets = [[4], [5, 6, 7, 8], [], [9], [4, 4]]
    sources = [[5 + number, 3] for number in range(len(targets))]
    model = Reading()
    found = score(model, sources, targets)
    assert found == [
        [-(100.0 * source[0] + 10 * place + token) for place, token in enumerate([*target, 3])]
        for source, target in zip(sources, targets, strict=True)
    ]
    assert model.shapes == [(2, 5), (2, 2), (1, 3)]


@pytest.mark.parametrize("devices", [(None, None), (None, "cpu"), ("cpu", "cpu")])
def test_an_ensemble_takes_the_mean_of_the_probabilities(devices):
    """Whatever the members compute with; a model beside itself is itself."""
    logits = [hashed(11, seed=seed) for seed in (1, 2)]
    models = [ToyModel(each, device) for each, device in zip(logits, devices, strict=True)]

    def mean(source, tokens):
        shares = [np.exp(each(source, tokens) - np.logaddexp.reduce(each(source, tokens))) for each in logits]
        return np.log(np.mean(shares, axis=0))

    def tokens_of(model, config):
        return [[each.tokens for each in some] for some in search(model, SOURCES, config)]

    for asked in ({"beam": 3, "n_best": 2}, {"method": "sample", "seed": 3}, {"method": "greedy"}):
        config = DecodeConfig(**asked)
        found = tokens_of(EnsembleModel(models), config)
        assert found == tokens_of(ToyModel(mean, None), config) != tokens_of(models[0], config)
        assert tokens_of(EnsembleModel(models[:1] * 2), config) == tokens_of(models[0], config)
    targets = [some[0] for some in found]
    scores = (score(model, SOURCES, targets) for model in (EnsembleModel(models), ToyModel(mean, None)))
    for values, wanted in zip(*scores, strict=True):
        np.testing.assert_allclose(values, wanted, atol=1e-5)

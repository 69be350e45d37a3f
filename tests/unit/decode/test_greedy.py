"""One path per output: the most probable token each time, whole or as a stream."""

import math

import numpy as np
import pytest
from toys import SOURCES, ToyModel, bigram, hashed, log_probabilities

from regard.config import DecodeConfig
from regard.decode import Constraints, search, stream
from regard.errors import UsageError

GREEDY = DecodeConfig(method="greedy")


def only(results):
    assert all(len(hypotheses) == 1 for hypotheses in results)
    return [hypotheses[0] for hypotheses in results]


def test_follows_the_most_probable_token_that_may_be_written(device):
    table = {2: {4: 0.6, 5: 0.4}, 4: {5: 0.7, 3: 0.3}, 5: {3: 0.9, 4: 0.1}}
    model = ToyModel(bigram(table, vocab=7), device)
    [found] = only(search(model, [[6, 3]], GREEDY))
    assert (found.tokens, found.stop) == ([4, 5], "end")
    np.testing.assert_allclose(found.token_log_probabilities, np.log([0.6, 0.7, 0.9]), rtol=1e-6)
    assert math.isclose(found.log_probability, math.log(0.6 * 0.7 * 0.9), rel_tol=1e-6)
    assert math.isclose(found.score, found.log_probability / (8 / 6) ** 0.6, rel_tol=1e-6)
    assert found.attention is None

    def logits(source, tokens):
        return np.array([9.0, 0.0, 8.0, 1.0 if len(tokens) > 3 else -1.0, 0.5], dtype=np.float32)

    [found] = only(search(ToyModel(logits, device), [[4, 3]], GREEDY))
    assert (found.tokens, found.stop) == ([4, 4, 4, 4], "end")
    # Log-probabilities are the model's own: what it may not say still has its share.
    assert found.log_probability < 5 * math.log(0.01)
    # A dialogue's turns may end inside a prompt.
    model = ToyModel(bigram({2: {4: 1.0}, 3: {5: 1.0}, 5: {3: 1.0}}, 7), device)
    [found] = only(search(model, [[6, 3]], GREEDY, constraints=[Constraints(prefix=[3])]))
    assert (found.tokens, found.stop) == ([3, 5], "end")
    assert math.isfinite(found.score)


@pytest.mark.parametrize(
    "config", [GREEDY, DecodeConfig(method="sample", seed=5), DecodeConfig(method="greedy", max_length=2)]
)
def test_stream_equals_search(device, config):
    model = ToyModel(hashed(11), device)
    constraints = Constraints(prefix=[7, 9])
    for number, source in enumerate(SOURCES):
        [found] = only(search(model, [source], config, constraints=[constraints], numbers=[number]))
        items = list(stream(model, source, config, constraints=constraints, number=number))
        assert [item.token for item in items[:-1]] == found.tokens[2:]
        assert items[-1].token is None and items[-1].stop == found.stop
        assert all(item.stop is None for item in items[:-1])
        written = [item.log_probability for item in items]
        assert math.isclose(sum(written), sum(found.token_log_probabilities[2:]), abs_tol=1e-9)


def test_what_cannot_be_asked_for_is_refused_and_what_is_not_read_not_made():
    model = ToyModel(hashed(11))
    ask = dict(model=model, sources=[[4, 3]])
    with pytest.raises(UsageError, match="required words need beam search"):
        search(config=GREEDY, constraints=[Constraints(required=[[5]])], **ask)
    with pytest.raises(UsageError, match="greedy search has one output: got n_best=3"):
        search(config=DecodeConfig(method="greedy", n_best=3), **ask)
    with pytest.raises(UsageError, match="a stream must be greedy or sampled"):
        stream(model, [4, 3], DecodeConfig())
    with pytest.raises(UsageError, match="both banned and asked for"):
        search(config=GREEDY, constraints=[Constraints(prefix=[5, 6], banned=[[6]])], **ask)
    with pytest.raises(UsageError, match="must fit into max_length: got 3 tokens"):
        search(config=DecodeConfig(method="greedy", max_length=2), constraints=[Constraints(prefix=[5, 6, 7])], **ask)
    with pytest.raises(UsageError, match="required words must fit into max_length: got 5 tokens"):
        search(config=DecodeConfig(max_length=4), constraints=[Constraints(required=[[5, 6], [7, 8, 9]])], **ask)
    model = ToyModel(hashed(11, scale=0.1))
    items = stream(model, [5, 3], DecodeConfig(method="greedy", min_length=5))
    assert model.rows == []
    next(items)
    assert model.rows == [1]


def test_a_model_may_give_log_probabilities(device):
    """Then they are taken as they are, and the model's own array is left alone."""
    logits = hashed(11)
    given = {}

    def normalised(source, tokens):
        return given.setdefault((source, tokens), log_probabilities(logits, source, tokens))

    model = ToyModel(normalised, device)
    model.normalised = True
    for config in (GREEDY, DecodeConfig(), DecodeConfig(method="sample", seed=3)):
        plain = search(ToyModel(logits, device), SOURCES, config)
        for [one], [other] in zip(search(model, SOURCES, config), plain, strict=True):
            assert one.tokens == other.tokens
            assert math.isclose(one.score, other.score, rel_tol=1e-4)
    assert all(np.isfinite(values).all() for values in given.values())

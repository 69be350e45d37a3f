"""Beam search against brute force, and its laws."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import BOS, EOS, PAD, SOURCES, ToyModel, bigram, contains, hashed, log_probabilities, toy_attention

from regard.config import DecodeConfig
from regard.decode import Constraints, beam, search
from regard.decode.single_path import NUM_SHOWN

SEEDS = st.integers(0, 1 << 30)
LAWS = settings(max_examples=15)


def brute_force(logits, source, config, vocab):
    """All ended outputs of at most max_length tokens with their scores, best first."""
    found = []
    words = [token for token in range(vocab) if token not in (PAD, BOS, EOS)]
    for length in range(config.min_length, config.max_length + 1):
        for tokens in itertools.product(words, repeat=length):
            output = [*tokens, EOS]
            total = sum(log_probabilities(logits, source, tokens[:at])[token] for at, token in enumerate(output))
            score = total / ((5 + len(output)) / 6) ** config.length_penalty
            if config.coverage_penalty:
                attention = sum(toy_attention(tuple(source), tokens[:at]) for at in range(len(output)))
                score += config.coverage_penalty * np.log(np.minimum(attention, 1)).sum()
            found.append((list(tokens), score))
    return sorted(found, key=lambda each: -each[1])


@pytest.mark.parametrize(
    "changes",
    [{}, *({"length_penalty": alpha} for alpha in (0.0, 2.5, -0.7)), {"coverage_penalty": 0.3}, {"min_length": 2}],
    ids=str,
)
def test_a_large_beam_finds_what_brute_force_finds(device, changes):
    config = DecodeConfig(beam=64, n_best=5, max_length=3, **changes)
    sources = [[5, 4, 3], [4, 3]]
    for seed in range(3):
        logits = hashed(6, seed=seed)
        results = search(ToyModel(logits, device), sources, config)
        for source, found in zip(sources, results, strict=True):
            expected = brute_force(logits, source, config, vocab=6)[:5]
            assert [each.tokens for each in found] == [tokens for tokens, _ in expected]
            np.testing.assert_allclose([each.score for each in found], [score for _, score in expected], rtol=1e-4)
            assert all(each.stop == "end" for each in found)


@LAWS
@given(
    seed=SEEDS,
    alpha=st.sampled_from([0.0, 0.6, 2.0]),
    max_length=st.sampled_from([0, 1, 7]),
    ngram=st.integers(0, 2),
    min_length=st.integers(0, 4),
)
def test_beam_of_one_is_greedy(device, seed, alpha, max_length, ngram, min_length):
    lengths = dict(max_length=max_length, min_length=min_length)
    config = DecodeConfig(beam=1, length_penalty=alpha, no_repeat_ngram=ngram, **lengths)
    model = ToyModel(hashed(11, seed=seed), device)
    constraints = [Constraints(), Constraints(prefix=[9]), Constraints(banned=[[5], [6, 7]]), Constraints()]
    ask = dict(model=model, sources=SOURCES, constraints=constraints)
    assert search(config=config, **ask) == search(config=replace(config, method="greedy"), **ask)


@LAWS
@given(seed=SEEDS, alpha=st.sampled_from([-0.5, 0.0, 0.6, 1.5]), n_best=st.integers(1, 5))
def test_early_stopping_changes_nothing(seed, alpha, n_best):
    config = DecodeConfig(beam=5, n_best=n_best, length_penalty=alpha, max_length=11)
    model = ToyModel(hashed(11, seed=seed))
    stopped = search(model, SOURCES, config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beam, "best_attainable", lambda *_: math.inf)
        assert search(model, SOURCES, config) == stopped


@LAWS
@given(seed=SEEDS, order=st.permutations(range(4)))
def test_neighbours_do_not_matter(device, seed, order):
    model = ToyModel(hashed(11, seed=seed), device)
    config = DecodeConfig(beam=3, n_best=2, no_repeat_ngram=2, coverage_penalty=0.2)
    limits = [Constraints(required=[[9, 8], [5]]), Constraints(), Constraints(prefix=[7, 6])]
    limits.append(Constraints(banned=[[4], [5, 6]]))
    ask = dict(config=config, attention=True)
    together = search(model, [SOURCES[at] for at in order], constraints=[limits[at] for at in order], **ask)
    alone = [search(model, [SOURCES[at]], constraints=[limits[at]], **ask)[0] for at in order]
    assert together == alone


def test_outputs_that_are_cut(device):
    model = ToyModel(bigram({2: {4: 0.7, 5: 0.3}, 4: {4: 1.0}, 5: {5: 1.0}}, 7), device)
    config = DecodeConfig(n_best=3)
    [found, longer] = search(model, [[4, 3], [4, 4, 4, 3]], config)
    assert [each.tokens for each in found] == [[4] * 54, [5] * 54]
    assert [each.tokens for each in longer] == [[4] * 58, [5] * 58]
    assert {each.stop for each in found + longer} == {"length"}
    model = ToyModel(hashed(6), device)
    limits = [Constraints(banned=[[1], [4], [5]])]
    config = DecodeConfig(n_best=3)
    [[empty]] = search(model, [[4, 3]], config, constraints=limits)
    assert (empty.tokens, empty.stop) == ([], "end")
    config = DecodeConfig(n_best=3, min_length=1)
    [[stuck]] = search(model, [[4, 3]], config, constraints=limits)
    assert (stuck.tokens, stuck.stop, stuck.score) == ([], "length", 0.0)
    table = {2: {4: 0.99, 5: 0.01}, 4: {4: 1.0}, 5: {3: 1.0}}
    config = DecodeConfig(beam=2, n_best=2, max_length=3)
    [found] = search(ToyModel(bigram(table, 7)), [[6, 3]], config)
    assert [(each.tokens, each.stop) for each in found] == [([5], "end"), ([4, 4, 4], "length")]


@LAWS
@given(seed=SEEDS)
def test_banned_never_appears_and_prefix_is_kept(device, seed):
    banned = [[1], [4, 4], [5, 6, 5]]
    config = DecodeConfig(beam=3, n_best=3, max_length=19, min_length=13)
    limits = [Constraints(banned=banned, prefix=[6, 5])]
    [found] = search(ToyModel(hashed(7, seed=seed), device), [[6, 3]], config, constraints=limits)
    assert len(found) == 3
    for each in found:
        assert each.tokens[:2] == [6, 5]
        assert 13 <= len(each.tokens) <= 19
        assert not any(contains(each.tokens, word) for word in banned)


words = st.lists(st.sampled_from([1, 4, 5, 6]), min_size=1, max_size=3)


@settings(max_examples=60)
@given(
    seed=SEEDS,
    required=st.lists(words, min_size=1, max_size=3),
    prefix=st.lists(st.sampled_from([4, 5]), max_size=2),
    beam_size=st.integers(1, 4),
    room=st.integers(0, 5),
    ngram=st.sampled_from([0, 2]),
)
def test_required_always_appears(seed, required, prefix, beam_size, room, ngram):
    need = sum(map(len, required)) + len(prefix)
    config = DecodeConfig(beam=beam_size, n_best=beam_size, max_length=need + room, no_repeat_ngram=ngram)
    limits = [Constraints(required=required, prefix=prefix), Constraints()]
    [found, free] = search(ToyModel(hashed(7, seed=seed)), [[6, 3], [5, 3]], config, constraints=limits)
    assert found and free
    for each in found:
        assert all(contains(each.tokens, word) for word in required)
        assert each.tokens[: len(prefix)] == prefix
        assert len(each.tokens) <= config.max_length


@LAWS
@given(seed=SEEDS)
def test_required_search_with_a_large_beam_is_exact(seed):
    """Among the outputs that brute force leaves with the word, the best one is found."""
    logits = hashed(6, seed=seed)
    config = DecodeConfig(beam=64, max_length=3)
    [[found]] = search(ToyModel(logits), [[5, 3]], config, constraints=[Constraints(required=[[4, 5]])])
    outputs = brute_force(logits, [5, 3], config, vocab=6)
    assert found.tokens == next(tokens for tokens, _ in outputs if contains(tokens, [4, 5]))


def test_attention_follows_each_hypothesis(device):
    model = ToyModel(hashed(11), device)
    config = DecodeConfig(beam=5, n_best=3)
    results = search(model, SOURCES, config, attention=True)
    plain = search(model, SOURCES, config)
    for source, found, without in zip(SOURCES, results, plain, strict=True):
        assert [each.tokens for each in found] == [each.tokens for each in without]
        for each in found:
            expected = [toy_attention(tuple(source), tuple(each.tokens[:at])) for at in range(len(each.tokens))]
            shape = (-1, len(source))
            np.testing.assert_allclose(np.reshape(each.attention, shape), np.reshape(expected, shape))


def test_history_tells_what_each_step_saw(device):
    logits = hashed(13)
    history = []
    config = DecodeConfig(beam=3)
    [[found]] = search(ToyModel(logits, device), [[5, 3]], config, history=history)
    assert history[0].beams == [[]]
    assert any(found.tokens in step.beams for step in history)
    for length, step in enumerate(history):
        assert 1 <= len(step.beams) <= 3
        assert step.sources == [0] * len(step.beams)
        seen = zip(step.beams, step.scores, step.top_tokens, step.top_probabilities, strict=True)
        for tokens, score, top, probabilities in seen:
            assert len(tokens) == length
            total = sum(log_probabilities(logits, [5, 3], tokens[:at])[token] for at, token in enumerate(tokens))
            assert math.isclose(score, total, rel_tol=1e-4, abs_tol=1e-6)
            expected = np.exp(log_probabilities(logits, [5, 3], tokens))
            assert top == np.argsort(-expected)[:NUM_SHOWN].tolist()
            np.testing.assert_allclose(probabilities, np.sort(expected)[::-1][:NUM_SHOWN], rtol=1e-4)

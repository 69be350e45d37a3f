"""Laws of the CPU engine: every way to ask it for the same gives the same, and a state never changes."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures import KERNELS, save_model

from regard.config import DecodeConfig
from regard.decode import Constraints, search
from regard.engine import open_engine
from regard.model.transformer import Transformer

SOURCES = [[5, 6, 7, 3], [8, 3], [9, 10, 11, 12, 13, 14, 3]]
VOCABULARY = 640
"""ten blocks, as the graph cuts it to find the largest"""


@pytest.fixture(params=["fp32", "int8", *KERNELS])
def engine(tmp_path: Path, random_model: Callable[..., Transformer], request: pytest.FixtureRequest) -> Any:
    # Vectors of a multiple of 16 bytes: sums over others may differ in their last bit from place to place.
    sizes: dict[str, Any] = dict(d_model=24, num_heads=3, d_ff=40)
    if request.param in KERNELS:
        request.getfixturevalue("kernel")(request.param)
        sizes = dict(d_model=64, num_heads=4, d_ff=192, norm_placement="pre")
    model = random_model(source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, **sizes)
    return open_saved(model, tmp_path / "model", "fp32" if request.param == "fp32" else "int8")


def open_saved(model: Transformer, folder: Path, weights: Any) -> Any:
    return open_engine(save_model(model, folder, weights), "onnxruntime", threads=1)


class Plain:
    """The engine with nothing but what every model offers."""

    normalised, device = True, None

    def __init__(self, engine: Any) -> None:
        self.config, self.start, self.step = engine.config, engine.start, engine.step


def test_the_best_are_the_largest_of_all(engine: Any) -> None:
    state = engine.start(SOURCES)
    everything, _ = engine.step(np.array([2, 4, 6]), state)
    assert np.allclose(np.exp(everything).sum(axis=1), 1, atol=1e-5)
    for count in (1, 11, 103, VOCABULARY + 1):
        _, values, tokens, _ = engine.step_best(np.array([2, 4, 6]), state, count)
        expected = np.argsort(-everything, axis=1, kind="stable")[:, :count]
        assert np.array_equal(tokens, expected)
        assert np.array_equal(values, np.take_along_axis(everything, expected, axis=1))


def test_equal_values_come_in_the_order_of_their_tokens(tmp_path, random_model):
    model = random_model(source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, tied="none")
    table = model.output.weight.data
    table[:] = table[:5].repeat(VOCABULARY // 5, 1)
    engine = open_saved(model, tmp_path / "model", "fp32")
    _, values, tokens, _ = engine.step_best(np.array([2]), engine.start([[7, 3]]), 131)
    assert tokens[0][:128] == list(range(tokens[0][0], VOCABULARY, 5))
    assert len(set(values[0][:128])) == 1
    assert tokens[0][128] < 5


def test_reading_at_once_is_reading_step_by_step(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.engine.onnxruntime.MAX_PLACES", 5)
    num_rows = 3
    # In int8 a difference in the last bit of a float may tip a byte.
    tolerance = 0.05 if engine.quantized else 1e-5
    tokens = np.random.default_rng(7).integers(4, VOCABULARY, (num_rows, 13))
    following = np.random.default_rng(8).integers(4, VOCABULARY, (num_rows, 13))
    at_once, state = engine.read(tokens, following, engine.start(SOURCES[:num_rows]))
    other = engine.start(SOURCES[:num_rows])
    for place in range(tokens.shape[1]):
        values, other = engine.step(tokens[:, place], other)
        expected = values[np.arange(num_rows), following[:, place]]
        assert np.abs(at_once[:, place] - expected).max() <= tolerance
    more, _ = engine.step(following[:, 0], state)
    expected_more, _ = engine.step(following[:, 0], other)
    assert np.abs(more - expected_more).max() <= tolerance
    # What comes after a beginning, too.
    again, _ = engine.read(tokens, following, state)
    expected_again, _ = engine.read(tokens, following, other)
    assert np.abs(again - expected_again).max() <= tolerance


def test_a_state_never_changes(engine: Any) -> None:
    """Whatever was made of it, in whatever order, each continuation is what a fresh start gives."""
    _, first = engine.step(np.full(3, 2), engine.start(SOURCES))
    _, second = engine.step(np.array([4, 5, 6]), first)
    expected, _ = engine.step(np.array([7, 8, 9]), second)
    doubled = second.select(np.array([1, 1, 0]))
    engine.step(np.array([10, 11, 12]), doubled)
    engine.step(np.array([13, 14, 15]), doubled)
    engine.step(np.array([16, 17, 18]), first)
    again, _ = engine.step(np.array([7, 8, 9]), second)
    assert np.array_equal(again, expected)
    last, _ = engine.step(np.array([8, 7]), doubled.select(np.array([0, 2])))
    # Each row stands beside an unused one: products of two rows may add in another order than those of one.
    assert np.allclose(last, expected[[1, 0]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("num_sentences", "num_steps"), [(2, 67), (21, 7)])
def test_rows_that_repeat_and_change_places(engine: Any, num_sentences: int, num_steps: int) -> None:
    """Random selections within each sentence, each row against its own tokens read alone."""
    generator = np.random.default_rng(11)
    sources = [[4 + number, *SOURCES[number % 3]] for number in range(num_sentences)]
    sentence_of = np.arange(num_sentences).repeat(3)
    state = engine.start(sources).select(sentence_of)
    written: list[list[int]] = [[] for _ in sentence_of]
    for _ in range(num_steps):
        tokens = generator.integers(4, VOCABULARY, len(written))
        values, state = engine.step(tokens, state)
        rows = 3 * sentence_of + generator.integers(0, 3, len(written))
        # In a large batch only a few sentences change, wherever they stand.
        still = ~np.isin(sentence_of, generator.choice(num_sentences, 2, replace=False))
        rows[still] = np.flatnonzero(still)
        written = [[*written[row], int(tokens[row])] for row in rows.tolist()]
        last, state = values[rows], state.select(rows)
    for row in range(0, len(written), 5):
        alone = engine.start([sources[sentence_of[row]]])
        for token in written[row]:
            found, alone = engine.step(np.array([token]), alone)
        # Some processors multiply few rows in another order than many.
        np.testing.assert_allclose(found[0], last[row], atol=2e-3)


@pytest.mark.parametrize(
    "changes",
    [dict(method="greedy", min_length=5), dict(n_best=3, coverage_penalty=0.3), dict(method="sample", top_k=7, seed=5)],
)
def test_what_is_offered_changes_no_search(engine: Any, changes: dict[str, Any]) -> None:
    constraints = [Constraints(prefix=prefix) for prefix in ((9, 8, 7), (), (8, 8))]
    ask = dict(sources=SOURCES, config=DecodeConfig(max_length=11, **changes), constraints=constraints)
    expected = search(Plain(engine), **ask, attention=True)
    assert search(engine, **ask, attention=True) == expected
    short = [[each.tokens for each in hypotheses] for hypotheses in search(engine, **ask)]
    assert short == [[each.tokens for each in hypotheses] for hypotheses in expected]


def test_a_decoder_alone_reads_a_long_beginning(tmp_path: Path, random_model: Callable[..., Transformer]) -> None:
    model = random_model(architecture="decoder-only", position="rotary", target_vocab_size=VOCABULARY)
    engine = open_saved(model, tmp_path / "model", "int8")
    prefix = np.random.default_rng(3).integers(4, VOCABULARY, 300).tolist()
    config = DecodeConfig(method="greedy", max_length=307)
    before = [Constraints(prefix=prefix)]
    [[found]], [[expected]] = (search(each, [[]], config, constraints=before) for each in (engine, Plain(engine)))
    assert found.tokens == expected.tokens and found.tokens[:300] == prefix


def test_steps_taken_at_once_are_those_taken_one_by_one(engine: Any) -> None:
    pad_id, *best = engine.step_best([2], engine.start(SOURCES[:1]), 9)[2][0]
    one_by_one: Any = Plain(engine)
    one_by_one.step_best = lambda *inputs: engine.step_best(*inputs[:3])
    # Any of the best tokens as the end, so that hypotheses end sooner or later; and one that must not be written.
    for eos_id, alpha, min_length in itertools.product(best, (0.6, -0.5), (0, 9)):
        engine.config = one_by_one.config = replace(engine.config, eos_id=eos_id, pad_id=pad_id)
        config = DecodeConfig(beam=4, n_best=2, max_length=40, length_penalty=alpha, min_length=min_length)
        assert search(engine, SOURCES, config) == search(one_by_one, SOURCES, config)

"""The search on the device: the same outputs as the search over the step interface, whoever shares the slots."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from regard.config import DecodeConfig, ModelConfig
from regard.decode import Hypothesis, search
from regard.decode.constraints import Constraints
from regard.engine.gpu.recording import Room
from regard.engine.gpu.search import RecordedSearch, StaticSearch
from regard.engine.torch import TorchEngine
from regard.errors import UsageError
from regard.model.transformer import Transformer

LENGTHS = [7, 1, 3, 5, 2, 11, 1, 4]
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"method": "greedy"},
    "beam-5": {"beam": 5},
    "n-best": {"beam": 4, "n_best": 3},
    "shorter-is-better": {"beam": 3, "length_penalty": -0.5},
    "min-length": {"beam": 3, "min_length": 4},
    "greedy-no-repeat": {"method": "greedy", "no_repeat_ngram": 1},
    "beam-no-repeat": {"beam": 4, "no_repeat_ngram": 2},
}


@pytest.fixture
def sources() -> list[list[int]]:
    generator = np.random.default_rng(5)
    return [[*generator.integers(4, 23, length - 1).tolist(), 3] for length in LENGTHS]


def with_ends(model: Transformer) -> Transformer:
    """So that some outputs end by themselves and some are cut: the end points where most vectors do."""
    norm = model.decoder.final_norm or model.decoder.layers[-1].feed_forward.norm
    with torch.no_grad():
        model.output.weight.mul_(2)
        if getattr(norm, "bias", None) is not None:
            model.output.weight[3].copy_(1.5 * norm.bias)
    return model


def static(model: Transformer, **room: int) -> StaticSearch:
    return StaticSearch(model, torch.float32, Room(**room))


def limits(sources: Sequence[Sequence[int]], config: DecodeConfig) -> np.ndarray:
    return np.array([config.max_length or 2 * len(source) + 50 for source in sources])


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert [each.tokens for each in ours] == [each.tokens for each in theirs]
        assert [each.stop for each in ours] == [each.stop for each in theirs]
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.score == pytest.approx(other.score, abs=1e-4)
            assert mine.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=1e-4)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_equals_the_search_over_steps(random_model, sources, settings):
    """With fewer slots than sentences, and batches of the encoder smaller than either."""
    config = DecodeConfig(max_length=9, **settings)
    for seed in range(2):
        torch.manual_seed(seed)
        model = with_ends(random_model())
        expected = search(TorchEngine(model), sources, config)
        found = static(model, rows=13, sentences=4, source_tokens=29)
        assert_same(found(sources, config, limits(sources, config)), expected)


def test_every_kind_of_decoder(random_model, writing_variant, sources):
    model = with_ends(random_model(**writing_variant))
    config = DecodeConfig(beam=3, max_length=6)
    expected = search(TorchEngine(model), sources, config)
    assert_same(static(model, rows=7)(sources, config, limits(sources, config)), expected)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("window", [None, 4])
def test_prompts_are_read_in_one_pass(random_model, sources, beam, window):
    """A decoder with shared heads goes on from prompts, some of one length, one of them empty."""
    today = dict(norm="rms", norm_placement="pre", position="rotary", biases="none", num_heads=6, d_k=4)
    model = random_model(architecture="decoder-only", num_key_value_heads=2, window=window, **today)
    prompts = [source[:-1] for source in sources]
    prompts[7] = prompts[5][::-1]
    empty: list[list[int]] = [[] for _ in prompts]
    config = DecodeConfig(method="beam", beam=beam, max_length=15, no_repeat_ngram=2)
    before = [Constraints(prefix=prompt) for prompt in prompts]
    expected = search(TorchEngine(model), empty, config, constraints=before)
    found = static(model, rows=4)(empty, config, np.full(len(prompts), 15), prompts)
    assert_same(found, expected)


def test_one_token_of_a_few_is_drawn(random_model, sources):
    """The same text as over single steps: a seed and a number decide what is drawn, wherever a source stands."""
    config = DecodeConfig(method="sample", top_k=9, top_p=0.9, temperature=0.8, seed=4, max_length=13, min_length=2)
    numbers = [30 + place for place in range(len(sources))]
    model = with_ends(random_model())
    expected = search(TorchEngine(model), sources, config, numbers=numbers)
    room = {"rows": 4, "sentences": 4, "source_tokens": 29}
    assert_same(static(model, **room)(sources, config, limits(sources, config), numbers=numbers), expected)
    model = with_ends(random_model(architecture="decoder-only", position="rotary", norm_placement="pre"))
    prompts: list[list[int]] = [source[:-1] for source in sources]
    before = [Constraints(prefix=prompt) for prompt in prompts]
    empty: list[list[int]] = [[] for _ in prompts]
    expected = search(TorchEngine(model), empty, config, constraints=before, numbers=numbers)
    assert len({tuple(each.tokens) for [each] in expected}) > len(prompts) // 2
    found = static(model, rows=4)(empty, config, np.full(len(prompts), 13), prompts, numbers)
    assert_same(found, expected)


class Whole:
    """A model that only knows how to search by itself."""

    config = ModelConfig()

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def search_whole(
        self, sources: Sequence[Sequence[int]], config: DecodeConfig, limits: np.ndarray
    ) -> list[list[Hypothesis]]:
        self.calls.append(limits.tolist())
        return [[] for _ in sources]


def test_a_plain_search_is_left_to_the_model():
    model = Whole()
    for config in (DecodeConfig(), DecodeConfig(method="greedy", max_length=4)):
        found = search(model, [[5, 3], [6, 7, 3]], config, constraints=[Constraints()] * 2)
        assert found == [[], []]
    assert model.calls == [[54, 56], [4, 4]]


@pytest.mark.parametrize(
    "changes",
    [{"config": DecodeConfig(method="sample")}, {"history": []}, {"attention": True}]
    + [{"constraints": [each]} for each in (Constraints(prefix=[5]), Constraints(required=[[5]]))],
)
def test_any_other_search_is_not(changes):
    with pytest.raises(AttributeError, match="start"):
        search(Whole(), [[5, 3]], **{"config": DecodeConfig(), **changes})


def test_where_memory_runs_out_fewer_are_searched_at_a_time(random_model, sources, monkeypatch):
    model = with_ends(random_model())
    config = DecodeConfig(beam=2, max_length=9)
    expected = static(model)(sources, config, limits(sources, config))
    found, most = static(model), 1 << 26

    class Crowded(RecordedSearch):
        def __init__(self, model, shape, room):
            if room.memory > most:
                raise torch.OutOfMemoryError("taken by others")
            super().__init__(model, shape, room)

    monkeypatch.setattr("regard.engine.gpu.search.RecordedSearch", Crowded)
    assert_same(found(sources, config, limits(sources, config)), expected)
    assert most // 2 < found.room.memory <= most
    most = 0
    with pytest.raises(UsageError, match="--device cpu"):
        static(model)(sources, config, limits(sources, config))


def is_power_of_two(number: int) -> bool:
    return number.bit_count() == 1


@pytest.mark.parametrize("beam", [1, 3, 5])
@pytest.mark.parametrize("count", [1, 7, 301])
@pytest.mark.parametrize(("source_len", "limit"), [(1, 1), (31, 83), (130, 310)])
def test_a_shape_has_room_for_what_it_is_asked_for(tiny_config, beam, count, source_len, limit):
    config = DecodeConfig(beam=beam, n_best=beam, min_length=1, no_repeat_ngram=2)
    shape = Room().shape(tiny_config(), 2, config, count=count, source_len=source_len, limit=limit)
    assert shape.num_sentences >= count and shape.source_len >= source_len and shape.max_len > limit
    assert all(map(is_power_of_two, (shape.num_sentences, shape.source_len, shape.max_len)))
    assert 0 < shape.num_slots <= shape.num_sentences and shape.num_rows <= Room.rows
    assert (shape.beam, shape.n_best) == (beam, beam)
    assert (shape.min_length, shape.no_repeat_ngram) == (1, 2)

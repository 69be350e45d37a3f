"""What is measured: recall, agreement of alignments, positions, scores by length."""

import numpy as np
import pytest
import torch

from regard.compare.gather import Figure, HeadScore, best_head, group_by_length, head_scores
from regard.compare.looks import agreement, right_share
from regard.compare.recall import NUM_SYMBOLS, batch, measure_recall, texts
from regard.compare.schemes import judge_schemes
from regard.compare.speed import full_batch, measure_speed
from regard.compare.study import RecallConfig, SpeedConfig, parse_study
from regard.config import sized

STUDY = parse_study(
    {
        "generated": {},
        "model": {"size": "tiny", "d_model": 16},
        "models": {
            "gru": {"architecture": "gru", "attention": "additive", "d_state": 12},
            "transformer": {"d_ff": 20, "num_heads": 2},
        },
    },
    "a test",
)


def test_the_symbol_is_as_far_from_both_ends() -> None:
    sources, symbols = texts(7, 5, torch.Generator().manual_seed(1))
    assert sources.shape == (7, 2 * 5 + 2)
    assert torch.equal(sources[:, 5], symbols)
    is_symbol = (sources >= 4) & (sources < 4 + NUM_SYMBOLS)
    assert is_symbol.sum(dim=1).tolist() == [1] * 7


def test_the_target_is_the_symbol_and_its_end() -> None:
    found = batch(*texts(3, 2, torch.Generator().manual_seed(1)))
    assert torch.equal(found.target_input[:, 1], found.target_output[:, 0])
    assert found.target_output[:, 1].tolist() == [3] * 3


def test_a_symbol_just_read_is_recalled() -> None:
    config = RecallConfig(
        distances=(1,), longest_train=1, steps=120, batch_tokens=200, num_tests=40,
        learning_rate=1e-2,
    )  # fmt: skip
    found = measure_recall(STUDY.contenders["transformer"], config, 1, torch.device("cpu"))
    assert found["accuracy"][1] > 0.8


@pytest.mark.parametrize("name", ["gru", "transformer"])
def test_speeds_are_measured_at_each_length(name: str) -> None:
    config = SpeedConfig(lengths=(3, 7), batch_tokens=42, repeats=2)
    assert full_batch(3, config, 11).source.shape == (7, 3)
    found = measure_speed(STUDY.contenders[name], config, 11, torch.device("cpu"))
    assert {length: len(each) for length, each in found.items()} == {3: 2, 7: 2}
    assert all(speed > 0 for each in found.values() for speed in each)


def test_agreement_by_hand() -> None:
    assert agreement([2, 0, 1], [2, 1, 1]) == pytest.approx(2 / 3)


def test_right_share_by_hand() -> None:
    """TokenizerBase: de|ux chats noirs and two bl|ack cats; `black` looks at `noirs` only with both its pieces."""
    source, target = "deux chats noirs", "two black cats"
    source_spans = [(0, 2), (2, 4), (4, 10), (10, 16)]
    target_spans = [(0, 3), (3, 6), (6, 9), (9, 14)]
    weights = np.array(
        [
            [0.3, 0.3, 0.4, 0.0],  # two: 0.6 at deux, though its largest piece is chats
            [0.0, 0.0, 0.6, 0.4],  # bl
            [0.0, 0.0, 0.1, 0.9],  # ack: with bl 0.7 at chats, 1.3 at noirs
            [0.9, 0.0, 0.1, 0.0],  # cats: looks at deux, which is wrong
        ]
    )
    links = [(0, 0), (2, 1), (1, 2)]
    share = right_share(weights, source, source_spans, target, target_spans, links)
    assert share == pytest.approx(2 / 3)


def test_the_best_head_is_the_one_that_is_right_most() -> None:
    looks = {
        "heads": ["layer 1 head 1", "layer 1 head 2"],
        "sentences": [{"most": [[0, 1], [1, 1]], "right": [0.5, 1.0]}],
    }
    against = {"sentences": [{"most": [[0, 1]]}]}
    scores = head_scores(looks, against)
    assert scores == [
        HeadScore("layer 1 head 1", 1.0, 0.5),
        HeadScore("layer 1 head 2", 0.5, 1.0),
    ]
    assert best_head(scores) == 1
    assert best_head([score._replace(right=None) for score in scores]) == 0


def test_which_scheme_fulfils_which_wish() -> None:
    found = judge_schemes(sized("tiny"))
    verdicts = {name: [each["holds"] for each in wishes] for name, wishes in found.items()}
    assert verdicts == {
        "sinusoidal": [True, True, True, True],
        "learned": [True, True, True, False],
        "rotary": [True, True, True, True],
        "relative": [False, True, True, True],
        "scaled": [True, False, True, True],
        "integer": [True, True, False, True],
        "none": [False, True, True, True],
    }


def test_groups_of_sentences() -> None:
    assert group_by_length([5, 30, 31], [10, 30]) == {"1–10": [0], "11–30": [1], "over 30": [2]}


def test_a_mean_and_its_spread() -> None:
    assert Figure((1.0, 2.0, 6.0)).mean == 3
    assert Figure((1.0, 2.0, 6.0)).spread == pytest.approx(7**0.5)
    assert Figure((4.0,)).spread is None

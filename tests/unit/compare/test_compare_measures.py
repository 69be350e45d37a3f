"""What is measured: recall, speed, alignments, positions."""

from typing import get_args

import numpy as np
import pytest
import torch

from regard.compare.measures import measure_recall, right_share, word_of
from regard.compare.results import HeadScore, best_head, head_scores
from regard.compare.study import RecallConfig, parse_study
from regard.config import Position, sized
from regard.model.position_criteria import judge

MODELS = {
    "gru": {"architecture": "gru", "attention": "additive", "d_state": 12},
    "transformer": {"d_ff": 20, "num_heads": 2},
}
SIZE = {"size": "tiny", "d_model": 16}
STUDY = parse_study({"corpora": {"generated": {}}, "model": SIZE, "models": MODELS}, "a test")


def test_a_symbol_just_read_is_recalled() -> None:
    config = RecallConfig(
        distances=(1,), longest_train=1, steps=100, batch_tokens=120, num_tests=40,
        learning_rate=1e-2,
    )  # fmt: skip
    found = measure_recall(STUDY.contenders["transformer"], config, 1, torch.device("cpu"))
    assert found[1] > 0.8


def test_right_share_by_hand_and_the_best_head() -> None:
    """Tokens: de|ux chats noirs and two bl|ack cats; `black` attends most to `noirs` only with both its tokens."""
    columns = word_of("deux chats noirs", [(0, 2), (2, 4), (4, 10), (10, 16)])
    rows = word_of("two black cats", [(0, 3), (3, 6), (6, 9), (9, 14)])
    weights = np.array(
        [
            [0.3, 0.3, 0.4, 0.0],  # two: 0.6 at deux, though its largest token is chats
            [0.0, 0.0, 0.6, 0.4],  # bl
            [0.0, 0.0, 0.1, 0.9],  # ack: with bl 0.7 at chats, 1.3 at noirs
            [0.9, 0.0, 0.1, 0.0],  # cats: attends to deux, which is wrong
        ]
    )
    links = [(0, 0), (2, 1), (1, 2)]
    assert right_share(weights, rows, columns, links) == pytest.approx(2 / 3)
    names = ["layer 1 head 1", "layer 1 head 2"]
    sentences = [{"most": [[0, 1], [1, 1]], "right": [0.5, 1.0]}]
    against = {"sentences": [{"most": [[0, 1]]}]}
    scores = head_scores({"heads": names, "sentences": sentences}, against)
    assert scores == [HeadScore(names[0], 1.0, 0.5), HeadScore(names[1], 0.5, 1.0)]
    assert best_head(scores) == 1
    assert best_head([score._replace(right=None) for score in scores]) == 0


def test_which_position_scheme_meets_which_criterion() -> None:
    found = {kind: judge(sized("tiny"), kind) for kind in get_args(Position)}
    assert {kind: [each.holds for each in verdicts] for kind, verdicts in found.items()} == {
        "sinusoidal": [True, True, True, True],
        "learned": [True, True, True, False],
        "rotary": [True, True, True, True],
        "relative": [False, True, True, True],
        "alibi": [True, True, False, True],
        "scaled": [True, False, True, True],
        "integer": [True, True, False, True],
        "none": [False, True, True, True],
    }

"""What one wants of positions: the waves fulfil it, each of the two simpler ideas fails once."""

from __future__ import annotations

import math

from regard.config import ModelConfig
from regard.look.criteria import LONG, SHORT, criteria

CONFIG = ModelConfig(source_vocab_size=11, target_vocab_size=11, d_model=14, num_heads=2)


def test_which_wish_each_idea_fulfils() -> None:
    found = criteria(CONFIG)
    verdicts = [[answer["holds"] for answer in wish["answers"]] for wish in found["wishes"]]
    assert len(found["ideas"]) == 3
    assert verdicts == [
        [True, True, True],
        [True, False, True],
        [True, True, False],
        [True, True, True],
    ]


def test_what_is_measured() -> None:
    _, steps, sizes, _ = criteria(CONFIG)["wishes"]
    waves, share, number = (answer["text"] for answer in steps["answers"])
    apart = math.sqrt(sum(2 - 2 * math.cos(10000 ** (-2 * i / 14)) for i in range(7)))
    assert waves == f"step 1→2: {apart:.3f} among {SHORT} words, {apart:.3f} among {LONG}"
    assert share == f"step 1→2: {1 / 5:.3f} among {SHORT} words, {1 / 59:.3f} among {LONG}"
    assert number == f"step 1→2: 1.000 among {SHORT} words, 1.000 among {LONG}"
    assert sizes["answers"][2]["text"].startswith("largest value: 59.0 up to 60, 599.0")

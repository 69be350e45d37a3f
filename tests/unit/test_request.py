"""Requests that contradict themselves are refused before any text is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.config import DataConfig, TrainConfig
from regard.errors import UsageError
from regard.train.request import Request

LSTM = dict(architecture="lstm", attention="additive")
PAIRS, TEXT = DataConfig(pairs=("p",)), DataConfig(text=("t",))
VECTORS = DataConfig(embeddings=("v",))
FREEZE = TrainConfig(freeze_embeddings=True)
CONTRASTIVE = TrainConfig(objective="contrastive")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            dict(init=Path("x"), size="tiny"),
            "takes shape and tokenizer from the given model: got size",
        ),
        (dict(init=Path("x"), data=DataConfig(vocabulary=99)), "got vocabulary as well"),
        (dict(data=VECTORS, init=Path("x")), "got embeddings as well"),
        (
            dict(data=DataConfig(tokenizer_file="x", joint=False)),
            "one tokenizer for both languages",
        ),
        (dict(data=PAIRS, model=dict(architecture="decoder-only")), "got pairs; give --text"),
        (dict(model=dict(architecture="encoder-only")), "learns from running text: got none"),
        (
            dict(data=TEXT, model=dict(architecture="encoder-decoder")),
            "from pairs: got .* and running text",
        ),
        (
            dict(
                data=TEXT,
                model=dict(architecture="encoder-only"),
                train=TrainConfig(objective="language"),
            ),
            "objective=language trains a model that is decoder-only: got architecture=encoder-only",
        ),
        (dict(data=DataConfig(text=("t",), joint=False)), "running text has one vocabulary"),
        (dict(model=LSTM, train=CONTRASTIVE), "an encoder alone"),
        (dict(train=TrainConfig(objective="contrastive", r_drop=1.0)), "r_drop is for words"),
        (dict(train=CONTRASTIVE, data=DataConfig(joint=False)), "one encoder"),
        (
            dict(model=LSTM, train=TrainConfig(packing=True)),
            "reads one sentence a row: got packing=true",
        ),
        (dict(model=LSTM, train=TrainConfig(sharded=True)), "cannot be cut up: got sharded=true"),
        (dict(model={**LSTM, "num_heads": 4}), "num_heads is a setting of Transformers"),
        (dict(model={"d_state": 64}), "d_state is a setting of recurrent models"),
        (dict(train=FREEZE), "freeze_embeddings needs word vectors"),
        (
            dict(data=VECTORS, train=TrainConfig(freeze_embeddings=True, weight_decay=0.1)),
            "which weight_decay does not: got both; leave one out",
        ),
    ],
)
def test_contradictions_are_named(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Request(**{"data": DataConfig(), **request_}).check()


def test_text_alone_means_a_model_that_writes() -> None:
    request = Request(TEXT)
    assert (request.objective, request.architecture) == ("language", "decoder-only")
    request.check()

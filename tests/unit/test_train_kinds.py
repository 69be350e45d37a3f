"""Runs of the other kinds of model: recurrent ones, and Transformers with batch normalisation."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from train_fixtures import QUICK, SHAPE, checkpoint_of, run
from typer.testing import CliRunner

import regard
from regard.cli.main import app
from regard.config import DataConfig, TrainConfig, sized
from regard.errors import UsageError
from regard.folder.checkpoint import read_tensors
from regard.folder.manifest import read_manifest
from regard.train.plan import complete
from regard.train.request import Request

LSTM = dict(architecture="lstm", attention="additive", d_model=24, d_state=20)
BATCH = {**SHAPE, "norm": "batch"}


# After a dozen steps it says nothing of sense.
@pytest.mark.filterwarnings("ignore::regard.errors.RegardWarning")
@pytest.mark.parametrize(
    ("cell", "attention"), [("rnn", "none"), ("gru", "dot"), ("lstm", "additive")]
)
def test_raw_text_becomes_a_folder_that_translates(
    cell: str, attention: str, corpus: DataConfig, tmp_path: Path
) -> None:
    shape = dict(architecture=cell, attention=attention, d_model=24, d_state=20)
    result = run(corpus, tmp_path / "run", model=shape)
    manifest = read_manifest(result.folder)
    assert (manifest.model.architecture, manifest.model.attention) == (cell, attention)
    assert (manifest.model.num_encoder_layers, manifest.model.d_state) == (1, 20)
    assert not (result.folder / "decoder.onnx").exists()
    card = (result.folder / "README.md").read_text()
    assert f"A recurrent encoder-decoder ({cell.upper()} cells, " in card
    assert "| d_model, d_state | 24, 20 |" in card
    translated = regard.load(str(result.folder)).translate(["un deux", "trois"])
    assert len(translated) == 2


@pytest.mark.filterwarnings("ignore::regard.errors.RegardWarning")
def test_turns_and_replies_become_a_folder_that_chats(corpus: DataConfig, tmp_path: Path) -> None:
    data = dataclasses.replace(corpus, dialogue=True)
    result = run(data, tmp_path / "run")
    assert read_manifest(result.folder).task == "chat"
    conversation = regard.load(str(result.folder)).chat()
    assert conversation.say("un deux")
    assert conversation.turns[0] == "un deux" and len(conversation.turns) == 2


@pytest.mark.parametrize(
    ("model", "packing"),
    [(LSTM, False), (BATCH, False), (BATCH, True)],
    ids=["lstm", "batch-padded", "batch-packed"],
)
def test_20_steps_equal_10_and_10_more_bit_for_bit(
    model: dict[str, Any], packing: bool, corpus: DataConfig, tmp_path: Path
) -> None:
    settings = dataclasses.replace(QUICK, steps=20, validate_every=10, packing=packing, ema=0.9)
    run(corpus, tmp_path / "whole", settings, model=model)
    assert run(corpus, tmp_path / "halves", settings, model=model, stop_at=10) is None
    assert run(corpus, tmp_path / "halves", settings, model=model, resume=True) is not None
    whole, halves = checkpoint_of(tmp_path / "whole", 20), checkpoint_of(tmp_path / "halves", 20)
    assert whole.keys() == halves.keys()
    for name, tensor in whole.items():
        assert torch.equal(tensor, halves[name]), name


def test_statistics_travel_into_the_folder(corpus: DataConfig, tmp_path: Path) -> None:
    result = run(corpus, tmp_path / "run", dataclasses.replace(QUICK, steps=6), model=BATCH)
    name = "encoder.layers.0.self_attention.norm.running_variance"
    saved = torch.from_numpy(read_tensors(result.folder)[name])
    assert torch.equal(saved, checkpoint_of(tmp_path / "run", 6)[f"weights.{name}"])
    assert not torch.equal(saved, torch.ones_like(saved))
    assert (result.folder / "decoder.onnx").exists()


def test_a_recurrent_model_starts_from_another(corpus: DataConfig, tmp_path: Path) -> None:
    first = run(corpus, tmp_path / "first", model=LSTM)
    still = dataclasses.replace(QUICK, steps=1, validate_every=1, learning_rate=1e-12)
    second = run(corpus, tmp_path / "second", still, init=first.folder)
    before, after = read_tensors(first.folder), read_tensors(second.folder)
    for name, tensor in before.items():
        assert abs(after[name] - tensor).max() < 1e-9, name


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            dict(model=LSTM, train=TrainConfig(packing=True)),
            "architecture=lstm reads one sentence a row: got packing=true; leave it out",
        ),
        (
            dict(model=LSTM, train=TrainConfig(sharded=True)),
            "architecture=lstm steps through its cells and cannot be cut up: got sharded=true; "
            "leave it out",
        ),
        (
            dict(model={**LSTM, "num_heads": 4}),
            "num_heads is a setting of Transformers: got it with architecture=lstm; leave it out",
        ),
        (
            dict(model={"d_state": 64}),
            "d_state is a setting of recurrent models: got it with architecture=encoder-decoder; "
            "leave it out",
        ),
    ],
)
def test_requests_that_contradict_themselves(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Request(DataConfig(), **request_).check()
    assert str(caught.value) == message


def test_recurrent_models_train_on_padded_batches() -> None:
    recurrent, transformer = (
        complete(TrainConfig(), model, num_pairs=30_000, num_tokens=900_000, on_gpu=True)
        for model in (sized("small", architecture="gru"), sized("small"))
    )
    assert (recurrent.packing, recurrent.compile) == (False, False)
    assert (transformer.packing, transformer.compile) == (True, True)


def test_resume_knows_the_kind_of_the_run(corpus: DataConfig, tmp_path: Path) -> None:
    shape = dict(architecture="gru", attention="additive")
    quick = dataclasses.replace(QUICK, steps=2, validate_every=1)
    run(corpus, tmp_path / "run", quick, model=shape, stop_at=1)
    with pytest.raises(UsageError, match="with attention='additive': got 'none'"):
        run(corpus, tmp_path / "run", quick, model={"attention": "none"}, resume=True)
    assert run(corpus, tmp_path / "run", quick, size="tiny", model={}, resume=True) is not None


def test_the_flags(corpus: DataConfig, tmp_path: Path) -> None:
    files = [
        "--source",
        corpus.source[0],
        "--target",
        corpus.target[0],
        "--set",
        "wrong_language=true",
    ]
    short = ["--set", "steps=2", "--set", "d_model=24", "--size", "tiny", "--quiet"]

    def train(*flags: str) -> Any:
        output = str(tmp_path / "-".join(flags[1::2]))
        return CliRunner().invoke(app, ["train", *files, *short, "--output", output, *flags])

    for architecture, written in (("gru", "gru"), ("transformer", "encoder-decoder")):
        done = train("--architecture", architecture)
        assert done.exit_code == 0, done.output
        assert read_manifest(tmp_path / architecture).model.architecture == written
    done = train("--attention", "additive")
    assert done.exit_code == 2 and isinstance(done.exception, SystemExit | UsageError)

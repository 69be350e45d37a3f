"""A signal saves and stops; while validating at once, and the validation is done again."""

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from train_fixtures import QUICK, checkpoint_of, counting_corpus, run

from regard.train import validation
from regard.train.rendezvous import Interrupted, Signals


def test_the_first_is_remembered_the_second_acts_and_what_may_be_is_cut_short() -> None:
    number = signal.SIGTERM
    acted: list[int] = []
    before = signal.signal(number, lambda number, frame: acted.append(number))
    try:
        signals = Signals(many=False)
        with signals.watched():
            os.kill(os.getpid(), number)
            assert signals.number == number and not acted
            os.kill(os.getpid(), number)
            assert acted == [number]
        os.kill(os.getpid(), number)
        assert acted == [number, number], "what was there before is there again"
    finally:
        signal.signal(number, before)
    signals = Signals(many=False)
    with signals.watched(), pytest.raises(Interrupted, match="stopped by SIGTERM") as caught:
        with signals.cutting_short():
            os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.exit_code == 143
    signals = Signals(many=True)
    with signals.watched(), signals.cutting_short():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signals.number == signal.SIGTERM


def test_a_validation_that_was_broken_off_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = signal.SIGINT
    corpus, settings = counting_corpus(tmp_path), dataclasses.replace(QUICK, average=2)
    run(corpus, tmp_path / "whole", settings)
    real = validation.translation_loss

    def interrupted(*args: Any) -> float:
        os.kill(os.getpid(), number)
        return real(*args)

    monkeypatch.setattr(validation, "translation_loss", interrupted)
    with pytest.raises(Interrupted) as caught:
        run(corpus, tmp_path / "halves", settings)
    assert caught.value.exit_code == 128 + number
    assert not (tmp_path / "halves" / "best").exists(), "it was broken off"
    monkeypatch.undo()
    assert run(corpus, tmp_path / "halves", settings, resume=True) is not None
    whole, halves = checkpoint_of(tmp_path / "whole", 12), checkpoint_of(tmp_path / "halves", 12)
    for name, tensor in whole.items():
        assert torch.equal(tensor, halves[name]), name
    for step in (6, 12):
        one, other = (tmp_path / name / f"best/step-{step:08d}/SHA256SUMS" for name in ("whole", "halves"))
        assert one.read_text() == other.read_text()

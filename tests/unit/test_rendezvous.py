"""Processes find those started with them, or end; a signal saves and stops, and what it broke off is done again."""

import dataclasses
import datetime
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from train_fixtures import QUICK, checkpoint_of, counting_corpus, run

from regard.train import rendezvous, validation
from regard.train.rendezvous import Interrupted, Signals

TIMEOUT = datetime.timedelta(seconds=40)
ALONE = """
import ctypes, datetime, sys, time
from regard.train.rendezvous import time_limit

with time_limit(datetime.timedelta(seconds=600)):
    time.sleep(0.1)
with time_limit(datetime.timedelta(seconds=1)):
    (ctypes.PyDLL(None).usleep if sys.argv[1] == "held" else lambda long: time.sleep(long / 1e6))(10**9)
"""


@pytest.mark.parametrize("way, says", [("waits", "regard: all processes"), ("held", "Timeout")])
def test_who_does_not_meet_the_others_ends(way: str, says: str) -> None:
    done = subprocess.run([sys.executable, "-c", ALONE, way], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith(says)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dist.Store:
    """torchrun's store, in which an earlier start has left where its first process was."""
    store = dist.HashStore()
    gone = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    store.set(rendezvous._KEY, f"{gone.port} 127.0.0.1")
    del gone
    monkeypatch.setattr(rendezvous, "rendezvous", lambda *_, **__: iter([(store, 0, 2)]))
    monkeypatch.setattr(rendezvous, "_ATTEMPT", datetime.timedelta(seconds=0.5))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    return store


def test_who_comes_before_the_first_waits_for_it(known: dist.Store) -> None:
    found: list[dist.Store] = []

    def look() -> None:
        found.append(rendezvous.connect(is_first=False, timeout=TIMEOUT)[0])

    early = threading.Thread(target=look)
    early.start()
    early.join(1.0)
    assert not found, "nobody is there"
    own, kept = rendezvous.connect(is_first=True, timeout=TIMEOUT)
    early.join()
    look()
    assert kept is known
    own.set("said", "by the first")
    assert [store.get("said") for store in found] == [b"by the first"] * 2


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

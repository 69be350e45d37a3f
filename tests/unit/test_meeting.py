"""Processes find the first of those that were started with them, not one that has ended."""

from __future__ import annotations

import datetime
import threading

import pytest
import torch.distributed as dist

from regard.train import rendezvous

TIMEOUT = datetime.timedelta(seconds=40)


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


def test_nobody_is_waited_for_for_ever(known: dist.Store) -> None:
    with pytest.raises(dist.DistError):
        rendezvous.connect(is_first=False, timeout=datetime.timedelta(seconds=0.1))

"""Processes find those started with them; one that does not find them ends."""

import datetime
import subprocess
import sys
import threading

import pytest
import torch.distributed as dist

from regard.train import rendezvous

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

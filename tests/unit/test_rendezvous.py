"""Processes find those started with them; one that stands still is given up, one that is busy or done is not."""

import datetime
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest
import torch.distributed as dist
from torch.distributed import TCPStore

from regard.train import rendezvous
from regard.train.rendezvous import MOST_SILENT, Watch

TIMEOUT = datetime.timedelta(seconds=40)
EVERY = datetime.timedelta(seconds=0.1)
LONGER = 2 * MOST_SILENT * EVERY.total_seconds()
"""seconds after which one that is silent would have been given up"""
CHILD = f"""
import ctypes, datetime, sys
from torch.distributed import TCPStore
from regard.train.rendezvous import Watch

port, rank, size = map(int, sys.argv[1:])
store = TCPStore("127.0.0.1", port, is_master=False)
watch = Watch(store, rank, size, every=datetime.timedelta(seconds={EVERY.total_seconds()}))
print("watched", flush=True)
if sys.stdin.readline() == "hold\\n":
    ctypes.PyDLL(None).usleep({int(1e6 * LONGER)})  # which lets no other thread of Python run
    print("held", flush=True)
    sys.stdin.readline()
watch.end()
"""


ALONE = """
import ctypes, datetime, sys, time
from regard.train.rendezvous import ended_after

with ended_after(datetime.timedelta(seconds=600)):
    time.sleep(0.1)
with ended_after(datetime.timedelta(seconds=1)):
    (ctypes.PyDLL(None).usleep if sys.argv[1] == "held" else lambda long: time.sleep(long / 1e6))(10**9)
"""


@pytest.fixture
def store() -> TCPStore:
    return TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


@pytest.fixture
def children(store: TCPStore) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes 1 and 2 of three."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(store.port), str(rank), "3"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (1, 2)
    ]
    yield started
    for child in started:
        child.kill()
        child.communicate()


def say(child: subprocess.Popen[str], word: str) -> None:
    assert child.stdin is not None
    child.stdin.write(word + "\n")
    child.stdin.flush()


def told(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def test_who_is_busy_is_not_given_up_and_who_stands_still_is(store, children):
    reasons: SimpleQueue[str] = SimpleQueue()
    watch = Watch(store, 0, 3, every=EVERY, give_up=reasons.put)
    assert [told(child) for child in children] == ["watched"] * 2
    first, second = children
    say(first, "hold")
    assert told(first) == "held"
    assert reasons.empty() and first.poll() is second.poll() is None
    second.send_signal(signal.SIGSTOP)
    assert first.wait() == 1
    assert first.stderr is not None
    assert "regard: all processes of a run must stay alive: process 2" in first.stderr.read()
    assert reasons.empty(), "process 1 has ended, which torchrun notices"
    watch.end()


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

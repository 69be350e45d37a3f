"""Each process of a run asks the next whether it is still there; one that stands still is not waited for.

A process that ends is noticed by torchrun, one that is stopped, or on a machine that is gone, by nobody. Each opens
a store for this, as torch's stores are answered by a thread of their own in C++: one that learns its vocabulary for
minutes, and lets no Python run meanwhile, answers all the same, and one that is stopped does not. They ask in a
ring, so that however many stand still, one of those that do not is next to one that does.
"""

from __future__ import annotations

import datetime
import faulthandler
import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch.distributed as dist
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from regard.train.meeting import TIMEOUT, open_store, reach_store

ASK_EVERY = datetime.timedelta(seconds=5)
MOST_SILENT = 8
"""times in a row; torchrun then takes half a minute more to end one that does not listen"""

_GRACE = 5
"""seconds in which a thread of Python would have ended the process"""


def lost(reason: str) -> str:
    """That a run cannot go on, and what to do."""
    return (
        f"all processes of a run must stay alive: {reason}; "
        "start them again with --resume, or let torchrun do it with --max-restarts"
    )


@contextmanager
def ended_after(limit: datetime.timedelta) -> Iterator[None]:
    """The process ends, and says why, when the others are not met within this time."""
    seconds = limit.total_seconds()
    reason = lost(f"not all have met within {seconds:.0f} seconds")
    timer = threading.Timer(seconds, _end_process, [reason])
    timer.daemon = True
    timer.start()
    # While gloo looks for the others it keeps to no limit of time, nor lets any other thread of Python run.
    faulthandler.dump_traceback_later(seconds + _GRACE, exit=True)
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()


class Watch:
    """Answers the process before this one and asks the one after it, until `end`."""

    def __init__(
        self,
        store: TCPStore,
        rank: int,
        size: int,
        *,
        every: datetime.timedelta = ASK_EVERY,
        give_up: Callable[[str], None] | None = None,
    ) -> None:
        """`store` is one that all share; `give_up` is told why, by default it ends the process."""
        self._every = every.total_seconds()
        self._give_up = give_up or _end_process
        self._next = (rank + 1) % size
        self._own = open_store(_own_host(store), store, _key(rank))
        self._asked = reach_store(store, _key(self._next), TIMEOUT)
        self._num_answers = 0
        self._ended = threading.Event()
        # Two threads, since a store keeps to no limit of time with one who has stopped in the middle.
        self._asking = threading.Thread(target=self._ask, daemon=True)
        self._asking.start()
        threading.Thread(target=self._count, daemon=True).start()

    def end(self) -> None:
        """Ask no more; the others are still answered while this object is there."""
        self._ended.set()
        # A thread in the middle of a question when Python ends would make it crash.
        self._asking.join(self._every)

    def _ask(self) -> None:
        while not self._ended.wait(self._every):
            try:
                self._asked.num_keys()
            except dist.DistError:
                # It has ended, which is for torchrun to judge: it may be done.
                self._ended.set()
            self._num_answers += 1

    def _count(self) -> None:
        # Counted, not timed: while this process itself lets no Python run, answers cannot be taken.
        silent = known = 0
        while not self._ended.wait(self._every):
            silent = silent + 1 if self._num_answers == known else 0
            known = self._num_answers
            if silent == MOST_SILENT:
                seconds = round(silent * self._every)
                who = f"process {self._next} at {self._asked.host}"
                self._give_up(lost(f"{who} has not answered for {seconds} seconds"))
                return


def _key(rank: int) -> str:
    return f"where process {rank} answers"


def _own_host(store: TCPStore) -> str:
    """By which name the others reach this machine: as it is seen by the one that holds the store."""
    family, kind, protocol, _, place = socket.getaddrinfo(
        store.host, store.port, type=socket.SOCK_DGRAM
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(place)  # which sends nothing
        address: str = probe.getsockname()[0]
    return store.host if ipaddress.ip_address(address).is_loopback else address


def _end_process(reason: str) -> None:
    """At once, whatever its other threads wait for."""
    print(f"regard: {reason}", file=sys.stderr, flush=True)
    os._exit(1)

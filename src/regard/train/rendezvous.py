"""The processes of a run: how they connect at each start, and how they react to signals.

torchrun's store outlives the processes it restarts, and with it the addresses of dead ones, for which new ones would
wait. So the first process opens a new store at each start, and puts only its address into torchrun's.

torchrun notices a process that ends. One that is stopped, or whose machine is gone, is noticed in the next step, which has
a time limit.

SIGINT and SIGTERM: the first one saves and stops after the step, a second one acts at once.
"""

import datetime
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch.distributed as dist
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from regard.errors import RegardError

TIMEOUT = datetime.timedelta(seconds=60)
"""Timeout of an operation that should take a moment, such as a step; after it a process counts as dead."""

_KEY = "where the first process of the run is"
_ATTEMPT = datetime.timedelta(seconds=3)
"""Timeout for connecting to a process that may have died."""
_GRACE = 5  # Seconds before the C++ watchdog ends the process, in case the Python thread is blocked.


def connect(*, is_first: bool, timeout: datetime.timedelta = TIMEOUT) -> tuple[TCPStore, Store]:
    """The store of this start, and torchrun's, where later processes may still look for the address."""
    known, *_ = next(rendezvous("env://", timeout=timeout))
    if is_first:
        host = os.environ["MASTER_ADDR"]
        store = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=TIMEOUT)
        known.set(_KEY, f"{store.port} {host}")
        return store, known
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            port, host = known.get(_KEY).decode().split()
            store = TCPStore(host, int(port), is_master=False, timeout=_ATTEMPT)
        except dist.DistError:
            if time.monotonic() > deadline:
                raise
            continue
        store.set_timeout(timeout)
        return store, known


@contextmanager
def time_limit(limit: datetime.timedelta) -> Iterator[None]:
    """End the process, with a reason, when the others cannot be reached within this time."""
    seconds = limit.total_seconds()
    reason = lost_process(f"not all have met within {seconds:.0f} seconds")
    timer = threading.Timer(seconds, _end_process, [reason])
    timer.daemon = True
    timer.start()
    # While gloo connects, it respects no timeout and lets no other Python thread run.
    faulthandler.dump_traceback_later(seconds + _GRACE, exit=True)
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()


def lost_process(reason: str) -> str:
    """The error of a run that has lost a process."""
    return (
        f"all processes of a run must stay alive: {reason}; "
        "start them again with --resume, or let torchrun do it with --max-restarts"
    )


def _end_process(reason: str) -> None:
    """At once, without waiting for other threads."""
    print(f"regard: {reason}", file=sys.stderr, flush=True)
    os._exit(1)


class Interrupted(RegardError):
    """A signal has stopped the run; everything is saved."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name} with everything saved: continue with --resume")
        self.exit_code = 128 + number


class Signals:
    """Remembers a signal.

    many: several processes under torchrun. torchrun passes signals on and ends processes that do not stop in time, so
    a second signal means nothing; and no process may leave work that the others are still doing.
    """

    def __init__(self, *, many: bool) -> None:
        self.many = many
        self.number = 0
        self._may_cut_short = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def remember(number: int, frame: object) -> None:
            self.number = number
            if self.many:
                return
            for known, handler in before.items():
                signal.signal(known, handler)
            if self._may_cut_short:
                raise Interrupted(number)

        for number in before:
            signal.signal(number, remember)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def cutting_short(self) -> Iterator[None]:
        """Around long work that can be repeated: a signal ends it with `Interrupted`."""
        try:
            self._may_cut_short = True
            yield
        finally:
            self._may_cut_short = False

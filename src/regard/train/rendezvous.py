"""The life of a run's processes: they find one another at each start, watch one another, and heed signals.

torchrun's store outlives the processes it restarts, and with it the addresses of dead ones, for which new ones would
wait. So the first process opens a new store at each start, and puts only its address into torchrun's.

torchrun notices a process that ends, but not one that is stopped or whose machine is gone. So each process asks the
next one, in a ring, whether it still answers. A store of torch is answered by a thread in C++: a process that learns
a vocabulary for minutes, without letting other Python threads run, still answers; a stopped one does not.

SIGINT and SIGTERM: the first one saves and stops after the step, a second one acts at once.
"""

import datetime
import faulthandler
import ipaddress
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch.distributed as dist
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from regard.errors import RegardError

TIMEOUT = datetime.timedelta(seconds=60)
"""Timeout of an operation that should take a moment, such as a step; after it a process counts as dead."""
ASK_EVERY = datetime.timedelta(seconds=5)
"""Interval between two questions to the next process."""
MOST_SILENT = 8
"""Consecutive unanswered questions before the run is given up. torchrun needs half a minute more to end it."""

_KEY = "where the first process of the run is"
_ATTEMPT = datetime.timedelta(seconds=3)
"""Timeout for connecting to a process that may have died."""
_GRACE = 5
"""Seconds before the C++ watchdog ends the process, in case the Python thread is blocked."""


def connect(*, is_first: bool, timeout: datetime.timedelta = TIMEOUT) -> tuple[TCPStore, Store]:
    """The store of this start, and torchrun's, where later processes may still look for the address."""
    known, *_ = next(rendezvous("env://", timeout=timeout))
    if is_first:
        return open_store(os.environ["MASTER_ADDR"], known, _KEY), known
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            store = reach_store(known, _KEY, _ATTEMPT)
        except dist.DistError:
            if time.monotonic() > deadline:
                raise
            continue
        store.set_timeout(timeout)
        return store, known


def open_store(host: str, known: Store, key: str) -> TCPStore:
    """A new store in this process; its address is put into a known one."""
    own = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=TIMEOUT)
    known.set(key, f"{own.port} {host}")
    return own


def reach_store(known: Store, key: str, timeout: datetime.timedelta) -> TCPStore:
    """The store that was opened with this key."""
    port, host = known.get(key).decode().split()
    return TCPStore(host, int(port), is_master=False, timeout=timeout)


@contextmanager
def ended_after(limit: datetime.timedelta) -> Iterator[None]:
    """End the process, with a reason, when the others cannot be reached within this time."""
    seconds = limit.total_seconds()
    reason = lost(f"not all have met within {seconds:.0f} seconds")
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


class Watch:
    """Answers the previous process and asks the next one, until `end`."""

    def __init__(
        self,
        store: TCPStore,
        rank: int,
        size: int,
        *,
        every: datetime.timedelta = ASK_EVERY,
        give_up: Callable[[str], None] | None = None,
    ) -> None:
        """`store` is shared by all processes; `give_up` gets the reason and by default ends the process."""
        self._every = every.total_seconds()
        self._give_up = give_up or _end_process
        self._next = (rank + 1) % size
        key = "where process {} answers"
        self._own = open_store(_own_host(store), store, key.format(rank))
        self._asked = reach_store(store, key.format(self._next), TIMEOUT)
        self._num_answers = 0
        self._ended = threading.Event()
        # Two threads, since a store respects no timeout when the other side stops in the middle of an answer.
        self._asking = threading.Thread(target=self._ask, daemon=True)
        self._asking.start()
        threading.Thread(target=self._count, daemon=True).start()

    def end(self) -> None:
        """Stop asking; the others are still answered while this object exists."""
        self._ended.set()
        # Python would crash at exit with a thread in the middle of a question.
        self._asking.join(self._every)

    def _ask(self) -> None:
        while not self._ended.wait(self._every):
            try:
                self._asked.num_keys()
            except dist.DistError:
                # The process has ended. It may be done; torchrun judges that.
                self._ended.set()
            self._num_answers += 1

    def _count(self) -> None:
        # Counted, not timed: while this process itself lets no Python thread run, it cannot take answers.
        silent = known = 0
        while not self._ended.wait(self._every):
            silent = silent + 1 if self._num_answers == known else 0
            known = self._num_answers
            if silent == MOST_SILENT:
                seconds = round(silent * self._every)
                who = f"process {self._next} at {self._asked.host}"
                self._give_up(lost(f"{who} has not answered for {seconds} seconds"))
                return


def lost(reason: str) -> str:
    """The error of a run that has lost a process."""
    return (
        f"all processes of a run must stay alive: {reason}; "
        "start them again with --resume, or let torchrun do it with --max-restarts"
    )


def _own_host(store: TCPStore) -> str:
    """The name of this machine for the others: its address as the store's host sees it."""
    family, kind, protocol, _, place = socket.getaddrinfo(store.host, store.port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(place)  # a datagram socket: nothing is sent
        address: str = probe.getsockname()[0]
    return store.host if ipaddress.ip_address(address).is_loopback else address


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

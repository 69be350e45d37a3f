"""Where the processes of a run find one another, each time they are started.

torchrun gives them a store that outlives those it starts again, and with it the addresses of the dead, for whom the next
would wait. So the first opens another each time, and leaves in torchrun's only where it is.
"""

from __future__ import annotations

import datetime
import os
import time

import torch.distributed as dist
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

TIMEOUT = datetime.timedelta(seconds=60)
"""for what should take a moment, as a step does: who has not done it by then is taken for dead"""
_KEY = "where the first process of the run is"
_ATTEMPT = datetime.timedelta(seconds=3)
"""to reach a place that may be one of the dead"""


def meet(*, is_first: bool, timeout: datetime.timedelta = TIMEOUT) -> tuple[TCPStore, Store]:
    """The store of this start, and torchrun's, in which others may still look for the place."""
    known, *_ = next(rendezvous("env://", timeout=timeout))
    if is_first:
        return open_store(os.environ["MASTER_ADDR"], known, _KEY), known
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            found = reach_store(known, _KEY, _ATTEMPT)
        except dist.DistError:
            if time.monotonic() > deadline:
                raise
            continue
        found.set_timeout(timeout)
        return found, known


def open_store(host: str, known: Store, key: str) -> TCPStore:
    """A new one in this process, on a machine of that name; where it is, is left in a known one."""
    own = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=TIMEOUT)
    known.set(key, f"{own.port} {host}")
    return own


def reach_store(known: Store, key: str, timeout: datetime.timedelta) -> TCPStore:
    """The one that was opened with this key."""
    port, host = known.get(key).decode().split()
    return TCPStore(host, int(port), is_master=False, timeout=timeout)

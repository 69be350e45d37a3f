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

_KEY = "where the first process of the run is"
_ATTEMPT = datetime.timedelta(seconds=3)
"""to reach a place that may be one of the dead"""


def meet(*, is_first: bool, timeout: datetime.timedelta) -> tuple[Store, Store]:
    """The store of this start, and torchrun's, in which others may still look for the place."""
    known, *_ = next(rendezvous("env://", timeout=timeout))
    if is_first:
        host = os.environ["MASTER_ADDR"]
        own = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=timeout)
        known.set(_KEY, f"{own.port} {host}")
        return own, known
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        port, host = known.get(_KEY).decode().split()
        try:
            found = TCPStore(host, int(port), is_master=False, timeout=_ATTEMPT)
        except dist.DistError:
            if time.monotonic() > deadline:
                raise
            continue
        found.set_timeout(timeout)
        return found, known

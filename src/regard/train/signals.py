"""SIGINT and SIGTERM during a run: the first one saves and stops after the step, a second one acts at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from regard.errors import RegardError


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

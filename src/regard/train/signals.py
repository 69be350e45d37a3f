"""SIGINT and SIGTERM while a run trains: the first saves and stops after the step, the second acts at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from regard.errors import RegardError


class Interrupted(RegardError):
    """A signal asked the run to stop; everything is saved."""

    def __init__(self, number: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name} with everything saved: continue with --resume")
        self.exit_code = 128 + number


class Signals:
    """Remembers the one that came.

    many: under torchrun, which passes on a signal that came to all and ends what does not stop in time, a second
    one means nothing; and no process may leave what the others are still doing.
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
        """Around what may take long and can be done anew: a signal ends it with `Interrupted`."""
        try:
            self._may_cut_short = True
            yield
        finally:
            self._may_cut_short = False

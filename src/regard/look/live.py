"""The page of a run while it trains: in the trainer's process, so that it ends with it, and idle until somebody looks."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from regard.look.server import Server
from regard.look.session import Session
from regard.look.training_run import Budget, TrainingRun
from regard.train.snapshots import list_snapshots


def live_session(folder: Path, budget: Budget | None = None) -> Session:
    """The page of a run that goes on: it begins at the random start, on a sentence of the validation text.

    While the run goes on outputs are searched greedily, which takes less of its time.
    """
    training = TrainingRun(folder, budget)
    subject = training.subject(list_snapshots(folder)[0])
    greedy = replace(subject.manifest.decode, method="greedy", n_best=1)
    return Session(subject, training.first_text(), greedy, training=training)


@contextmanager
def served_live(folder: Path, opened: Callable[[str], object]) -> Iterator[threading.Event]:
    """Serve the page of the run in this folder, from its first snapshot on; `opened` is called with its address then.

    A thread waits for the snapshot, and another for visitors. The event is set where the page is served.
    """
    ends, is_served = threading.Event(), threading.Event()
    servers: list[Server] = []

    def serve() -> None:
        while not TrainingRun.at(folder):
            if ends.wait(0.5):
                return
        budget = Budget()
        with Server(partial(live_session, folder, budget), spend=budget.spend) as server:
            servers.append(server)
            is_served.set()
            opened(server.url)
            server.serve_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield is_served
    finally:
        ends.set()
        while thread.is_alive():  # it may be about to serve
            for server in servers:
                server.shutdown()
            thread.join(0.1)

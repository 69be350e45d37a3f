"""The log, one line of JSON for each event on standard error, and metrics in Prometheus' text format.

Neither holds a user's text, key, query or address; labels are this server's own words. Of an unexpected error the log
has the type and the place, but not the message, which may quote a text.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import sys
import threading
import traceback
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TextIO

_NUM_FRAMES = 12
"""innermost stack frames of an error in the log"""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labels = tuple[tuple[str, str], ...]


class Log:
    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def write(self, event: str, **values: Any) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "event": event, **values}, ensure_ascii=False)
        with suppress(OSError, ValueError):  # a log that nobody can read must not stop the answers
            print(line, file=self._stream or sys.stderr, flush=True)

    def fault(self, event: str, error: BaseException, **values: Any) -> None:
        frames = traceback.extract_tb(error.__traceback__)[-_NUM_FRAMES:]
        where = [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames]
        self.write(event, error=type(error).__name__, where=where, **values)


class UvicornHandler(logging.Handler):
    """Writes uvicorn's warnings to our log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = record.levelname.lower()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._log.fault("server", error, level=level)
        else:
            self._log.write("server", level=level, message=str(record.msg))


# Of every metric, `lines` are the values in Prometheus' format.


class Counter:
    kind = "counter"

    def __init__(self, name: str, help: str) -> None:
        self.name, self.help, self._lock = name, help, threading.Lock()
        self._values: dict[Labels, float] = {}

    def add(self, amount: float = 1, **labels: str) -> None:
        key = tuple(sorted(labels.items()))
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount

    def lines(self) -> Iterator[str]:
        with self._lock:
            values = sorted(self._values.items())
        return (_line(self.name, labels, value) for labels, value in values)


@dataclass(frozen=True)
class Gauge:
    name: str
    help: str
    read: Callable[[], dict[str, float]]
    """the current values, by label"""
    label: str = ""
    kind = "gauge"

    def lines(self) -> Iterator[str]:
        for key, value in self.read().items():
            yield _line(self.name, ((self.label, key),) if self.label else (), value)


class Histogram:
    kind = "histogram"

    def __init__(self, name: str, help: str, bounds: tuple[float, ...]) -> None:
        self.name, self.help, self._lock = name, help, threading.Lock()
        self._bounds = bounds
        self._values: dict[Labels, list[float]] = {}
        """counts of each bucket, and last the sum of the values"""

    def observe(self, value: float, **labels: str) -> None:
        with self._lock:
            empty = [0.0] * (len(self._bounds) + 2)
            values = self._values.setdefault(tuple(sorted(labels.items())), empty)
            values[bisect_left(self._bounds, value)] += 1
            values[-1] += value

    def lines(self) -> Iterator[str]:
        with self._lock:
            found = sorted((key, list(values)) for key, values in self._values.items())
        edges = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        for key, (*counts, total) in found:
            for edge, count in zip(edges, accumulate(counts), strict=True):
                yield _line(f"{self.name}_bucket", (*key, ("le", edge)), count)
            yield _line(f"{self.name}_sum", key, total)
            yield _line(f"{self.name}_count", key, sum(counts))


class Metrics:
    def __init__(self) -> None:
        self.requests = Counter("regard_requests_total", "Requests by route, method and status.")
        self.seconds = Histogram("regard_request_seconds", "Time to answer, by route.", _SECONDS)
        self.refused = Counter("regard_refused_total", "Requests refused, by reason.")
        about = "Sentences translated and turns answered, by model."
        self.sentences = Counter("regard_sentences_total", about)
        self.tokens = Counter("regard_tokens_total", "Tokens written by chat and story models.")
        self.batches = Histogram("regard_batch_sentences", "Sentences or turns of a batch.", _SIZES)
        self.gauges = [
            Gauge("process_resident_memory_bytes", "Memory in use.", _memory),
            Gauge("process_open_fds", "Open files and connections.", _open_files),
        ]

    def text(self) -> str:
        counts = (self.requests, self.seconds, self.refused, self.sentences, self.tokens)
        metrics: list[Counter | Gauge | Histogram] = [*counts, self.batches, *self.gauges]
        lines: list[str] = []
        for each in metrics:
            lines += [f"# HELP {each.name} {each.help}", f"# TYPE {each.name} {each.kind}"]
            lines += each.lines()
        return "\n".join(lines) + "\n"


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels)
    return f"{name}{{{inner}}} {value:.10g}" if inner else f"{name} {value:.10g}"


def _memory() -> dict[str, float]:
    """Resident memory, on Linux."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {"": float(pages * os.sysconf("SC_PAGE_SIZE"))}
    return {}


def _open_files() -> dict[str, float]:
    with suppress(OSError):
        return {"": float(len(os.listdir("/proc/self/fd")))}
    return {}

"""Counts for Prometheus, in its text format; labels are ours alone, never a client's words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Labels = tuple[tuple[str, str], ...]


class Counter:
    kind = "counter"

    def __init__(self, name: str, help: str) -> None:
        self.name, self.help = name, help
        self._values: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def add(self, amount: float = 1, **labels: str) -> None:
        key = tuple(sorted(labels.items()))
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount

    def lines(self) -> Iterator[str]:
        with self._lock:
            values = dict(self._values)
        for labels, value in sorted(values.items()):
            yield _line(self.name, labels, value)


class Gauge:
    """A value that is looked up when it is asked for, for each label."""

    kind = "gauge"

    def __init__(
        self, name: str, help: str, read: Callable[[], dict[str, float]], label: str
    ) -> None:
        self.name, self.help = name, help
        self._read, self._label = read, label

    def lines(self) -> Iterator[str]:
        for key, value in self._read().items():
            yield _line(self.name, ((self._label, key),) if self._label else (), value)


class Histogram:
    kind = "histogram"

    def __init__(self, name: str, help: str, bounds: tuple[float, ...]) -> None:
        self.name, self.help, self._bounds = name, help, bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        self._lock = threading.Lock()

    def observe(self, value: float, **labels: str) -> None:
        key = tuple(sorted(labels.items()))
        place = next((i for i, bound in enumerate(self._bounds) if value <= bound), None)
        with self._lock:
            counts = self._counts.setdefault(key, [0] * (len(self._bounds) + 1))
            counts[len(self._bounds) if place is None else place] += 1
            self._sums[key] = self._sums.get(key, 0) + value

    def lines(self) -> Iterator[str]:
        with self._lock:
            counts = {key: list(each) for key, each in self._counts.items()}
            sums = dict(self._sums)
        for key, each in sorted(counts.items()):
            total = 0
            for bound, count in zip((*self._bounds, float("inf")), each, strict=True):
                total += count
                edge = "+Inf" if bound == float("inf") else f"{bound:g}"
                yield _line(f"{self.name}_bucket", (*key, ("le", edge)), total)
            yield _line(f"{self.name}_sum", key, sums[key])
            yield _line(f"{self.name}_count", key, total)


class Metrics:
    """Everything that is counted."""

    def __init__(self) -> None:
        self.requests = Counter("regard_requests_total", "Requests by route, method and status.")
        self.seconds = Histogram("regard_request_seconds", "Time to answer, by route.", _SECONDS)
        self.refused = Counter("regard_refused_total", "Requests refused, by reason.")
        self.sentences = Counter(
            "regard_sentences_total", "Sentences translated and turns answered, by model."
        )
        self.tokens = Counter(
            "regard_tokens_total", "TokenizerBase written by chat and story models."
        )
        self.batches = Histogram("regard_batch_sentences", "Sentences or turns of a batch.", _SIZES)
        self.gauges: list[Gauge] = [
            Gauge("process_resident_memory_bytes", "Memory in use.", _memory, ""),
            Gauge("process_open_fds", "Open files and connections.", _open_files, ""),
        ]

    def gauge(self, name: str, help: str, read: Callable[[], dict[str, float]], label: str) -> None:
        self.gauges.append(Gauge(name, help, read, label))

    def text(self) -> str:
        counted: list[Counter | Histogram | Gauge] = [
            self.requests,
            self.seconds,
            self.refused,
            self.sentences,
            self.tokens,
            self.batches,
            *self.gauges,
        ]
        lines: list[str] = []
        for each in counted:
            lines += [f"# HELP {each.name} {each.help}", f"# TYPE {each.name} {each.kind}"]
            lines += each.lines()
        return "\n".join(lines) + "\n"


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{key}="{_escape(text)}"' for key, text in labels)
    return f"{name}{{{inner}}} {value:.10g}" if inner else f"{name} {value:.10g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _memory() -> dict[str, float]:
    """Where the system says it in a file."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return {}
    return {"": float(pages * os.sysconf("SC_PAGE_SIZE"))}


def _open_files() -> dict[str, float]:
    try:
        return {"": float(len(os.listdir("/proc/self/fd")))}
    except OSError:
        return {}

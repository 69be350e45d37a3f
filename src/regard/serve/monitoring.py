"""The log, one line of JSON for each event on standard error, and metrics in Prometheus' text format.

Neither holds a user's text, key, query or address; labels are this server's own words. Of an unexpected error the log
has the type and the place, but not the message, which may quote a text.
"""

import datetime
import json
import logging
import sys
import threading
import tomllib
import traceback
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

_ABOUT: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Log(logging.Handler):
    """Our own events, and uvicorn's warnings."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream

    def event(self, event: str, **values: Any) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "event": event, **values}, ensure_ascii=False)
        with suppress(OSError, ValueError):  # a log that nobody can read must not stop the answers
            print(line, file=self._stream or sys.stderr, flush=True)

    def fault(self, error: BaseException, event: str = "fault", **values: Any) -> None:
        frames = traceback.extract_tb(error.__traceback__)[-12:]
        where = [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames]
        self.event(event, error=type(error).__name__, where=where, **values)

    def emit(self, record: logging.LogRecord) -> None:
        level = record.levelname.lower()
        if record.exc_info and record.exc_info[1] is not None:
            self.fault(record.exc_info[1], "server", level=level)
        else:
            self.event("server", level=level, message=str(record.msg))


class Metrics:
    """Values by metric and then by line, as Prometheus reads it: `name{labels}`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[str, float]] = {name: defaultdict(float) for name in _ABOUT}
        self.gauges: dict[str, Callable[[], dict[str, float]]] = {}
        """functions that read the current values by model"""

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        with self._lock:
            self._values[name][_line(name, labels)] += amount

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Count a value in every bucket of a histogram that is large enough for it."""
        with self._lock:
            values = self._values[name]
            for bound in (*_ABOUT[name]["bounds"], float("inf")):
                edge = "+Inf" if bound == float("inf") else f"{bound:g}"
                values[_line(f"{name}_bucket", {**labels, "le": edge})] += value <= bound
            values[_line(f"{name}_sum", labels)] += value
            values[_line(f"{name}_count", labels)] += 1

    def text(self) -> str:
        with self._lock:
            values = {name: dict(each) for name, each in self._values.items()}
        for name, read in self.gauges.items():
            values[name] = {_line(name, {"model": key}): each for key, each in read().items()}
        lines: list[str] = []
        for name, each in _ABOUT.items():
            lines += [f"# HELP {name} {each['about']}", f"# TYPE {name} {each['kind']}"]
            lines += [f"{line} {value:.10g}" for line, value in values[name].items()]
        return "\n".join(lines) + "\n"


def _line(name: str, labels: dict[str, str]) -> str:
    inner = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels.items())
    return f"{name}{{{inner}}}"

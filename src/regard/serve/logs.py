"""One line of JSON for each event, on standard error: what was asked of which route and how it went.

No text of a user, no key, no query and no address is ever in it. Of an error that should not be, it says the kind and
where it arose, but not its message, which may quote a text.
"""

from __future__ import annotations

import datetime
import json
import logging
import sys
import traceback
from typing import Any, TextIO

_NUM_FRAMES = 12


class Log:
    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def write(self, event: str, **values: Any) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "event": event, **values}, ensure_ascii=False)
        try:
            print(line, file=self._stream or sys.stderr, flush=True)
        except (OSError, ValueError):
            # Nobody reads the log any more; the answers are wanted all the same.
            return

    def fault(self, event: str, error: BaseException, **values: Any) -> None:
        frames = traceback.extract_tb(error.__traceback__)[-_NUM_FRAMES:]
        where = [
            f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames
        ]
        self.write(event, error=type(error).__name__, where=where, **values)


class Forward(logging.Handler):
    """What uvicorn has to say, in the same form; of an exception only its kind and place."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._log.fault("server", error, level=record.levelname.lower())
        else:
            self._log.write("server", level=record.levelname.lower(), message=str(record.msg))

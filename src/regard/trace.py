"""A name for every intermediate value of a forward pass.

`keep(trace, "weights", weights)` stands at the point of computation and returns its value, so the traced
and the untraced pass are one and the same code. Without a trace it costs one comparison; with one it
records the value under its full path, and applies the edit a user asked for at that path.

A trace saves to one `.safetensors` file: arrays under their names, and as JSON in its metadata what
describes them and the history of the search (the names that begin with `steps.`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from regard.errors import DataError

Value = TypeVar("Value")

_STEPS = "steps."


class Trace:
    """The recorded values of one pass, in the order they were computed.

    >>> trace = Trace(edits={"memory": lambda value: value * 0})
    >>> keep(trace, "memory", 3)
    0
    >>> child = trace.at("encoder").at("layers.0")
    >>> keep(child, "norm", 7)
    7
    >>> list(trace)
    ['memory', 'encoder.layers.0.norm']
    """

    def __init__(self, edits: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._edits = dict(edits or {})
        self._prefix = ""
        self.metadata: dict[str, Any] = {}
        """what the arrays are of: tokens, configuration; anything that JSON can hold"""

    def at(self, name: str) -> Trace:
        """The same trace, seen from a child: what it keeps is recorded under `name.`"""
        child = Trace.__new__(Trace)
        child._values, child._edits = self._values, self._edits
        child.metadata = self.metadata
        child._prefix = f"{self._prefix}{name}."
        return child

    def record(self, name: str, value: Value) -> Value:
        path = self._prefix + name
        if path in self._edits:
            value = self._edits[path](value)
        self._values[path] = value
        return value

    def __getitem__(self, path: str) -> Any:
        return self._values[path]

    def __contains__(self, path: str) -> bool:
        return path in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self._values.items())

    def save(self, path: str | Path) -> None:
        """Write the trace to one `.safetensors` file."""
        import numpy as np
        from safetensors.numpy import save_file

        # The file format keeps no order among arrays, so their names stand in the metadata in order.
        described = {
            "metadata": self.metadata,
            "names": list(self._values),
            "steps": {
                name: np.asarray(value).tolist()
                for name, value in self._values.items()
                if name.startswith(_STEPS)
            },
        }
        arrays = {
            name: np.ascontiguousarray(value)
            for name, value in self._values.items()
            if not name.startswith(_STEPS)
        }
        unfinished = Path(f"{path}.unfinished")
        save_file(arrays, unfinished, metadata={"regard": json.dumps(described)})
        os.replace(unfinished, path)

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read what `save` wrote; arrays come back as NumPy arrays, steps as lists."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads(file.metadata()["regard"])
                trace = cls()
                trace.metadata = described["metadata"]
                for name in described["names"]:
                    steps = described["steps"]
                    trace._values[name] = steps[name] if name in steps else file.get_tensor(name)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} must be a trace that regard saved: it is another file or damaged ({error})"
            ) from error
        return trace


def keep(trace: Trace | None, name: str, value: Value) -> Value:
    """Return `value`, recorded (and edited, if asked) when there is a trace."""
    return value if trace is None else trace.record(name, value)


def at(trace: Trace | None, name: str) -> Trace | None:
    """The trace for a child, or None where nothing is traced."""
    return None if trace is None else trace.at(name)

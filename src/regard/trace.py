"""A name for every intermediate value of a forward pass.

`keep(trace, "weights", weights)` stands at the point of computation and returns its value, so the traced
and the untraced pass are one and the same code. Without a trace it costs one comparison; with one it
records the value under its full path, and applies the edit a user asked for at that path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from regard.config import ModelConfig
from regard.errors import DataError, UsageError, suggest
from regard.files import write_file

Value = TypeVar("Value")


class UnknownName(UsageError, KeyError):
    """No value has this name; a KeyError too, as of any mapping."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


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
        self.edits = dict(edits or {})
        for path, edit in self.edits.items():
            if not callable(edit):
                raise UsageError(f"the edit at {path!r} must be a function: got {edit!r}; write  lambda value: ...")
        self._prefix = ""
        self.metadata: dict[str, Any] = {}
        """Description of the arrays: tokens, configuration; any JSON."""

    def at(self, name: str) -> Trace:
        """The same trace for a child module, whose values are recorded under `name.`"""
        child = Trace.__new__(Trace)
        child._values, child.edits = self._values, self.edits
        child.metadata = self.metadata
        child._prefix = f"{self._prefix}{name}."
        return child

    def record(self, name: str, value: Value) -> Value:
        """Store a value under its name, after the edit at that name if there is one."""
        return self.store(name, self.edited(name, value))

    def edited(self, name: str, value: Value) -> Value:
        """The value after the edit at this name; not recorded."""
        path = self._prefix + name
        if path not in self.edits:
            return value
        changed: Value | None = self.edits[path](value)
        if changed is None:
            raise UsageError(f"the edit at {path!r} must return the changed value: got None; return it")
        expected, got = (getattr(each, "shape", None) for each in (value, changed))
        if got != expected:
            shapes = [type(changed).__name__ if each is None else list(each) for each in (expected, got)]
            raise UsageError(f"the edit at {path!r} must return a value of shape {shapes[0]}: got {shapes[1]}; keep it")
        return changed

    def store(self, name: str, value: Value) -> Value:
        """Store a value as it is."""
        self._values[self._prefix + name] = value
        return value

    def check_names(self, paths: Iterable[str]) -> None:
        """Refuse names that the pass has no value for: an edit there would change nothing."""
        for path in paths:
            if path not in self._values:
                near = suggest(path, self._values)
                raise UnknownName(f"a name must be one of the trace: got {path!r}{near}; list(trace) shows them all")

    def __getitem__(self, path: str) -> Any:
        self.check_names([path])
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
        """Write one `.safetensors` file: arrays under their names, and as JSON the metadata and `steps.`, the search."""
        import numpy as np
        from safetensors.numpy import save

        # The file format keeps no order among arrays, so their names stand in the metadata in order.
        steps = {name: np.asarray(self[name]).tolist() for name in self if name.startswith("steps.")}
        arrays = {name: np.ascontiguousarray(self[name]) for name in self if name not in steps}
        described = {"metadata": self.metadata, "names": list(self), "steps": steps}
        # Not safetensors' own save_file: its files only their owner may read.
        write_file(Path(path), save(arrays, metadata={"regard": json.dumps(described)}))

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read what `save` wrote; arrays come back as NumPy arrays, steps as lists."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads(file.metadata()["regard"])
                trace = cls()
                trace.metadata = described["metadata"]
                steps = described["steps"]
                for name in described["names"]:
                    trace._values[name] = steps[name] if name in steps else file.get_tensor(name)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} must be a trace that regard saved: it is another file, or damaged ({error})"
            ) from error
        return trace


def keep(trace: Trace | None, name: str, value: Value) -> Value:
    """Return `value`, recorded (and edited, if asked) when there is a trace."""
    return value if trace is None else trace.record(name, value)


def cross_attentions(config: ModelConfig) -> list[str]:
    """The paths of all attention from the target to the source, in the order of computation."""
    if config.is_recurrent:
        return [] if config.attention == "none" else ["decoder.attention"]
    num_layers = config.num_layers[1] if config.has_encoder else 0
    return [f"decoder.layers.{i}.cross_attention" for i in range(num_layers)]


def at(trace: Trace | None, name: str) -> Trace | None:
    """The trace for a child module, or None where nothing is traced."""
    return None if trace is None else trace.at(name)

"""A trace for a loop over positions: what every step keeps becomes one array, as if all had been one pass."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

from regard.trace import Trace

Value = TypeVar("Value")


class Steps(Trace):
    """Records values [..., 1, features], one position at a time, into the trace it was made for.

    An edit is a function of all positions; a step shows it an array of them all in which only its own is
    filled in, and goes on with what has become of that.
    """

    def __init__(self, trace: Trace, num_steps: int) -> None:
        super().__init__()
        self.whole, self.num_steps, self.position = trace, num_steps, [0]
        self._kept: dict[str, list[Tensor]] = {}

    def at(self, name: str) -> Steps:
        child = Steps(self.whole, self.num_steps)
        child.position, child._kept = self.position, self._kept
        child._prefix = f"{self._prefix}{name}."
        return child

    def record(self, name: str, value: Value) -> Value:
        assert isinstance(value, Tensor) and value.shape[-2] == 1
        path, here = self._prefix + name, slice(self.position[0], self.position[0] + 1)
        changed: Tensor = value
        if self.whole.is_edited(path):
            every = value.new_zeros((*value.shape[:-2], self.num_steps, value.shape[-1]))
            every[..., here, :] = value
            changed = self.whole.edited(path, every)[..., here, :]
        self._kept.setdefault(path, []).append(changed)
        return changed  # type: ignore[return-value]

    def next(self) -> None:
        """The values that follow are of the next position."""
        self.position[0] += 1

    def finish(self) -> None:
        """Hand everything to the trace."""
        for path, values in self._kept.items():
            self.whole.store(path, torch.cat(values, dim=-2))

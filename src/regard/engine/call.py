"""One pass over the decoder's graph, prepared once and made many times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Sources:
    """What the decoder sees of the source sentences: the encoder's outputs, a sentence a row."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    longest: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """[sentences, 1, 1, keys]"""
        return self.arrays["source_bias"].shape

    def select(self, sentences: np.ndarray) -> Sources:
        arrays = {name: array[sentences] for name, array in self.arrays.items()}
        return Sources(arrays, self.longest)


class Call:
    """A pass over the decoder's graph with everything it reads and writes bound to it.

    The arrays of its inputs are there to be written into, and those of its outputs are overwritten when it is
    made again.
    """

    def __init__(
        self,
        session: Any,
        memory: np.ndarray,
        sources: Sources,
        inputs: dict[str, np.ndarray],
        outputs: dict[str, np.ndarray],
    ) -> None:
        self.outputs = outputs
        self.tokens, self.positions = inputs["tokens"], inputs["positions"]
        self._last, self._total = inputs["last"], inputs["total"]
        self._session, self._binding = session, session.io_binding()
        self._inputs = inputs  # they have to live as long as they are bound
        for name, array in inputs.items():
            self._bind("input", name, array)
        self.read_from(sources)
        for index, array in enumerate(memory):
            name = f"{('key', 'value')[index % 2]}.{index // 2}"
            self._bind("input", name, array)
            self._bind("output", f"new_{name}", array)
        for name, array in outputs.items():
            self._bind("output", name, array)

    def read_from(self, sources: Sources) -> None:
        self.sources = sources
        for name, array in sources.arrays.items():
            self._bind("input", name, array)

    def _bind(self, way: Literal["input", "output"], name: str, array: np.ndarray) -> None:
        assert array.flags.c_contiguous
        bind = self._binding.bind_input if way == "input" else self._binding.bind_output
        bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def make(self, position: int) -> None:
        """Read the tokens, which begin at this position."""
        length = len(self.positions)
        self.positions[:] = position if length == 1 else range(position, position + length)
        self._last.fill(position + length - 1)
        self._total.fill(position + length)
        self._session.run_with_iobinding(self._binding)

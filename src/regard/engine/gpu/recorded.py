"""Work that a GPU plays again without being told every kernel."""

from __future__ import annotations

from collections.abc import Callable

import torch


class Recorded:
    """A function of nothing but tensors that never move: called once, recorded next, then played.

    The first call lets libraries and kernels get ready, which a recording must not contain. Without a GPU
    every call is a plain one.
    """

    def __init__(self, function: Callable[[], None], device: torch.device) -> None:
        self._function = function
        self._device = device
        self._is_ready = False
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self._device.type == "cuda" and self._is_ready and self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            # Other threads (those that feed a training, say) may go on using the GPU meanwhile.
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._function()
        if self._graph is not None:
            self._graph.replay()
        else:
            self._function()
            self._is_ready = True

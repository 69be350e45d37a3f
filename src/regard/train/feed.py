"""Batches as tensors before they are needed: a thread prepares the next ones while one is used."""

from __future__ import annotations

import queue
import threading
from typing import Any, NamedTuple

import torch

from regard.data.batches import Batch, BatchStream
from regard.data.stretches import ProseStream
from regard.text.tokenizer import PAD_ID
from regard.train.loss import Tensors

AHEAD = 4


class Fed(NamedTuple):
    """A batch in memory the device can fetch it from, with what the host needs to know of it."""

    tensors: Tensors
    packed: bool
    num_tokens: int
    num_targets: int
    position: dict[str, Any]
    """of the data stream, once this batch has been used"""


class Feed:
    """Iterates over a stream's batches as tensors, with None for one that another process makes.

    `position` is that of the last one handed out.
    """

    def __init__(self, stream: BatchStream | ProseStream, device: torch.device) -> None:
        self.stream, self.device = stream, device
        self.position = stream.state()
        self._queue: queue.Queue[Fed | None | BaseException] = queue.Queue(AHEAD)
        self._ahead = device.type == "cuda"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Feed:
        if self._ahead:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        while self._thread.is_alive():
            try:
                self._queue.get_nowait()
            except queue.Empty:
                self._thread.join(0.05)

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> Fed | None:
        fed = self._queue.get() if self._ahead else self._prepare()
        if isinstance(fed, BaseException):
            raise fed
        if fed is not None:
            self.position = fed.position
        return fed

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(self._prepare())
            except BaseException as error:  # handed to the loop, which raises it
                self._queue.put(error)
                return

    def _prepare(self) -> Fed | None:
        batch = next(self.stream)
        if batch is None:
            return None
        tensors = to_tensors(batch)
        if self._ahead:
            tensors = Tensors(*(tensor.pin_memory() for tensor in tensors))
        num_targets = int((batch.target_output != PAD_ID).sum())
        return Fed(tensors, batch.packed, batch.num_tokens, num_targets, self.stream.state())


def to_tensors(batch: Batch) -> Tensors:
    return Tensors(
        source=torch.from_numpy(batch.source),
        source_lengths=torch.from_numpy(batch.source_lengths),
        target_input=torch.from_numpy(batch.target_input),
        target_output=torch.from_numpy(batch.target_output),
        target_lengths=torch.from_numpy(batch.target_lengths),
    )

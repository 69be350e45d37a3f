"""Batches as tensors, prefetched: a thread prepares the next ones while one is used."""

from __future__ import annotations

import queue
import threading
from typing import Any, NamedTuple

import torch

from regard.data.batch_stream import BatchStream
from regard.data.batches import Batch
from regard.data.lm_batches import ProseStream
from regard.text.tokenizer import PAD_ID
from regard.train.loss import Tensors

AHEAD = 4
"""Maximum number of prefetched batches."""


class DeviceBatch(NamedTuple):
    """A batch in memory that the device can copy from, with its sizes for the host."""

    tensors: Tensors
    packed: bool
    num_tokens: int
    num_targets: int
    position: dict[str, Any]
    """position of the data stream after this batch"""


class Prefetcher:
    """Iterates over a stream's batches as tensors; None stands for a batch of another process.

    `position` is that of the last batch handed out.
    """

    def __init__(self, stream: BatchStream | ProseStream, device: torch.device) -> None:
        self.stream = stream
        self.position = stream.state()
        self._queue: queue.Queue[DeviceBatch | None | BaseException] = queue.Queue(AHEAD)
        self._ahead = device.type == "cuda"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Prefetcher:
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

    def __iter__(self) -> Prefetcher:
        return self

    def __next__(self) -> DeviceBatch | None:
        batch = self._queue.get() if self._ahead else self._prepare()
        if isinstance(batch, BaseException):
            raise batch
        if batch is not None:
            self.position = batch.position
        return batch

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(self._prepare())
            except BaseException as error:  # raised again in the training loop
                self._queue.put(error)
                return

    def _prepare(self) -> DeviceBatch | None:
        batch = next(self.stream)
        if batch is None:
            return None
        tensors = to_tensors(batch)
        if self._ahead:
            tensors = Tensors(*(tensor.pin_memory() for tensor in tensors))
        num_targets = int((batch.target_output != PAD_ID).sum())
        return DeviceBatch(
            tensors, batch.packed, batch.num_tokens, num_targets, self.stream.state()
        )


def to_tensors(batch: Batch) -> Tensors:
    return Tensors(*(torch.from_numpy(getattr(batch, name)) for name in Tensors._fields))

"""Batches as tensors, prefetched: a thread prepares the next ones while one is used."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import torch

from regard.data.batch_stream import BatchStream
from regard.data.batches import Batch
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

    def __init__(self, stream: BatchStream, device: torch.device) -> None:
        self.stream = stream
        self.position = stream.state()
        self._ahead = AHEAD if device.type == "cuda" else 0
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._prepared: deque[Future[DeviceBatch | None]] = deque()

    def __enter__(self) -> Prefetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def __iter__(self) -> Prefetcher:
        return self

    def __next__(self) -> DeviceBatch | None:
        if self._ahead:
            while len(self._prepared) <= self._ahead:
                self._prepared.append(self._thread.submit(self._prepare))
            batch = self._prepared.popleft().result()
        else:
            batch = self._prepare()
        if batch is not None:
            self.position = batch.position
        return batch

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

"""The batches of a run: made from its text, prefetched as tensors, shared among processes.

Gradients are sums over sentences, divided by the tokens of the whole step. So the number of parts does not matter:
every sentence counts once, and the step is the same up to rounding.
"""

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.data.batch_stream import BatchStream, Lanes, PairStream
from regard.data.batches import Batch, Masking
from regard.data.running_text import RunningText, RunningTextStream, TextChunks, encode_documents
from regard.engine import num_cores
from regard.errors import UsageError
from regard.folder.catalogue import find
from regard.folder.manifest import read_manifest
from regard.text.tokenizer import PAD_ID, TokenizerBase
from regard.train.corpora import Text, Tokenizers, load_tokenizers
from regard.train.loss import Tensors
from regard.train.parallel import Processes
from regard.train.plan import Plan

AHEAD = 4  # Maximum number of prefetched batches.
MAX_WORKERS = 15  # Maximum number of processes that make batches beside the training one.


def num_readers() -> int:
    """Number of processes that read and encode the text, before the training."""
    return min(MAX_WORKERS + 1, num_cores())


def make_stream(
    plan: Plan, corpus: Text, tokenizers: Tokenizers, folder: Path, processes: Processes, device: torch.device
) -> BatchStream:
    """The training batches; each process makes its share."""
    data, train, packing = plan.data, plan.train, bool(plan.train.packing)
    assert train.batch_tokens is not None
    if isinstance(corpus, RunningText):
        longest, most = data.max_length, plan.model.max_positions
        if plan.model.position == "learned" and longest > most:
            raise UsageError(f"a row must fit into the model's positions, {most}: got max_length={longest}; lower it")
        chunks = chunks_for(plan, corpus, tokenizers[1])
        return RunningTextStream(chunks, batch_tokens=train.batch_tokens, packing=packing, seed=train.seed)
    if train.teacher:
        folder = find(train.teacher)
        own = read_manifest(folder)
        tokenizers = tokenizers[0], load_tokenizers(folder, own.tokenizer, own.model)[0]
    # A GPU is faster than one process can encode; a CPU is not.
    own_cores = num_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", processes.size))
    num_workers = max(0, min(MAX_WORKERS, own_cores - 1)) if device.type == "cuda" else 0
    if not processes.is_first:
        processes.wait()  # for the files that the first one leaves
    stream = PairStream(
        corpus,
        tokenizers,
        batch_tokens=train.batch_tokens,
        packing=packing,
        sampling=data.sampling or 0.0,
        max_length=data.max_length,
        seed=train.seed,
        num_workers=num_workers,
        lanes=Lanes(train.accumulate, processes.rank, processes.size),
        shuffle_window=data.shuffle_window,
        folder=folder,
        num_readers=num_readers(),
    )
    if processes.is_first:
        processes.wait()
    return stream


def chunks_for(plan: Plan, text: RunningText, tokenizer: TokenizerBase) -> TextChunks:
    train, masking = plan.train, None
    if train.objective == "masked":
        masking = Masking(tokenizer, train.mask_share, train.mask_hidden, train.mask_random)
    return TextChunks.of(encode_documents(tokenizer, text.documents), plan.data.max_length, masking, tokenizer)


class DeviceBatch(NamedTuple):
    """A batch in memory that the device can copy from, with its sizes for the host."""

    tensors: Tensors
    packed: bool
    num_tokens: int
    num_targets: int
    position: dict[str, Any]
    """position of the data stream after this batch"""


class Prefetcher(AbstractContextManager["Prefetcher"]):
    """`next` gives a stream's batches as tensors; None stands for a batch of another process.

    `position` is that of the last batch handed out.
    """

    def __init__(self, stream: BatchStream, device: torch.device) -> None:
        self.stream = stream
        self.position = stream.state()
        self._ahead = AHEAD if device.type == "cuda" else 0
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._prepared: deque[Future[DeviceBatch | None]] = deque()

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

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
        num_targets = int((batch.target_output != self.stream.pad_id).sum())
        return DeviceBatch(tensors, batch.packed, batch.num_tokens, num_targets, self.stream.state())


def to_tensors(batch: Batch) -> Tensors:
    return Tensors(*(torch.from_numpy(getattr(batch, name)) for name in Tensors._fields))


def share(batches: Sequence[DeviceBatch | None], processes: Processes, pad_id: int = PAD_ID) -> list[DeviceBatch]:
    """This process's part of an update's batches; where there are too few, a batch without answers."""
    mine = [batch for batch in batches[processes.rank :: processes.size] if batch is not None]
    return mine or [without_answers(next(filter(None, batches)), pad_id)]


def without_answers(batch: DeviceBatch, pad_id: int = PAD_ID) -> DeviceBatch:
    nothing = torch.full_like(batch.tensors.target_output, pad_id)
    return batch._replace(tensors=batch.tensors._replace(target_output=nothing), num_targets=0, num_tokens=0)

"""The batches of a run: from the text in its folder, each process making its share of them."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from regard.data.batch_stream import BatchStream
from regard.data.corpus import Corpus
from regard.data.lm_batches import ProseStream
from regard.data.order import Lanes
from regard.data.prose import Prose
from regard.text.tokenizer import Tokenizer
from regard.train.parallel import Processes
from regard.train.prose import prose_stream
from regard.train.request import Plan

MOST_WORKERS = 15


def num_cores() -> int:
    """Those that this process may use: several runs at once may have been given a share each."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def num_readers() -> int:
    """Processes that read and cut up the text; while they do, nothing else is done."""
    return min(MOST_WORKERS + 1, num_cores())


def make_stream(
    plan: Plan,
    corpus: Corpus | Prose,
    tokenizers: tuple[Tokenizer, Tokenizer],
    folder: Path,
    processes: Processes,
    device: torch.device,
) -> BatchStream | ProseStream:
    if isinstance(corpus, Prose):
        return prose_stream(plan, corpus, tokenizers[1])
    assert plan.train.batch_tokens is not None
    # A GPU eats faster than one process can encode; a CPU does not.
    own_cores = num_cores() // processes.local_size
    num_workers = max(0, min(MOST_WORKERS, own_cores - 1)) if device.type == "cuda" else 0
    with processes.first_before_others():
        return BatchStream(
            corpus,
            tokenizers,
            batch_tokens=plan.train.batch_tokens,
            packing=bool(plan.train.packing),
            sampling=plan.data.sampling,
            max_length=plan.data.max_length,
            seed=plan.train.seed,
            num_workers=num_workers,
            lanes=Lanes(plan.train.accumulate, processes.rank, processes.size),
            shuffle_window=plan.data.shuffle_window,
            folder=folder,
            num_readers=num_readers(),
        )

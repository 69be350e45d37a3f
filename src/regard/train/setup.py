"""The setup of a run: its plan, text, tokenizers, batches and validator; made anew, or read from its folder."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import torch

from regard.data.batch_stream import BatchStream, Lanes, PairStream
from regard.data.corpus import Corpus
from regard.data.running_text import RunningText, TextStream
from regard.errors import UsageError
from regard.folder.manifest import read_manifest
from regard.text.tokenizer import Tokenizer
from regard.train.corpora import (
    TEXT,
    num_pairs,
    open_corpora,
    read_corpora,
    read_texts,
    with_languages,
)
from regard.train.device import choose_device
from regard.train.memory import fit_to_memory
from regard.train.parallel import Processes
from regard.train.plan import RUN_FILE, Plan, complete, shared_out
from regard.train.request import Request
from regard.train.tokenizers import (
    JOINT,
    SEPARATE,
    TOKENIZERS,
    estimate_tokens,
    learn_tokenizers,
    load_tokenizers,
    save_tokenizers,
)
from regard.train.validation import (
    RetrievalValidator,
    TextValidator,
    Validator,
    chunks_for,
    masking_for,
)

MOST_WORKERS = 15
"""Maximum number of processes that make batches beside the training one."""


def set_up(
    request: Request,
    output: Path,
    resume: bool,
    say: Callable[[str], None],
    processes: Processes,
) -> tuple[Plan, Corpus | RunningText, Corpus | RunningText, tuple[Tokenizer, Tokenizer]]:
    """The plan, training text, validation text and tokenizers of a new or resumed run."""
    if resume:
        plan = Plan.load(output / RUN_FILE)
        request.check_against(plan)
        data, seed = plan.data, plan.train.seed
    else:
        request.check()
        device = choose_device(request.train.device)
        data, seed = with_languages(request.data), request.train.seed
    torch.manual_seed(seed)
    texts: tuple[Corpus, Corpus] | tuple[RunningText, RunningText]
    if data.text:
        texts = read_texts(data, seed, say)
    elif processes.is_first:
        texts = read_corpora(data, seed, say, output / TEXT, num_readers())
    else:
        texts = open_corpora(output / TEXT)
    corpus, valid = texts
    if resume:
        files = JOINT if data.joint else SEPARATE
        return plan, corpus, valid, load_tokenizers(output / TOKENIZERS, files)
    if request.init is None:
        masked = request.objective == "masked"
        tokenizers = learn_tokenizers(data, corpus, output / TOKENIZERS, seed, masked=masked)
        model = request.model_for(tokenizers, num_pairs(corpus))
    else:
        manifest = read_manifest(request.init)
        tokenizers = load_tokenizers(request.init, manifest.tokenizer)
        data = dataclasses.replace(data, joint=manifest.tokenizer.joint)
        model = request.model_from(manifest)
        save_tokenizers(tokenizers, output / TOKENIZERS)
    settings = complete(
        dataclasses.replace(request.train, objective=request.objective),
        model,
        num_pairs=num_pairs(corpus),
        num_tokens=estimate_tokens(corpus, tokenizers),
        on_gpu=device.type == "cuda",
    )
    if request.train.batch_tokens is None:
        if device.type == "cuda":
            settings, note = fit_to_memory(settings, model, device)
            if note:
                say(note)
        settings = shared_out(settings, processes.size)
    processes.check(settings.accumulate)
    plan = Plan(data, model, settings, request.decode, str(request.init or ""), request.generate)
    plan.save(output / RUN_FILE)
    say(plan.describe(str(device)))
    return plan, corpus, valid, tokenizers


def num_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def num_readers() -> int:
    """Number of processes that read and encode the text, before the training."""
    return min(MOST_WORKERS + 1, num_cores())


def make_stream(
    plan: Plan,
    corpus: Corpus | RunningText,
    tokenizers: tuple[Tokenizer, Tokenizer],
    folder: Path,
    processes: Processes,
    device: torch.device,
) -> BatchStream:
    """The training batches; each process makes its share."""
    data, train = plan.data, plan.train
    assert train.batch_tokens is not None
    if isinstance(corpus, RunningText):
        if plan.model.position == "learned" and data.max_length > plan.model.max_positions:
            raise UsageError(
                f"a row has at most as many tokens as the model has positions, {plan.model.max_positions}: got "
                f"max_length={data.max_length}; lower it, or raise max_positions"
            )
        return TextStream(
            chunks_for(plan, corpus, tokenizers[1]),
            batch_tokens=train.batch_tokens,
            packing=bool(train.packing),
            masking=masking_for(train, tokenizers[1]),
            seed=train.seed,
        )
    # A GPU is faster than one process can encode; a CPU is not.
    own_cores = num_cores() // processes.local_size
    num_workers = max(0, min(MOST_WORKERS, own_cores - 1)) if device.type == "cuda" else 0
    with processes.first_before_others():
        return PairStream(
            corpus,
            tokenizers,
            batch_tokens=train.batch_tokens,
            packing=bool(train.packing),
            sampling=data.sampling,
            max_length=data.max_length,
            seed=train.seed,
            num_workers=num_workers,
            lanes=Lanes(train.accumulate, processes.rank, processes.size),
            shuffle_window=data.shuffle_window,
            folder=folder,
            num_readers=num_readers(),
        )


def make_validator(
    plan: Plan,
    valid: Corpus | RunningText,
    tokenizers: tuple[Tokenizer, Tokenizer],
    processes: Processes,
) -> Validator | RetrievalValidator | TextValidator:
    if isinstance(valid, RunningText):
        return TextValidator(plan, valid, tokenizers, processes)
    if plan.train.objective == "contrastive":
        return RetrievalValidator(valid, tokenizers, plan.train)
    return Validator(valid, tokenizers, plan.train, processes)

"""What a run has before its first step: its plan, its text and its tokenizers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import torch

from regard.config import DataConfig
from regard.data.corpus import Corpus
from regard.data.prose import Prose
from regard.folder.manifest import read_manifest
from regard.text.tokenizer import Tokenizer
from regard.train.device import choose_device
from regard.train.memory import fit_to_memory
from regard.train.parallel import Processes
from regard.train.plan import complete, shared_out
from regard.train.prepare import (
    JOINT,
    SEPARATE,
    TEXT,
    TOKENIZERS,
    estimate_tokens,
    learn_tokenizers,
    load_tokenizers,
    open_corpora,
    read_corpora,
    save_tokenizers,
    with_languages,
)
from regard.train.prose import as_pairs, learn_tokenizer, num_pieces, read_texts
from regard.train.request import RUN_FILE, Plan, Request
from regard.train.stream import num_readers


def begin(
    request: Request,
    output: Path,
    resume: bool,
    say: Callable[[str], None],
    processes: Processes,
) -> tuple[Plan, Corpus | Prose, Corpus | Prose, tuple[Tokenizer, Tokenizer]]:
    """The plan, training and validation text and the tokenizers: made anew, or those of the run."""
    if resume:
        plan = Plan.load(output / RUN_FILE)
        request.check_against(plan)
        torch.manual_seed(plan.train.seed)
        corpus, valid = _read(plan.data, plan.train.seed, say, output / TEXT, processes)
        files = JOINT if plan.data.joint else SEPARATE
        return plan, corpus, valid, load_tokenizers(output / TOKENIZERS, files)
    request.check()
    device = choose_device(request.train.device)
    data = with_languages(request.data)
    torch.manual_seed(request.train.seed)
    corpus, valid = _read(data, request.train.seed, say, output / TEXT, processes)
    num_pairs = as_pairs(corpus) if isinstance(corpus, Prose) else len(corpus)
    if request.init is None:
        tokenizers = _learn(request, data, corpus, output / TOKENIZERS)
        model = request.model_for(tokenizers, num_pairs)
    else:
        manifest = read_manifest(request.init)
        tokenizers = load_tokenizers(request.init, manifest.tokenizer)
        data = dataclasses.replace(data, joint=manifest.tokenizer.joint)
        model = request.model_from(manifest)
        save_tokenizers(tokenizers, output / TOKENIZERS)
    settings = complete(
        dataclasses.replace(request.train, objective=request.objective),
        model,
        num_pairs=num_pairs,
        num_tokens=_num_tokens(corpus, tokenizers),
        on_gpu=device.type == "cuda",
    )
    if device.type == "cuda" and request.train.batch_tokens is None:
        settings, note = fit_to_memory(settings, model, device)
        if note:
            say(note)
    if request.train.batch_tokens is None:
        settings = shared_out(settings, processes.size)
    processes.check(settings.accumulate)
    plan = Plan(data, model, settings, request.decode, str(request.init or ""), request.generate)
    plan.save(output / RUN_FILE)
    say(plan.describe(str(device)))
    return plan, corpus, valid, tokenizers


def _read(
    data: DataConfig, seed: int, say: Callable[[str], None], folder: Path, processes: Processes
) -> tuple[Corpus, Corpus] | tuple[Prose, Prose]:
    """Training and validation text; pairs are kept in the folder, where the other processes find them."""
    if data.text:
        return read_texts(data, seed, say)
    if processes.is_first:
        return read_corpora(data, seed, say, folder, num_readers())
    return open_corpora(folder)


def _learn(
    request: Request, data: DataConfig, corpus: Corpus | Prose, folder: Path
) -> tuple[Tokenizer, Tokenizer]:
    if isinstance(corpus, Corpus):
        return learn_tokenizers(data, corpus, folder, request.train.seed)
    masked = request.objective == "masked"
    tokenizer = learn_tokenizer(data, corpus, folder, request.train.seed, masked=masked)
    return tokenizer, tokenizer


def _num_tokens(corpus: Corpus | Prose, tokenizers: tuple[Tokenizer, Tokenizer]) -> int:
    if isinstance(corpus, Prose):
        return num_pieces(corpus, tokenizers[1])
    return estimate_tokens(corpus, tokenizers)

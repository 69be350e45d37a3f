"""From raw text to a finished model folder: read, learn the pieces, train, measure, write.

runs/mine/   run.json          every setting, the chosen ones included
             metrics.jsonl     what was measured, line by line
             result.json       scores, seconds, and what they were measured with
             checkpoints/      to resume from
             best/             weights of the best validations
             config.json, model.safetensors, tokenizer.model, README.md, encoder.onnx, decoder.onnx:
                               the finished model
"""

from __future__ import annotations

import dataclasses
import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.checkpoint import read_manifest, read_tensors
from regard.config import TrainConfig
from regard.engine.torch import to_state_dict
from regard.errors import RegardError, UsageError
from regard.evaluate import Retrieval, Score
from regard.model.transformer import Model, Translating, build
from regard.tensors import expected_tensors
from regard.text.batches import BatchStream
from regard.text.corpus import Corpus
from regard.text.tokenizer import Tokenizer
from regard.train.checkpoints import CHECKPOINTS
from regard.train.evidence import write_evidence
from regard.train.finish import finish
from regard.train.folder import check_folder, forget
from regard.train.lock import locked
from regard.train.loop import Trainer
from regard.train.memory import fit_to_memory
from regard.train.parallel import Processes
from regard.train.plan import complete, shared_out
from regard.train.prepare import (
    JOINT,
    SEPARATE,
    TOKENIZERS,
    estimate_tokens,
    learn_tokenizers,
    load_tokenizers,
    read_corpora,
    save_tokenizers,
    with_languages,
)
from regard.train.pretrained import start_from_vectors
from regard.train.report import Reporter
from regard.train.request import RUN_FILE, Plan, Request
from regard.train.retrieval import RetrievalValidator
from regard.train.split import OutOfMemory
from regard.train.validate import Validator


@dataclass(frozen=True)
class TrainResult:
    """What a finished run leaves."""

    folder: Path
    scores: Sequence[Score | Retrieval]
    seconds: float


def train(
    request: Request,
    output: Path,
    *,
    resume: bool = False,
    show_progress: bool = True,
    stop_at: int | None = None,
) -> TrainResult | None:
    """Train a model from parallel text; None when `stop_at` ended the run before its last step.

    With `resume` the run in `output` goes on as it was asked for then. Under torchrun several processes train
    together, and the first alone returns a result.
    """
    processes = Processes.from_environment()
    resume = resume or (processes.restarted and (output / RUN_FILE).exists())
    show = show_progress and processes.is_first
    with processes.joined(on_gpu=_on_gpu(request.train)):
        if not processes.is_first:
            processes.wait()  # for the plan and the tokenizers
            return _train(request, output, True, show, stop_at, processes)
        check_folder(output, resume)
        try:
            with locked(output):
                return _train(request, output, resume, show, stop_at, processes)
        except RegardError:
            if not resume:
                forget(output)
            raise


def _train(
    request: Request,
    output: Path,
    resume: bool,
    show: bool,
    stop_at: int | None,
    processes: Processes,
) -> TrainResult | None:
    started = time.monotonic()
    say = _speaker(show)
    plan, corpus, valid, tokenizers = _prepare(request, output, resume, say, processes)
    if processes.is_first:
        processes.wait()  # as the others do before they read it
    trainer = None
    while trainer is None:
        with _stream(plan, corpus, tokenizers, processes) as stream:
            if stream.num_too_long:
                say(f"{stream.num_too_long:,} pairs left out: over {plan.data.max_length} pieces")
            processes.wait()
            try:
                validator = _validator(plan, valid, tokenizers, processes)
                trainer = _trainer(plan, stream, validator, output, processes, say)
                if resume and not trainer.restore():
                    say("no checkpoint yet: starting from the beginning")
                _loop(trainer, plan.train, show, stop_at)
            except OutOfMemory as error:
                if (output / CHECKPOINTS).exists() or not processes.alone:
                    raise
                trainer, reason = None, error.args[0]
        if trainer is None:
            gc.collect()
            torch.cuda.empty_cache()
            plan = plan.with_smaller_batches(reason)
            plan.save(output / RUN_FILE)
            torch.manual_seed(plan.train.seed)
            say(f"starting again with batches of {plan.train.batch_tokens:,} tokens: {reason}")
    if stop_at is not None and not trainer.is_done and stop_at <= trainer.step:
        say(f"stopped at step {trainer.step:,} as asked; --resume goes on")
        return None
    seconds = time.monotonic() - started
    scores = finish(plan, trainer, tokenizers, valid, output, seconds)
    if not processes.is_first:
        return None
    write_evidence(output, trainer, scores, time.monotonic() - started)
    return TrainResult(output, scores, seconds)


def _trainer(
    plan: Plan,
    stream: BatchStream,
    validator: Validator | RetrievalValidator,
    output: Path,
    processes: Processes,
    say: Callable[[str], None],
) -> Trainer:
    network = _network(plan, choose_device(plan.train.device))
    if files := plan.data.embeddings:
        freeze = plan.train.freeze_embeddings
        start_from_vectors(network, validator.tokenizers, files, freeze=freeze, say=say)
    longest = stream.max_sequence_length
    return Trainer(
        network, stream, validator, plan.train, output, longest=longest, processes=processes
    )


def _prepare(
    request: Request,
    output: Path,
    resume: bool,
    say: Callable[[str], None],
    processes: Processes,
) -> tuple[Plan, Corpus, Corpus, tuple[Tokenizer, Tokenizer]]:
    """The plan, training and validation pairs and the tokenizers: made anew, or those of the run."""
    if resume:
        plan = Plan.load(output / RUN_FILE)
        request.check_against(plan)
        torch.manual_seed(plan.train.seed)
        corpus, valid = read_corpora(plan.data, plan.train.seed, say)
        files = JOINT if plan.data.joint else SEPARATE
        return plan, corpus, valid, load_tokenizers(output / TOKENIZERS, files)
    request.check()
    device = choose_device(request.train.device)
    data = with_languages(request.data)
    torch.manual_seed(request.train.seed)
    corpus, valid = read_corpora(data, request.train.seed, say)
    if request.init is None:
        tokenizers = learn_tokenizers(data, corpus, output / TOKENIZERS, request.train.seed)
        model = request.model_for(tokenizers, len(corpus))
    else:
        manifest = read_manifest(request.init)
        tokenizers = load_tokenizers(request.init, manifest.tokenizer)
        data = dataclasses.replace(data, joint=manifest.tokenizer.joint)
        model = request.model_from(manifest)
        save_tokenizers(tokenizers, output / TOKENIZERS)
    wanted = request.train
    if wanted.objective == "contrastive":
        wanted = dataclasses.replace(wanted, metric="loss")
    settings = complete(
        wanted,
        model,
        num_pairs=len(corpus),
        num_tokens=estimate_tokens(corpus, tokenizers),
        on_gpu=device.type == "cuda",
    )
    if device.type == "cuda" and request.train.batch_tokens is None:
        settings, note = fit_to_memory(settings, model, device)
        if note:
            say(note)
    if request.train.batch_tokens is None:
        settings = shared_out(settings, processes.size)
    processes.check(settings.accumulate)
    plan = Plan(data, model, settings, request.decode, str(request.init or ""))
    plan.save(output / RUN_FILE)
    say(plan.describe(str(device)))
    return plan, corpus, valid, tokenizers


def _validator(
    plan: Plan, valid: Corpus, tokenizers: tuple[Tokenizer, Tokenizer], processes: Processes
) -> Validator | RetrievalValidator:
    if plan.train.objective == "contrastive":
        return RetrievalValidator(valid, tokenizers, plan.train)
    return Validator(valid, tokenizers, plan.train, processes)


def _network(plan: Plan, device: torch.device) -> Model:
    network = build(plan.model, plan.train.dropout or 0.0)
    if plan.train.objective == "translation" and not isinstance(network, Translating):
        raise UsageError(
            f"regard train trains encoder-decoder models: got one that is {plan.model.architecture}; "
            "use another --init or architecture"
        )
    if plan.init:
        tensors = read_tensors(plan.init)
        wanted = {name: tensors[name] for name in expected_tensors(plan.model)}
        network.load_state_dict(to_state_dict(wanted, plan.model))
    return network.to(device)


def _stream(
    plan: Plan,
    corpus: Corpus,
    tokenizers: tuple[Tokenizer, Tokenizer],
    processes: Processes,
) -> BatchStream:
    assert plan.train.batch_tokens is not None
    device = choose_device(plan.train.device)
    # A GPU eats faster than one process can encode; a CPU does not.
    num_cores = (os.cpu_count() or 1) // processes.size
    num_workers = min(15, num_cores - 1) if device.type == "cuda" else 0
    return BatchStream(
        corpus,
        tokenizers,
        batch_tokens=plan.train.batch_tokens,
        packing=bool(plan.train.packing),
        sampling=plan.data.sampling,
        max_length=plan.data.max_length,
        seed=plan.train.seed,
        num_workers=num_workers,
    )


def _loop(trainer: Trainer, settings: TrainConfig, show: bool, stop_at: int | None) -> None:
    step, seconds = trainer.step, trainer.clock.seconds
    with Reporter(
        trainer.run_folder,
        settings,
        step=step,
        seconds=seconds,
        show=show,
        writes=trainer.processes.is_first,
    ) as reporter:
        trainer.run(reporter, stop_at)


def choose_device(wanted: str) -> torch.device:
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"device must be one this machine has: got {wanted!r}; use cpu or auto"
        ) from error
    return device


def _on_gpu(settings: TrainConfig) -> bool:
    return settings.device.startswith("cuda") or (
        settings.device == "auto" and torch.cuda.is_available()
    )


def _speaker(show: bool) -> Callable[[str], None]:
    def say(text: str) -> None:
        if show:
            print(text, file=sys.stderr, flush=True)

    return say

"""From raw text to a finished model folder: read, learn the pieces, train, measure, write.

runs/mine/   run.json          every setting, the chosen ones included
             metrics.jsonl     what was measured, line by line
             result.json       scores, seconds, and what they were measured with
             text/             the training text, cleaned and cut into pieces, until the run is done
             checkpoints/      to resume from
             best/             weights of the best validations
             config.json, model.safetensors, tokenizer.model, README.md, encoder.onnx, decoder.onnx:
                               the finished model
"""

from __future__ import annotations

import gc
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.config import TrainConfig
from regard.data.batch_stream import BatchStream
from regard.data.corpus import Corpus
from regard.data.lm_batches import ProseStream
from regard.data.prose import Prose
from regard.engine.torch import to_state_dict
from regard.errors import RegardError
from regard.folder.checkpoint import read_tensors
from regard.folder.tensors import expected_tensors
from regard.model.transformer import Model, build
from regard.text.tokenizer import Tokenizer
from regard.train.beginning import begin
from regard.train.checkpoints import CHECKPOINTS
from regard.train.device import choose_device, is_gpu
from regard.train.evidence import write_evidence
from regard.train.finish import finish
from regard.train.folder import check_folder, forget, telling_of_room
from regard.train.lock import locked
from regard.train.loop import Trainer
from regard.train.memory import OutOfMemory
from regard.train.parallel import Processes
from regard.train.prepare import (
    TEXT,
)
from regard.train.pretrained import start_from_vectors
from regard.train.prose import (
    ProseValidator,
)
from regard.train.report import Reporter
from regard.train.request import RUN_FILE, Plan, Request
from regard.train.retrieval import RetrievalValidator
from regard.train.stream import make_stream
from regard.train.validate import Validator
from regard.translate.evaluate import AnyScore

AnyValidator = Validator | RetrievalValidator | ProseValidator


@dataclass(frozen=True)
class TrainResult:
    """What a finished run leaves."""

    folder: Path
    scores: Sequence[AnyScore]
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
    show = show_progress and processes.is_first
    with processes.joined(on_gpu=is_gpu(request.train.device)):
        # Those of a machine that has come later do not know that there was a run before.
        (restarted,) = processes.agree(float(processes.restarted))
        resume = resume or (restarted > 0 and (output / RUN_FILE).exists())
        if not processes.is_first:
            processes.wait()  # for the plan and the tokenizers
            return _train(request, output, True, show, stop_at, processes)
        check_folder(output, resume)
        try:
            with locked(output), telling_of_room(output):
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
    plan, corpus, valid, tokenizers = begin(request, output, resume, say, processes)
    if processes.is_first:
        processes.wait()  # as the others do before they read it
    device = choose_device(plan.train.device)
    trainer = None
    while trainer is None:
        with make_stream(plan, corpus, tokenizers, output / TEXT, processes, device) as stream:
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
    shutil.rmtree(output / TEXT, ignore_errors=True)
    return TrainResult(output, scores, seconds)


def _trainer(
    plan: Plan,
    stream: BatchStream | ProseStream,
    validator: AnyValidator,
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


def _validator(
    plan: Plan, valid: Corpus | Prose, tokenizers: tuple[Tokenizer, Tokenizer], processes: Processes
) -> AnyValidator:
    if isinstance(valid, Prose):
        return ProseValidator(plan, valid, tokenizers, processes)
    if plan.train.objective == "contrastive":
        return RetrievalValidator(valid, tokenizers, plan.train)
    return Validator(valid, tokenizers, plan.train, processes)


def _network(plan: Plan, device: torch.device) -> Model:
    network = build(plan.model, plan.train.dropout or 0.0)
    if plan.init:
        tensors = read_tensors(plan.init)
        wanted = {name: tensors[name] for name in expected_tensors(plan.model)}
        network.load_state_dict(to_state_dict(wanted, plan.model))
    return network.to(device)


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


def _speaker(show: bool) -> Callable[[str], None]:
    def say(text: str) -> None:
        if show:
            print(text, file=sys.stderr, flush=True)

    return say

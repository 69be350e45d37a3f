"""A training run: from raw text to a finished model folder.

runs/mine/   run.json          every setting, the chosen ones included
             metrics.jsonl     losses and validations, line by line
             result.json       scores, seconds, hardware and versions
             text/             the training text, cleaned and tokenized, until the run is done
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.errors import RegardError
from regard.train.checkpoints import CHECKPOINTS
from regard.train.corpora import TEXT
from regard.train.device import choose_device, is_gpu
from regard.train.finish import finish, write_result
from regard.train.loop import Trainer
from regard.train.memory import OutOfMemory
from regard.train.network import make_network
from regard.train.parallel import Processes
from regard.train.plan import RUN_FILE
from regard.train.report import Reporter
from regard.train.request import Request
from regard.train.run_folder import check_folder, locked, remove_refused
from regard.train.setup import make_stream, make_validator, set_up
from regard.translate.evaluate import AnyScore


@dataclass(frozen=True)
class TrainResult:
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
    """Train a model; None when `stop_at` ended the run before its last step.

    With `resume` the run in `output` goes on with its own settings. Under torchrun several processes train together,
    and only the first returns a result.
    """
    processes = Processes.from_environment()
    show = show_progress and processes.is_first
    with processes.joined(on_gpu=is_gpu(request.train.device)):
        # Processes of a machine that joins later do not know that there was a run before.
        (restarted,) = processes.agree(float(processes.restarted))
        resume = resume or (restarted > 0 and (output / RUN_FILE).exists())
        if not processes.is_first:
            processes.wait()  # for the plan and the tokenizers
            return _train(request, output, True, show, stop_at, processes)
        check_folder(output, resume)
        try:
            with locked(output):
                return _train(request, output, resume, show, stop_at, processes)
        except RegardError:
            if not resume:
                remove_refused(output)
            raise


def _train(
    request: Request,
    output: Path,
    resume: bool,
    show: bool,
    stop_at: int | None,
    processes: Processes,
) -> TrainResult | None:
    def say(text: str) -> None:
        if show:
            print(text, file=sys.stderr, flush=True)

    started = time.monotonic()
    plan, corpus, valid, tokenizers = set_up(request, output, resume, say, processes)
    if processes.is_first:
        processes.wait()  # the others wait for the plan
    device = choose_device(plan.train.device)
    trainer = None
    while trainer is None:
        with make_stream(plan, corpus, tokenizers, output / TEXT, processes, device) as stream:
            if stream.num_too_long:
                say(f"{stream.num_too_long:,} pairs left out: over {plan.data.max_length} tokens")
            processes.wait()
            try:
                validator = make_validator(plan, valid, tokenizers, processes)
                trainer = Trainer(
                    make_network(plan, tokenizers, device, say),
                    stream,
                    validator,
                    plan.train,
                    output,
                    longest=stream.max_sequence_length,
                    processes=processes,
                )
                if resume and not trainer.restore():
                    say("no checkpoint yet: starting from the beginning")
                _loop(trainer, show, stop_at)
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
    write_result(output, trainer, scores, time.monotonic() - started)
    shutil.rmtree(output / TEXT, ignore_errors=True)
    return TrainResult(output, scores, seconds)


def _loop(trainer: Trainer, show: bool, stop_at: int | None) -> None:
    with Reporter(
        trainer.run_folder,
        trainer.settings,
        step=trainer.step,
        seconds=trainer.clock.seconds,
        show=show,
        writes=trainer.processes.is_first,
    ) as reporter:
        trainer.run(reporter, stop_at)

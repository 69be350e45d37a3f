"""A training run: from raw text to a finished model folder.

runs/mine/   run.json          every setting, the chosen ones included
             metrics.jsonl     losses and validations, line by line
             curves.png        loss and BLEU over steps and minutes, where matplotlib is installed
             result.json       scores, seconds, hardware and versions
             text.json         what was read, and the checksums of its files
             text/             the training text, cleaned and tokenized, until the run is done
             checkpoints/      to resume from
             best/             weights of the best validations
             snapshots/        small copies of the weights on the way, for `regard look`
             model.safetensors ...   the finished model
"""

import dataclasses
import errno
import gc
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.config import DataConfig
from regard.data.lessons import LESSON, write_lesson
from regard.errors import RegardError, TrainingError, UsageError
from regard.files import digest, temporary_path, try_lock, write_file
from regard.folder.checkpoint import read_files
from regard.folder.manifest import read_manifest
from regard.train import corpora
from regard.train import plan as plans
from regard.train.batches import make_stream, num_readers
from regard.train.checkpoints import BEST, CHECKPOINTS, bytes_kept, free, room_left
from regard.train.corpora import TEXT, TOKENIZERS, Say, Text, Tokenizers
from regard.train.diagnosis import vocabulary_too_small
from regard.train.finish import ABOUT_TEXT, finish, manifest_of
from regard.train.loop import Trainer
from regard.train.memory import OutOfMemory, fit_to_memory
from regard.train.network import choose_device, make_network
from regard.train.parallel import Processes
from regard.train.plan import RESULT, RUN_FILE, Plan
from regard.train.progress import METRICS, TENSORBOARD, Reporter
from regard.train.recipe import Request, check
from regard.train.snapshots import SNAPSHOTS, SnapshotWriter
from regard.train.summary import reasons, timed
from regard.train.validation import make_validator
from regard.translate.evaluate import AnyScore

LOCK = ".lock"
_FIRST_FILES = {LOCK, temporary_path(Path(RUN_FILE)).name, TOKENIZERS, TEXT, ABOUT_TEXT, LESSON}
"""What a run writes before its plan."""
_EARLY_FILES = {*_FIRST_FILES, RUN_FILE, METRICS, TENSORBOARD, BEST, SNAPSHOTS}
"""What a run writes before its first checkpoint."""


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
    measures: bool = True,
) -> TrainResult | None:
    """Train a model; None when `stop_at` ended the run before its last step, and for a finished run, which stays as it is.

    With `resume` the run in `output` goes on with its own settings; a finished one only with more steps. Under torchrun
    several processes train together, and only the first returns a result. Without `measures` the model is not scored.
    """
    processes = Processes.from_environment()
    show = show_progress and processes.is_first
    device = request.train.device
    on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    with processes.joined(on_gpu=on_gpu):
        # Processes of a machine that joins later do not know that torchrun has restarted the run.
        (num_restarts,) = processes.agree(float(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")))
        resume = resume or (num_restarts > 0 and (output / RUN_FILE).exists())
        is_finished = resume and (output / RESULT).is_file()
        if is_finished and not Plan.load(output / RUN_FILE).resumed(request, is_finished=True)[1]:
            if show:
                print(f"{output} is finished and stays as it is; a larger --set steps= continues it", file=sys.stderr)
            return None
        if not processes.is_first:
            processes.wait()  # for the plan and the tokenizers
            return _train(request, output, True, show, stop_at, processes, measures)
        check_folder(output, resume)
        num_threads = torch.get_num_threads()
        try:
            with locked(output):
                return _train(request, output, resume, show, stop_at, processes, measures)
        except RegardError:
            if not resume:
                remove_refused(output)
            raise
        finally:
            torch.set_num_threads(num_threads)  # what runs next in this process has its own


def _train(
    request: Request, output: Path, resume: bool, show: bool, stop_at: int | None, processes: Processes, measures: bool
) -> TrainResult | None:
    def say(text: str) -> None:
        if show:
            print(text, file=sys.stderr, flush=True)

    started, before = time.monotonic(), output / RESULT
    spent = json.loads(before.read_bytes())["seconds"]["total"] if before.is_file() else 0.0  # all of a finished run
    plan, corpus, valid, tokenizers = _set_up(request, output, resume, say, processes)
    if processes.is_first:
        processes.wait()  # the others wait for the plan
    keep = corpora.read_kept(plan.data)  # now, so that a file that cannot be read stops no finished run
    (spent,) = processes.agree(spent)
    device = choose_device(plan.train.device)
    trainer = None
    while trainer is None:
        with make_stream(plan, corpus, tokenizers, output / TEXT, processes, device) as stream:
            if stream.num_too_long:
                say(f"{stream.num_too_long:,} pairs left out: over {plan.data.max_length} tokens")
            processes.wait()
            try:
                validate = make_validator(plan, valid, tokenizers, processes)
                network = make_network(plan, tokenizers, device, say)
                seconds = None
                if processes.alone and not resume:
                    plan, seconds = timed(network, plan)
                    plan.save(output / RUN_FILE)
                say(plan.describe(str(device), seconds))
                if not resume:
                    most, there = bytes_kept(network, plan.train), shutil.disk_usage(output).free
                    say(f"checkpoints take {most / 1e6:,.0f} MB at most, {there / 1e6:,.0f} MB are free")
                snapshots = SnapshotWriter(output, plan, valid)
                trainer = Trainer(network, stream, validate, plan.train, output, processes, snapshots)
                trainer.owes_validation = bool(plan.init)  # of the given model
                if resume:
                    say(f"going on after step {trainer.step:,}" if trainer.restore() else "no checkpoint yet")
                trainer.clock.began = started
                if spent:
                    trainer.clock.earlier = spent
                    trainer.history.without_improvement = 0
                begun = (trainer.step, trainer.clock.seconds)
                with Reporter(output, plan.train, begun, show, processes.is_first) as reporter:
                    if processes.is_first and (found := vocabulary_too_small(tokenizers, corpus)):
                        reporter.warn(trainer.step, *found)
                    trainer.run(reporter, stop_at)
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
        return None
    scores = finish(plan, trainer, tokenizers, valid if measures else None, keep, say)
    if not processes.is_first:
        return None
    shutil.rmtree(output / TEXT, ignore_errors=True)
    free(output)
    return TrainResult(output, scores, trainer.clock.total)


def _set_up(
    request: Request, output: Path, resume: bool, say: Say, processes: Processes
) -> tuple[Plan, Text, Text, Tokenizers]:
    """The plan, training text, validation text and tokenizers; made anew, or read from the folder of the run."""
    if resume:
        plan, _ = Plan.load(output / RUN_FILE).resumed(request, is_finished=(output / RESULT).is_file())
        if processes.is_first:  # in this order: a kill in between leaves a run that can be resumed
            (output / RESULT).unlink(missing_ok=True)
            plan.save(output / RUN_FILE)
        data, seed = plan.data, plan.train.seed
    else:
        check(request)
        device = choose_device(request.train.device)
        data, seed = plans.with_languages(request.data), request.train.seed
        manifest = read_manifest(request.init) if request.init is not None else None
        data = plans.data_like(data, manifest) if manifest else data
        data = data if data.sampling is not None else dataclasses.replace(data, sampling=plans.SAMPLING)
        if data.lesson:
            data = dataclasses.replace(data, pairs=(str(write_lesson(data.lesson, output, seed)),))
    torch.manual_seed(seed)
    corpus, valid = _read(data, seed, output, say, processes)
    if resume:
        return plan, corpus, valid, corpora.load_tokenizers(output / TOKENIZERS, plan.tokenizer, plan.model)
    settings = dataclasses.replace(request.train, objective=request.objective)
    decode, generate = request.decode, request.generate
    if request.init is None or manifest is None:
        learnt = corpora.learn_tokenizers(data, corpus, seed, masked=request.objective == "masked")
        model = plans.choose_model(request, learnt, corpora.count_pairs(corpus))
        files = corpora.JOINT if learnt[0] is learnt[1] else corpora.SEPARATE
        contents = {files.source: learnt[0].proto, files.target: learnt[1].proto}
    else:
        files, contents = manifest.tokenizer, read_files(request.init, manifest)
        model = plans.model_from(request, manifest)
        decode, generate = (
            dataclasses.replace(getattr(manifest, each), **request.given(each)) for each in ("decode", "generate")
        )
    (output / TOKENIZERS).mkdir(exist_ok=True)
    for name, content in contents.items():
        write_file(output / TOKENIZERS / name, content)
    tokenizers = corpora.load_tokenizers(output / TOKENIZERS, files, model)
    plan = Plan(data, model, settings, decode, str(request.init or ""), generate, files)
    goal, on_gpu = manifest_of(plan), device.type == "cuda"
    counts = corpora.count_pairs(corpus), corpora.estimate_tokens(corpus, tokenizers)
    tunes = manifest is not None and (goal.task, goal.languages) == (manifest.task, manifest.languages)
    settings = plans.complete(settings, model, num_pairs=counts[0], num_tokens=counts[1], on_gpu=on_gpu, tunes=tunes)
    if request.train.batch_tokens is None:
        if on_gpu:
            settings = fit_to_memory(settings, model, device, say)
        settings = plans.shared_out(settings, processes.size)
    processes.check(settings.accumulate)
    plan = dataclasses.replace(plan, train=settings)
    plan = dataclasses.replace(plan, reasons=reasons(request, plan, *counts, on_gpu=on_gpu, tunes=tunes))
    plan.save(output / RUN_FILE)
    return plan, corpus, valid, tokenizers


def _read(data: DataConfig, seed: int, output: Path, say: Say, processes: Processes) -> tuple[Text, Text]:
    """Training and validation text; what is said of it, and the checksums of its files, are kept for the card."""
    said = list[str]()

    def tell(text: str) -> None:
        said.append(text.partition("\n")[0])
        say(text)

    corpus: Text
    valid: Text
    if data.text:
        corpus, valid = corpora.read_texts(data, seed, tell)
    elif processes.is_first:
        corpus, valid = corpora.read_corpora(data, seed, tell, output / TEXT, num_readers())
    else:
        corpus, valid = corpora.open_corpora(output / TEXT, data)
    if processes.is_first and said:  # nothing is said of text that was read before an interruption
        checksums = {Path(name).name: digest(Path(name)) for name in corpora.files_of(data)}
        write_file(output / ABOUT_TEXT, json.dumps({"said": said, "checksums": checksums}).encode())
    return corpus, valid


def check_folder(output: Path, resume: bool) -> None:
    """Refuse a folder where a run can neither start nor resume."""
    if output.is_file():
        raise UsageError(f"--output must be a folder: {output} is a file; name another place")
    if resume:
        Plan.load(output / RUN_FILE)
        return
    output.mkdir(parents=True, exist_ok=True)
    _clear(output, _FIRST_FILES)
    if any(output.iterdir()):
        content = f"files and no training run (no {RUN_FILE}); name another"
        if (output / RUN_FILE).exists():
            content = "a training run; name another, or continue that run with --resume"
        raise UsageError(f"--output must be a new or empty folder: {output} holds {content}")


def remove_refused(output: Path) -> None:
    """Remove the files of a run that was refused before its first checkpoint, so that it can be repeated."""
    if output.exists() and not (output / LOCK).exists():
        _clear(output, _EARLY_FILES)
        if not any(output.iterdir()):
            output.rmdir()


def _clear(output: Path, names: set[str]) -> None:
    """Remove all files, if these are the only ones."""
    paths = list(output.iterdir())
    if {path.name for path in paths} <= names:
        for path in paths:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; refuse where another process holds it. Name the folder where its disk is full."""
    try:
        with try_lock(folder / LOCK) as is_held:
            if not is_held:
                raise TrainingError(f"a run has one process: another one trains in {folder}; name another --output")
            yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            reason = f"{error.strerror}{room_left(folder)}"
            raise TrainingError(f"{folder} must have room for the run and its text: {reason}; make room") from error
        raise

"""From raw text to a finished model folder: read, learn the pieces, train, measure, write.

runs/mine/   run.json          every setting, the chosen ones included
             metrics.jsonl     what was measured, line by line
             checkpoints/      to resume from
             best/             weights of the best validations
             config.json, model.safetensors, tokenizer.model, README.md, encoder.onnx, decoder.onnx:
                               the finished model
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.checkpoint import read_manifest, read_tensors
from regard.config import (
    DataConfig,
    DecodeConfig,
    ModelConfig,
    TrainConfig,
    from_dict,
    sized,
    to_dict,
)
from regard.engine.torch import to_state_dict
from regard.errors import TrainingError, UsageError
from regard.evaluate import Score
from regard.model.transformer import EncoderDecoder, build
from regard.text.batches import BatchStream
from regard.text.corpus import Corpus
from regard.text.tokenizer import Tokenizer
from regard.train.finish import finish
from regard.train.loop import Trainer
from regard.train.plan import NORM_PLACEMENT, choose_size, complete
from regard.train.prepare import (
    JOINT,
    SEPARATE,
    TOKENIZERS,
    estimate_tokens,
    learn_tokenizers,
    load_tokenizers,
    read_corpora,
    with_languages,
)
from regard.train.report import Reporter
from regard.train.validate import Validator


@dataclass(frozen=True)
class TrainResult:
    """What a finished run leaves."""

    folder: Path
    scores: list[Score]
    seconds: float


@dataclass(frozen=True)
class Plan:
    """Everything a run is determined by; saved as run.json."""

    data: DataConfig
    model: ModelConfig
    train: TrainConfig
    decode: DecodeConfig
    init: str

    def save(self, path: Path) -> None:
        values = {name: _plain(value) for name, value in vars(self).items()}
        path.write_text(json.dumps(values, indent=1), "utf-8")

    @classmethod
    def load(cls, path: Path) -> Plan:
        try:
            values = json.loads(path.read_text("utf-8"))
            return cls(
                data=from_dict(DataConfig, values["data"], f"{path} data"),
                model=from_dict(ModelConfig, values["model"], f"{path} model"),
                train=from_dict(TrainConfig, values["train"], f"{path} train"),
                decode=from_dict(DecodeConfig, values["decode"], f"{path} decode"),
                init=str(values["init"]),
            )
        except (OSError, ValueError, KeyError) as error:
            raise TrainingError(
                f"{path.parent} must be the folder of an earlier run to resume it: {error}; "
                "start it without --resume"
            ) from error


def train(
    data: DataConfig,
    settings: TrainConfig,
    *,
    output: Path,
    size: str | None = None,
    model: Mapping[str, Any] | None = None,
    decode: DecodeConfig | None = None,
    init: str | Path | None = None,
    resume: bool = False,
    show_progress: bool = True,
    stop_at: int | None = None,
) -> TrainResult | None:
    """Train a model from parallel text; None when `stop_at` ended the run before its last step.

    model: changes to the named size, by the field names of ModelConfig.
    init: a model folder whose weights and tokenizers the run starts from.
    """
    started = time.monotonic()
    say = _speaker(show_progress)
    if resume:
        plan = Plan.load(output / "run.json")
        data, settings = plan.data, plan.train
    _check_folder(output, resume)
    torch.manual_seed(settings.seed)
    device = choose_device(settings.device)
    corpus, valid = read_corpora(data, settings.seed, say)
    if resume:
        tokenizers = load_tokenizers(output / TOKENIZERS, JOINT if plan.data.joint else SEPARATE)
    else:
        data = with_languages(data)
        plan, tokenizers = _plan(
            data, settings, corpus, output, size, dict(model or {}), decode, init, device
        )
        plan.save(output / "run.json")
        say(_describe(plan, device))
    settings = plan.train
    network = build(plan.model, settings.dropout or 0.0)
    assert isinstance(network, EncoderDecoder)
    if plan.init:
        network.load_state_dict(to_state_dict(read_tensors(plan.init), plan.model))
    network.to(device)
    assert settings.batch_tokens is not None
    with BatchStream(
        corpus,
        tokenizers,
        batch_tokens=settings.batch_tokens,
        packing=bool(settings.packing),
        sampling=plan.data.sampling,
        max_length=plan.data.max_length,
        seed=settings.seed,
        num_workers=_num_workers(device, corpus),
    ) as stream:
        if stream.num_too_long:
            say(f"{stream.num_too_long:,} pairs left out: over {plan.data.max_length} pieces")
        validator = Validator(valid, tokenizers, settings)
        longest = stream.max_sequence_length
        trainer = Trainer(network, stream, validator, settings, output, longest=longest)
        if resume and not trainer.restore():
            say("no checkpoint yet: starting from the beginning")
        assert settings.steps is not None
        with Reporter(
            output,
            num_steps=settings.steps,
            step=trainer.step,
            tensorboard=settings.tensorboard,
            show=show_progress,
        ) as reporter:
            trainer.run(reporter, stop_at)
    if stop_at is not None and trainer.step < settings.steps and trainer.step >= stop_at:
        say(f"stopped at step {trainer.step:,} as asked; --resume goes on")
        return None
    seconds = time.monotonic() - started
    scores = finish(plan, trainer, tokenizers, valid, output, seconds)
    return TrainResult(output, scores, seconds)


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


def _speaker(show: bool) -> Any:
    def say(text: str) -> None:
        if show:
            print(text, file=sys.stderr, flush=True)

    return say


def _check_folder(output: Path, resume: bool) -> None:
    if not resume and output.exists() and any(output.iterdir()):
        raise UsageError(
            f"--output must be a new or empty folder: {output} holds files; "
            "name another, or continue that run with --resume"
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--output must be a folder that can be written: {output}: {error.strerror}"
        ) from error


def _plan(
    data: DataConfig,
    settings: TrainConfig,
    corpus: Corpus,
    output: Path,
    size: str | None,
    changes: dict[str, Any],
    decode: DecodeConfig | None,
    init: str | Path | None,
    device: torch.device,
) -> tuple[Plan, tuple[Tokenizer, Tokenizer]]:
    if init is not None:
        manifest = read_manifest(init)
        tokenizers = load_tokenizers(Path(init), manifest.tokenizer)
        model, data = manifest.model, dataclasses.replace(data, joint=manifest.tokenizer.joint)
        files = JOINT if data.joint else SEPARATE
        tokenizers[0].save(output / TOKENIZERS / files.source)
        tokenizers[1].save(output / TOKENIZERS / files.target)
    else:
        data = dataclasses.replace(data, joint=data.joint or bool(data.tokenizer_file))
        tokenizers = learn_tokenizers(data, corpus, output, settings.seed)
        changes.setdefault("norm_placement", NORM_PLACEMENT)
        if not data.joint:
            changes.setdefault("tied", "decoder")
        changes["source_vocab_size"] = tokenizers[0].vocab_size
        changes["target_vocab_size"] = tokenizers[1].vocab_size
        base = to_dict(sized(size or choose_size(len(corpus))))
        model = from_dict(ModelConfig, {**base, **changes}, "model")
    settings = complete(
        settings,
        model,
        num_pairs=len(corpus),
        num_tokens=estimate_tokens(corpus, tokenizers),
        on_gpu=device.type == "cuda",
    )
    plan = Plan(data, model, settings, decode or DecodeConfig(), str(init or ""))
    return plan, tokenizers


def _num_workers(device: torch.device, corpus: Corpus) -> int:
    """A GPU eats faster than one process can encode; a CPU does not."""
    return min(15, (os.cpu_count() or 1) - 1) if device.type == "cuda" else 0


def _describe(plan: Plan, device: torch.device) -> str:
    model, settings = plan.model, plan.train
    return (
        f"model: {model.num_encoder_layers}+{model.num_decoder_layers} layers, d_model {model.d_model}, "
        f"d_ff {model.d_ff}, {model.num_heads} heads, {model.target_vocab_size:,} pieces\n"
        f"training on {device}: {settings.steps:,} steps of {settings.batch_tokens:,} tokens, "
        f"{settings.schedule} to {settings.learning_rate:.2e} after {settings.warmup:,}, "
        f"dropout {settings.dropout}"
    )


def _plain(value: Any) -> Any:
    return to_dict(value) if dataclasses.is_dataclass(value) else value

"""The plan of a run: every setting, those chosen from the size of the corpus and the device included.

It is saved as run.json beside the run; its weightier part is printed at the start. docs/log.md has the runs the
numbers were tried in.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.config import (
    DataConfig,
    DecodeConfig,
    GenerateConfig,
    ModelConfig,
    TrainConfig,
    check_types,
    from_dict,
    shape_of,
    to_dict,
)
from regard.errors import TrainingError, UsageError
from regard.files import write_file
from regard.folder.manifest import Manifest, TokenizerFiles
from regard.folder.tensors import expected_tensors
from regard.text.tokenizer import TokenizerBase
from regard.train.recipe import SECTIONS, Request

RUN_FILE, RESULT = "run.json", "result.json"

SIZE_BY_PAIRS = ((400_000, "base"), (4_000, "small"), (0, "tiny"))  # Model size for at least so many pairs.
DROPOUT_BY_PAIRS = ((500_000, 0.1), (100_000, 0.15), (0, 0.2))
"""Dropout for at least so many pairs: more for less text, against overfitting."""
EPOCHS_AT_30K = 70  # Epochs over a corpus of 30,000 pairs; a larger one needs fewer, by the square root.
MIN_EPOCHS, MAX_EPOCHS = 6, 100
STEPS_AN_EPOCH = 100
"""Batches in an epoch, within the bounds of the batch size."""
SMALLEST_BATCH, LARGEST_BATCH = 4096, 65536  # Bounds of the chosen batch size, in tokens.
MIN_BATCH = 512  # Minimum batch size when memory is short, in tokens.
LARGEST_ON_CPU = 8192
"""Maximum batch size on a CPU, in tokens; more takes memory and saves no time, so an update has several batches."""
MIN_STEPS = 500
FINE_TUNING_RATE = 0.05
"""Peak rate of fine-tuning, as a share of the rate from a random start: a higher one forgets what the model knew."""
ADAPTER_RATE = 0.5  # Peak rate of adapters, as such a share: their product begins at zero.
FINE_TUNING_PASSES = ((100_000, 1), (10_000, 3), (2_000, 5), (0, 10))
"""Passes of fine-tuning over at least so many pairs."""
FINE_TUNING_BATCH, FINE_TUNING_DROPOUT, FINE_TUNING_SMOOTHING, FINE_TUNING_VALIDATIONS = 1024, 0.1, 0.05, 5
"""Minimum batch size in tokens, dropout, label smoothing, and number of validations after that of the given model."""
SAMPLING = 0.15  # Subword regularisation of a new model.
WARMUP_SHARE = 0.08  # Length of the warm-up, as a share of the steps or minutes.
NUM_VALIDATIONS = 10
PEAK_RATE_AT_256 = 2e-3
"""Peak learning rate of the cosine schedule at width 256; falls with the square root of d_model or d_state."""
LABEL_SMOOTHING = 0.1  # Label smoothing of translation, as in the paper.
NUM_SNAPSHOTS, LARGEST_WITH_SNAPSHOTS = 13, 5_000_000
"""Snapshots of a run, and the weights of the largest model that has them by default."""
NORM_PLACEMENT = "pre"  # Norm placement; pre-norm trains at any rate of the schedule: docs/decisions/004.
LANGUAGES = frozenset(Path(__file__).with_name("languages.txt").read_text("utf-8").split())
"""File suffixes that name a language."""


@dataclass(frozen=True)
class Plan:
    """Everything that determines a run; saved as run.json."""

    data: DataConfig
    model: ModelConfig
    train: TrainConfig
    decode: DecodeConfig
    init: str
    generate: GenerateConfig = field(default_factory=GenerateConfig)
    tokenizer: TokenizerFiles = field(default_factory=TokenizerFiles)
    reasons: dict[str, str] = field(default_factory=dict)  # of the settings that were chosen, in a few words each

    def save(self, path: Path) -> None:
        values = {name: to_dict(getattr(self, name)) for name in (*SECTIONS, "tokenizer")}
        write_file(path, json.dumps({**values, "init": self.init, "reasons": self.reasons}, indent=1).encode())

    @classmethod
    def load(cls, path: Path) -> Plan:
        try:
            values = {"generate": {}, **json.loads(path.read_text("utf-8"))}
            sections: dict[str, Any] = {
                name: from_dict(config, values[name], f"{path} {name}") for name, config in SECTIONS.items()
            }
            files = from_dict(TokenizerFiles, values.get("tokenizer", {}), f"{path} tokenizer")
            return cls(**sections, init=str(values["init"]), tokenizer=files, reasons=values.get("reasons", {}))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise TrainingError(
                f"{path.parent} must be the folder of an earlier run: {path.name}: {reason}; leave out --resume"
            ) from error

    def describe(self, device: str, seconds: float | None = None) -> str:
        """In a few lines, with what was chosen and why; seconds: estimate for all steps."""
        model, train = self.model, self.train
        widths = ", ".join(f"{name} {width}" for name, width in model.widths.items())
        layers = "+".join(map(str, model.num_layers))
        warmup = f"{train.warmup:,} steps" if train.warmup else f"{WARMUP_SHARE:.0%} of the time"
        start = f", starting from {Path(self.init).name}" if self.init else ""
        time = f"; about {in_words(seconds)}, validations not counted" if seconds else ""
        why = "\nchosen: " + "; ".join(self.reasons.values()) if self.reasons else ""
        return (
            f"model: {model.architecture}, {layers} layers, {widths}, {model.target_vocab_size:,} tokens{start}\n"
            f"training on {device}: {train.extent} of {train.accumulate} x {train.batch_tokens:,} tokens, "
            f"warm-up {warmup} to {train.learning_rate:.2e}, then {train.schedule}, dropout {train.dropout}{time}{why}"
        )

    def resumed(self, request: Request, *, is_finished: bool) -> tuple[Plan, bool]:
        """The plan of this run resumed, and whether it is longer.

        Settings that differ are refused, but for the threads, and of a finished run more steps or another patience.
        """
        settings = [
            (key, value, getattr(getattr(self, section), key))
            for section in ("data", "train", "decode", "generate")
            for key, value in request.given(section).items()
        ]
        kind = {name: getattr(self.model, name) for name in ("architecture", "attention")}
        sized = shape_of(request.size, {**kind, **request.model}) if request.size else {}
        shape = {**request.model, **sized}
        settings += [(key, value, getattr(self.model, key)) for key, value in shape.items()]
        settings += [("init", str(request.init), self.init)] if request.init is not None else []
        changes: dict[str, Any] = {}
        for key, now, then in settings:
            extends = key == "patience" or (key in ("steps", "minutes") and then and now > then)
            if now != then and (key == "threads" or (is_finished and extends)):
                changes[key] = now
            elif now != then:
                raise UsageError(
                    f"--resume continues a run as it began, with {key}={then!r}: got {now!r}; leave it out"
                )
        reasons = {key: why for key, why in self.reasons.items() if key not in changes}
        plan = dataclasses.replace(self, train=dataclasses.replace(self.train, **changes), reasons=reasons)
        return plan, bool(changes.keys() - {"threads"})

    def with_smaller_batches(self, reason: str) -> Plan:
        """Twice as many batches of half the size to an update, after an error."""
        assert self.train.batch_tokens is not None
        batch_tokens = self.train.batch_tokens // 2
        if batch_tokens < MIN_BATCH:
            raise TrainingError(reason)
        train = dataclasses.replace(self.train, batch_tokens=batch_tokens, accumulate=2 * self.train.accumulate)
        return dataclasses.replace(
            self, train=train, reasons={**self.reasons, "batch_tokens": "batches that memory holds"}
        )


def with_languages(data: DataConfig) -> DataConfig:
    """Language codes from suffixes such as train.fr and train.en.xz, where none were given."""

    def code(given: str, files: tuple[str, ...]) -> str:
        suffix = re.search(r"\.([a-z]{2})(\.(gz|xz))?$", files[0]) if files else None
        return given or (suffix.group(1) if suffix and suffix.group(1) in LANGUAGES else "")

    return dataclasses.replace(
        data,
        source_language=code(data.source_language, data.source),
        target_language=code(data.target_language, data.target or data.text),
    )


def choose_model(request: Request, tokenizers: tuple[TokenizerBase, TokenizerBase], num_pairs: int) -> ModelConfig:
    """The named size, or the one that suits the corpus, with the given changes."""
    chosen: dict[str, Any] = {
        "source_vocab_size": tokenizers[0].vocab_size,
        "target_vocab_size": tokenizers[1].vocab_size,
        "norm_placement": NORM_PLACEMENT,
    }
    if tokenizers[0] is not tokenizers[1]:
        chosen["tied"] = "decoder"
    model = {**request.model, "architecture": request.architecture}
    check_types(ModelConfig, model, "model")
    size = request.size or for_pairs(SIZE_BY_PAIRS, num_pairs)
    return from_dict(ModelConfig, {**chosen, **shape_of(size, model)}, "model")


def data_like(data: DataConfig, manifest: Manifest) -> DataConfig:
    """The settings of the text as a given model has them; it may never have read a word cut at random."""
    names = "source_language", "target_language"
    own: dict[str, Any] = {name: getattr(data, name) or getattr(manifest, name) for name in names}
    own["max_length"] = min(most, manifest.longest) if (most := data.max_length) == DataConfig().max_length else most
    return dataclasses.replace(data, joint=manifest.tokenizer.joint, sampling=data.sampling or 0.0, **own)


def model_from(request: Request, manifest: Manifest) -> ModelConfig:
    """The shape of the given model, or of its encoder for contrastive training."""
    model = manifest.model
    if request.objective != "contrastive":
        return model
    if model.is_recurrent or not model.has_encoder or not manifest.tokenizer.joint:
        kind = f"architecture={model.architecture}, joint={manifest.tokenizer.joint}"
        raise UsageError(f"contrastive training starts from a Transformer's encoder with one vocabulary: got {kind}")
    vocab_size = model.source_vocab_size
    encoder = dataclasses.replace(model, architecture="encoder-only", target_vocab_size=vocab_size, tied="all")
    return dataclasses.replace(encoder, output_bias=False, output_transform=False)


def complete(
    settings: TrainConfig, model: ModelConfig, *, num_pairs: int, num_tokens: int, on_gpu: bool, tunes: bool = False
) -> TrainConfig:
    """The settings with every None replaced, except counts of steps where minutes are given, and threads.

    `num_tokens` counts both sides of the corpus once. tunes: whether a given model goes on in its own task.
    """
    epochs = EPOCHS_AT_30K * math.sqrt(30_000 / num_pairs)
    epochs = for_pairs(FINE_TUNING_PASSES, num_pairs) if tunes else min(MAX_EPOCHS, max(MIN_EPOCHS, epochs))
    wanted = num_tokens / STEPS_AN_EPOCH
    smallest = FINE_TUNING_BATCH if tunes else SMALLEST_BATCH
    batch_tokens = settings.batch_tokens or int(min(LARGEST_BATCH, max(smallest, wanted)))
    accumulate = settings.accumulate
    if not on_gpu and settings.batch_tokens is None:
        batch_tokens, num_parts = divide(batch_tokens, LARGEST_ON_CPU)
        accumulate *= num_parts
    is_square_root = settings.schedule == "inverse-sqrt"
    steps, warmup, validate_every = settings.steps, settings.warmup, settings.validate_every
    if settings.minutes is None:
        an_update = batch_tokens * accumulate
        steps = steps or max(1 if tunes else MIN_STEPS, math.ceil(epochs * num_tokens / an_update))
        share = min(4000, steps // 4) if is_square_root else round(WARMUP_SHARE * steps)
        warmup = warmup or max(1, share)
        validate_every = validate_every or max(1, steps // (FINE_TUNING_VALIDATIONS if tunes else NUM_VALIDATIONS))
    if is_square_root and warmup is not None:
        peak = float((model.d_model * warmup) ** -0.5)
    else:
        width = model.d_state if model.is_recurrent else model.d_model
        peak = PEAK_RATE_AT_256 * math.sqrt(256 / width)
    peak *= ADAPTER_RATE if settings.adapter else FINE_TUNING_RATE if tunes else 1
    usual_dropout = FINE_TUNING_DROPOUT if tunes else for_pairs(DROPOUT_BY_PAIRS, num_pairs)
    usual_smoothing = FINE_TUNING_SMOOTHING if tunes else LABEL_SMOOTHING
    dropout, smoothing = settings.dropout, settings.label_smoothing
    is_small = sum(map(math.prod, expected_tensors(model).values())) <= LARGEST_WITH_SNAPSHOTS
    translates = settings.objective in (None, "translation")
    # The kernel for packed rows adds no bias, and all scores of a long row would need too much memory.
    fits = on_gpu and not model.is_recurrent and "biased" not in model.position_traits
    packing = fits if settings.packing is None else settings.packing
    return dataclasses.replace(
        settings,
        objective=settings.objective or "translation",
        steps=steps,
        batch_tokens=batch_tokens,
        accumulate=accumulate,
        warmup=warmup,
        learning_rate=settings.learning_rate or peak,
        dropout=usual_dropout if dropout is None else dropout,
        label_smoothing=usual_smoothing * translates if smoothing is None else smoothing,
        metric=settings.metric if translates else "loss",
        validate_every=validate_every,
        packing=packing,
        snapshots=NUM_SNAPSHOTS * is_small if settings.snapshots is None else settings.snapshots,
        # Padded batches have many shapes, and each would be compiled anew.
        compile=on_gpu and packing if settings.compile is None else settings.compile,
    )


def shared_out(settings: TrainConfig, num_processes: int) -> TrainConfig:
    """The same tokens to an update, in as many batches for each process."""
    assert settings.batch_tokens is not None
    tokens = settings.batch_tokens * settings.accumulate
    accumulate = num_processes * math.ceil(settings.accumulate / num_processes)
    if accumulate == settings.accumulate:
        return settings
    return dataclasses.replace(settings, accumulate=accumulate, batch_tokens=math.ceil(tokens / accumulate))


def in_words(seconds: float) -> str:
    """
    >>> in_words(0.8), in_words(42.0), in_words(600.0), in_words(9000.0)
    ('1 second', '42 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} second{'s' * (round(seconds) != 1)}"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def divide(tokens: int, most: int) -> tuple[int, int]:
    """Tokens of a part and the number of equal parts, none larger than `most`.

    >>> divide(65536, 30000)
    (21846, 3)
    """
    num_parts = max(1, math.ceil(tokens / most))
    return math.ceil(tokens / num_parts), num_parts


def for_pairs(table: Any, num_pairs: int) -> Any:
    """The first entry of a table that is for at most so many pairs."""
    return next(value for at_least, value in table if num_pairs >= at_least)

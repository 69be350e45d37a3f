"""What `regard train` chooses when the user does not say: from the size of the corpus and the device.

What was chosen is saved as run.json beside the run, and the weightier part of it printed at the start.
docs/log.md has the runs the numbers were tried in.
"""

from __future__ import annotations

import dataclasses
import math

from regard.config import ModelConfig, TrainConfig
from regard.train.optimizer import paper_peak

SIZE_BY_PAIRS = ((400_000, "base"), (4_000, "small"), (0, "tiny"))
"""the size for at least this many pairs"""

EPOCHS_AT_30K = 70
"""passes over a corpus of thirty thousand pairs; a larger one needs fewer, by the square root"""
LEAST_EPOCHS, MOST_EPOCHS = 6, 100
STEPS_AN_EPOCH = 100
"""a batch is this part of the corpus, within the two bounds below"""
SMALLEST_BATCH, LARGEST_BATCH = 4096, 65536
LEAST_BATCH = 512
"""tokens at once below which memory is too small to train"""
LARGEST_ON_CPU = 8192
"""tokens at once; more take memory and no less time, so a larger batch is made of several"""
LEAST_STEPS = 500
WARMUP_SHARE = 0.08
"""of the steps, or of the minutes"""
NUM_VALIDATIONS = 10
PEAK_RATE_AT_256 = 2e-3
"""for the cosine schedule; wider models need less, by the square root of d_model or d_state"""


LABEL_SMOOTHING = 0.1
"""in translation, as in the paper"""
NORM_PLACEMENT = "pre"
"""which trains at any rate the schedule below may reach: docs/decisions/004"""


def choose_size(num_pairs: int) -> str:
    return next(size for at_least, size in SIZE_BY_PAIRS if num_pairs >= at_least)


def choose_dropout(num_pairs: int) -> float:
    """The less text, the more of it must be kept from being learnt by heart."""
    if num_pairs < 100_000:
        return 0.2
    return 0.15 if num_pairs < 500_000 else 0.1


def complete(
    settings: TrainConfig, model: ModelConfig, *, num_pairs: int, num_tokens: int, on_gpu: bool
) -> TrainConfig:
    """The settings with every None replaced, but for what is counted in steps when minutes are given.

    `num_tokens` counts both sides of the corpus once.
    """
    epochs = EPOCHS_AT_30K * math.sqrt(30_000 / num_pairs)
    epochs = min(MOST_EPOCHS, max(LEAST_EPOCHS, epochs))
    wanted = num_tokens / STEPS_AN_EPOCH
    batch_tokens = settings.batch_tokens or int(min(LARGEST_BATCH, max(SMALLEST_BATCH, wanted)))
    accumulate = settings.accumulate
    if not on_gpu and settings.batch_tokens is None:
        batch_tokens, num_parts = divide(batch_tokens, LARGEST_ON_CPU)
        accumulate *= num_parts
    steps, warmup, validate_every = settings.steps, settings.warmup, settings.validate_every
    if settings.minutes is None:
        an_update = batch_tokens * accumulate
        steps = steps or max(LEAST_STEPS, math.ceil(epochs * num_tokens / an_update))
        warmup = warmup or _warmup(settings, steps)
        validate_every = validate_every or max(1, steps // NUM_VALIDATIONS)
    dropout, smoothing = settings.dropout, settings.label_smoothing
    translates = settings.objective in (None, "translation")
    packing = on_gpu and not model.is_recurrent if settings.packing is None else settings.packing
    return dataclasses.replace(
        settings,
        objective=settings.objective or "translation",
        steps=steps,
        batch_tokens=batch_tokens,
        accumulate=accumulate,
        warmup=warmup,
        learning_rate=settings.learning_rate or _peak(settings, model, warmup),
        dropout=choose_dropout(num_pairs) if dropout is None else dropout,
        label_smoothing=LABEL_SMOOTHING * translates if smoothing is None else smoothing,
        metric=settings.metric if translates else "loss",
        validate_every=validate_every,
        packing=packing,
        # Padded batches have a new shape each time, and each would be compiled anew.
        compile=on_gpu and packing if settings.compile is None else settings.compile,
    )


def shared_out(settings: TrainConfig, num_processes: int) -> TrainConfig:
    """The same tokens to an update, in batches of which each process gets as many."""
    assert settings.batch_tokens is not None
    tokens = settings.batch_tokens * settings.accumulate
    accumulate = num_processes * math.ceil(settings.accumulate / num_processes)
    if accumulate == settings.accumulate:
        return settings
    return dataclasses.replace(
        settings, accumulate=accumulate, batch_tokens=math.ceil(tokens / accumulate)
    )


def divide(tokens: int, most: int) -> tuple[int, int]:
    """Tokens of a part and the number of equal parts, none larger than `most`.

    >>> divide(65536, 30000)
    (21846, 3)
    """
    num_parts = max(1, math.ceil(tokens / most))
    return math.ceil(tokens / num_parts), num_parts


def _warmup(settings: TrainConfig, steps: int) -> int:
    if settings.schedule == "inverse-sqrt":
        return min(4000, max(1, steps // 4))
    return max(1, round(WARMUP_SHARE * steps))


def _peak(settings: TrainConfig, model: ModelConfig, warmup: int | None) -> float:
    if settings.schedule == "inverse-sqrt":
        assert warmup is not None
        return paper_peak(model.d_model, warmup)
    width = model.d_state if model.is_recurrent else model.d_model
    return PEAK_RATE_AT_256 * math.sqrt(256 / width)

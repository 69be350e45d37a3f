"""How many tokens fit into a GPU at once, measured before a run begins.

What a batch takes grows by the same amount with every token, so two trials say what any size takes. A batch that
does not fit is divided, and the gradients of its parts are added up: an update sees as many tokens as it would have.
"""

from __future__ import annotations

import dataclasses

import torch

from regard.config import RUNNING_TEXT, ModelConfig, TrainConfig
from regard.errors import TrainingError
from regard.model.transformer import Model, build
from regard.train.loss import Tensors
from regard.train.plan import LEAST_BATCH, divide
from regard.train.update import autocast, loss_for

TRIALS = (4096, 16384)
"""tokens of the two batches that are measured"""
SHARE = 0.85
"""of the free memory that may be used; the rest is for what the allocator cannot fill and for validation"""
SENTENCE = 32
"""tokens of a sentence in a trial; attention hardly matters beside the other layers until far longer ones"""


def fit_to_memory(
    settings: TrainConfig, model: ModelConfig, device: torch.device
) -> tuple[TrainConfig, str]:
    """The settings with batches that fit into the GPU, as many to an update as that takes; and what was done."""
    assert settings.batch_tokens is not None
    free, _ = torch.cuda.mem_get_info(device)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        network = build(model, settings.dropout or 0.0).to(device)
        kept = num_bytes_kept(sum(p.numel() for p in network.parameters()), settings)
        measured = measure(network, settings, device)
    del network
    torch.cuda.empty_cache()
    most = most_tokens(measured, round(free * SHARE) - kept) if measured else 0
    if most < min(LEAST_BATCH, settings.batch_tokens):
        raise TrainingError(
            f"memory must hold the model and {LEAST_BATCH:,} tokens: {free / 2**30:.1f} GiB are free, "
            f"{kept / 2**30:.1f} of which the weights and the optimizer take; take a smaller size"
        )
    batch_tokens, num_parts = divide(settings.batch_tokens, most)
    if num_parts == 1:
        return settings, ""
    num_batches = settings.accumulate * num_parts
    return dataclasses.replace(settings, batch_tokens=batch_tokens, accumulate=num_batches), (
        f"memory holds about {most:,} tokens at once: {num_batches} batches of "
        f"{batch_tokens:,} make an update"
    )


def measure(network: Model, settings: TrainConfig, device: torch.device) -> dict[int, int]:
    """The bytes that the gradients of batches of some sizes take beside what stays; of those that fit."""
    found = {}
    loss = loss_for(dataclasses.replace(settings, compile=False), device)
    for size in TRIALS:
        batch = trial_batch(size, network.config, settings, device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        try:
            with autocast(device, settings.precision):
                sums = loss(network, batch, packed=bool(settings.packing), longest=SENTENCE)
            sums.loss.backward()
        except torch.OutOfMemoryError:
            break
        found[size] = torch.cuda.max_memory_allocated(device) - before
        network.zero_grad(set_to_none=True)
    return found


def trial_batch(
    num_tokens: int, model: ModelConfig, settings: TrainConfig, device: torch.device
) -> Tensors:
    """Random sentences of one length, half of the tokens on either side, or all of them running text."""
    is_running = settings.objective in RUNNING_TEXT
    num_sentences = num_tokens // (SENTENCE if is_running else 2 * SENTENCE)
    shape = (1, num_sentences * SENTENCE) if settings.packing else (num_sentences, SENTENCE)
    source = torch.randint(4, model.source_vocab_size, shape, device=device)
    target = torch.randint(4, model.target_vocab_size, shape, device=device)
    lengths = torch.full((num_sentences,), SENTENCE, dtype=torch.int32, device=device)
    if is_running:
        return Tensors(source[:, :0], torch.zeros_like(lengths), target, target, lengths)
    return Tensors(source, lengths, target, target, lengths)


def num_bytes_kept(num_parameters: int, settings: TrainConfig) -> int:
    """Weights, gradients, Adam's two moments and the running average, all in fp32."""
    return 4 * num_parameters * (4 + bool(settings.ema))


def most_tokens(measured: dict[int, int], free: int) -> int:
    """The largest batch that fits into so many bytes, from the bytes that batches of some sizes took.

    >>> most_tokens({1000: 3_000, 3000: 7_000}, 21_000)
    10000
    """
    small, large = min(measured), max(measured)
    if small == large:
        slope, fixed = measured[small] / small, 0.0
    else:
        slope = (measured[large] - measured[small]) / (large - small)
        fixed = measured[small] - slope * small
    return max(0, int((free - max(0.0, fixed)) / max(slope, 1.0)))

"""How many tokens memory holds at once: predicted before a run on a GPU from two trials.

The memory of a batch grows linearly with its tokens, so two trials predict any size. A run that runs out of memory all
the same, before its first checkpoint, begins again with half of it: run.py.
"""

import dataclasses

import torch

from regard.config import RUNNING_TEXT, ModelConfig, TrainConfig
from regard.errors import TrainingError
from regard.model.linear import add_adapters
from regard.model.transformer import Model, build
from regard.train.corpora import Say
from regard.train.loss import BatchLoss, Tensors, autocast
from regard.train.plan import MIN_BATCH, divide

TRIALS = (4096, 16384)  # Sizes of the two trial batches, in tokens.
SHARE = 0.85  # Share of the free memory to use; the rest is for fragmentation and validation.
SENTENCE = 32
"""Length of a trial sentence, in tokens; attention takes little memory until sentences are far longer."""
_MESSAGES = ("can't allocate memory", "not enough memory", "ALLOC_FAILED", "out of memory")
"""Substrings of RuntimeError messages that mean out of memory on CPU and in cuBLAS."""


class OutOfMemory(TrainingError):
    """The run needs smaller batches."""


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _MESSAGES)


def fit_to_memory(settings: TrainConfig, model: ModelConfig, device: torch.device, say: Say) -> TrainConfig:
    """The settings with batches that fit into the GPU, an equal update made of more of them."""
    assert settings.batch_tokens is not None
    free, _ = torch.cuda.mem_get_info(device)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        network = build(model, settings.dropout or 0.0).to(device)
        if settings.adapter:
            add_adapters(network, settings.adapter_rank)
        # Weights, and of those that learn gradients, Adam's two moments and the running average, all in fp32.
        kept = 4 * sum(p.numel() * (1 + p.requires_grad * (3 + bool(settings.ema))) for p in network.parameters())
        measured = measure(network, settings, device)
    del network
    torch.cuda.empty_cache()
    most = most_tokens(measured, round(free * SHARE) - kept) if measured else 0
    if most < min(MIN_BATCH, settings.batch_tokens):
        gib = f"{free / 2**30:.1f} GiB are free, weights and optimizer take {kept / 2**30:.1f}"
        raise TrainingError(f"memory must hold the model and {MIN_BATCH:,} tokens: {gib}; take a smaller size")
    batch_tokens, num_parts = divide(settings.batch_tokens, most)
    if num_parts == 1:
        return settings
    accumulate = settings.accumulate * num_parts
    say(f"memory holds about {most:,} tokens at once: {accumulate} batches of {batch_tokens:,} make an update")
    return dataclasses.replace(settings, batch_tokens=batch_tokens, accumulate=accumulate)


def measure(network: Model, settings: TrainConfig, device: torch.device) -> dict[int, int]:
    """The memory in bytes of a forward and backward pass, for each trial size that fits."""
    found = {}
    loss = BatchLoss(network, dataclasses.replace(settings, compile=False))
    for size in TRIALS:
        batch = trial_batch(size, network.config, settings, device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        try:
            with autocast(device, settings.precision):
                sums = loss(batch, packed=bool(settings.packing), longest=SENTENCE)
            sums.loss.backward()
        except torch.OutOfMemoryError:
            break
        found[size] = torch.cuda.max_memory_allocated(device) - before
        network.zero_grad(set_to_none=True)
    return found


def trial_batch(num_tokens: int, model: ModelConfig, settings: TrainConfig, device: torch.device) -> Tensors:
    """Random sentences of one length: half of the tokens on either side, or all of them running text."""
    is_running = settings.objective in RUNNING_TEXT
    num_sentences = num_tokens // (SENTENCE if is_running else 2 * SENTENCE)
    shape = (1, num_sentences * SENTENCE) if settings.packing else (num_sentences, SENTENCE)
    source = torch.randint(4, model.source_vocab_size, shape, device=device)
    vocab_size = 8 if settings.teacher else model.target_vocab_size  # any token that a teacher has as well
    target = torch.randint(4, vocab_size, shape, device=device)
    lengths = torch.full((num_sentences,), SENTENCE, dtype=torch.int32, device=device)
    if is_running:
        return Tensors(source[:, :0], torch.zeros_like(lengths), target, target, lengths)
    return Tensors(source, lengths, target, target, lengths)


def most_tokens(measured: dict[int, int], free: int) -> int:
    """The largest batch for so many free bytes, from the measured bytes of some sizes.

    >>> most_tokens({1000: 3_000, 3000: 7_000}, 21_000)
    10000
    """
    large = max(measured)
    small = min(measured) if len(measured) > 1 else 0
    slope = (measured[large] - measured.get(small, 0)) / (large - small)
    fixed = measured.get(small, 0) - slope * small
    return max(0, int((free - max(0.0, fixed)) / max(slope, 1.0)))

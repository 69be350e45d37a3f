"""Batches that fit into memory: measured before a run on a GPU, split during a step that runs out of it.

The memory of a batch grows linearly with its tokens, so two trials predict any size. Gradients are sums over sentences,
divided by the tokens of the whole step. So the number of parts does not matter: every sentence counts once, and the
step is the same up to rounding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from regard.config import RUNNING_TEXT, ModelConfig, TrainConfig
from regard.errors import TrainingError
from regard.model.transformer import Model, build
from regard.text.tokenizer import PAD_ID
from regard.train.device import autocast
from regard.train.loss import BatchLoss, Sums, Tensors
from regard.train.plan import LEAST_BATCH, divide
from regard.train.prefetch import DeviceBatch
from regard.train.update import Updater

TRIALS = (4096, 16384)
"""Sizes of the two trial batches, in tokens."""
SHARE = 0.85
"""Share of the free memory to use; the rest is for fragmentation and validation."""
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


def fit_to_memory(
    settings: TrainConfig, model: ModelConfig, device: torch.device
) -> tuple[TrainConfig, str]:
    """The settings with batches that fit into the GPU, an equal update made of more of them; and a note."""
    assert settings.batch_tokens is not None
    free, _ = torch.cuda.mem_get_info(device)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        network = build(model, settings.dropout or 0.0).to(device)
        # Weights, gradients, Adam's two moments and the running average, all in fp32.
        kept = 4 * sum(p.numel() for p in network.parameters()) * (4 + bool(settings.ema))
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


def trial_batch(
    num_tokens: int, model: ModelConfig, settings: TrainConfig, device: torch.device
) -> Tensors:
    """Random sentences of one length: half of the tokens on either side, or all of them running text."""
    is_running = settings.objective in RUNNING_TEXT
    num_sentences = num_tokens // (SENTENCE if is_running else 2 * SENTENCE)
    shape = (1, num_sentences * SENTENCE) if settings.packing else (num_sentences, SENTENCE)
    source = torch.randint(4, model.source_vocab_size, shape, device=device)
    target = torch.randint(4, model.target_vocab_size, shape, device=device)
    lengths = torch.full((num_sentences,), SENTENCE, dtype=torch.int32, device=device)
    if is_running:
        return Tensors(source[:, :0], torch.zeros_like(lengths), target, target, lengths)
    return Tensors(source, lengths, target, target, lengths)


def most_tokens(measured: dict[int, int], free: int) -> int:
    """The largest batch for so many free bytes, from the measured bytes of some sizes.

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


class SplittingUpdater:
    """Makes updates in parts as small as memory requires."""

    def __init__(self, update: Updater, say: Callable[[str], None]) -> None:
        self.update, self.say = update, say
        self._largest: int | None = None
        """maximum tokens of a part, padding included; None until memory has run out"""

    def __call__(
        self, batches: list[DeviceBatch], rate: float, num_targets: Tensor | float | None = None
    ) -> Sums:
        while True:
            parts = [part for batch in batches for part in split(batch, self._largest)]
            try:
                sums = self.update.gather(parts, num_targets)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                reason = _first_line(error)
            # Outside of the handler: the error's traceback holds the tensors of the step.
            self._make_room(parts, reason)
        try:
            self.update.advance(rate)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            # Some weights may be updated already, so the step cannot be repeated.
            raise OutOfMemory(
                f"memory must hold the optimizer's moments beside a batch: it does not ({_first_line(error)}); "
                "lower batch_tokens, or take a smaller model"
            ) from error
        return sums

    def _make_room(self, parts: list[DeviceBatch], reason: str) -> None:
        size, num_sequences = max((area(part), _num_sequences(part)) for part in parts)
        if not self.update.can_retry:
            raise OutOfMemory(
                f"memory must hold a batch of {size:,} tokens: it does not ({reason}); "
                "lower batch_tokens, or take a smaller model"
            )
        if num_sequences < 2:
            raise TrainingError(
                f"memory must hold at least one pair, of {size:,} tokens: it does not ({reason}); "
                "lower data.max_length, or take a smaller model"
            )
        self._largest = size // 2
        self.update.forget()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.say(
            f"out of memory with {size:,} tokens at once: going on in parts of at most "
            f"{self._largest:,}, the same steps in more time"
        )


def area(batch: DeviceBatch) -> int:
    """Number of computed tokens, padding included."""
    return batch.tensors.source.numel() + batch.tensors.target_input.numel()


def split(batch: DeviceBatch, largest: int | None) -> list[DeviceBatch]:
    """The batch as parts of at most so many tokens, or of a single pair."""
    count = _num_sequences(batch)
    if largest is None or area(batch) <= largest or count < 2:
        return [batch]
    halves = _part(batch, 0, count // 2), _part(batch, count // 2, count)
    return [part for half in halves for part in split(half, largest)]


def _num_sequences(batch: DeviceBatch) -> int:
    """Without the padding sequences and empty slots at the end of a packed batch."""
    lengths = batch.tensors.target_lengths
    return int((lengths.cumsum(0) - lengths < _count(batch.tensors.target_input)).sum())


def _part(batch: DeviceBatch, start: int, stop: int) -> DeviceBatch:
    tensors = batch.tensors

    def cut(tokens: Tensor, lengths: Tensor) -> Tensor:
        if batch.packed:
            return tokens[:, int(lengths[:start].sum()) : int(lengths[:stop].sum())]
        return tokens[start:stop, : int(lengths[start:stop].max())]

    part = Tensors(
        cut(tensors.source, tensors.source_lengths),
        tensors.source_lengths[start:stop],
        cut(tensors.target_input, tensors.target_lengths),
        cut(tensors.target_output, tensors.target_lengths),
        tensors.target_lengths[start:stop],
    )
    num_tokens = _count(part.source) + _count(part.target_input)
    return DeviceBatch(part, batch.packed, num_tokens, _count(part.target_output), batch.position)


def _count(tokens: Tensor) -> int:
    return int((tokens != PAD_ID).sum())


def _first_line(error: BaseException) -> str:
    return str(error).split("\n")[0]

"""Timing a training step: what counts, after how many steps that do not, and in how much memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from train_peers import CLIP, DROPOUT, LABEL_SMOOTHING, RATE, Peer
from train_work import MAX_LENGTH, Sentences, equal, fed, mixed, useful_flops

from regard.config import ModelConfig, TrainConfig, sized
from regard.data.batches import Batch
from regard.model.transformer import EncoderDecoder, build
from regard.train.batches import DeviceBatch
from regard.train.memory import fit_to_memory, is_out_of_memory
from regard.train.optimizer import make_optimizer
from regard.train.plan import NORM_PLACEMENT, complete
from regard.train.update import STEPS_BEFORE_RECORDING, Updater

NUM_PASSES = 2
MIN_STEPS, MAX_STEPS, MAX_TOKENS = 8, 20, 800_000
"""of a pass"""
WINDOW = 64
"""batches' worth of sentences that are sorted together, as in `BatchStream`"""


@dataclass(frozen=True)
class Setup:
    """Where, and how large: a quick run shrinks everything to see whether it runs at all."""

    device: torch.device
    quick: bool

    def shape(self, size: str, **changes: Any) -> ModelConfig:
        config = sized(size, norm_placement=NORM_PLACEMENT, **changes)
        if not self.quick:
            return config
        vocab = dict(source_vocab_size=211, target_vocab_size=211)
        return replace(config, d_model=32, d_ff=64, num_heads=2, **vocab)

    def tokens(self, batch_tokens: int) -> int:
        return max(1024, batch_tokens // 16) if self.quick else batch_tokens

    def num_steps(self, batch_tokens: int) -> int:
        """Of a timed pass: the larger a step, the fewer of them."""
        return 3 if self.quick else max(MIN_STEPS, min(MAX_STEPS, MAX_TOKENS // batch_tokens))

    def sentences(self, config: ModelConfig, batch_tokens: int, length: int | None = None) -> Sentences:
        """Enough to choose from for batches of like lengths: with few, their padding would be more."""
        num_tokens = WINDOW * batch_tokens
        if length is None:
            return mixed(num_tokens, config.target_vocab_size)
        return equal(num_tokens // (2 * length), length, config.target_vocab_size)

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def synchronize(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()

    def reset_peak(self) -> None:
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()

    def peak(self) -> int:
        """Bytes taken from the device at the most, whether or not tensors filled them."""
        return torch.cuda.max_memory_reserved() if self.on_gpu else 0


@dataclass(frozen=True)
class Speed:
    tokens_a_second: float
    spread: float
    """between the passes, relative"""
    tflops: float
    gib: float
    first_seconds: float
    """until the first pass could be timed: compilation, recording, warm-up"""
    num_parts: int
    """batches that made a step, where one would not have fitted"""


def measure(
    setup: Setup,
    config: ModelConfig,
    step: Callable[[list[DeviceBatch]], object],
    batches: Sequence[Batch],
    *,
    num_warm: int,
    num_parts: int = 1,
) -> Speed:
    """Passes over all batches after some steps that do not count."""
    each_fed = [fed(batch, setup.device) for batch in batches]
    ready = [each_fed[i : i + num_parts] for i in range(0, len(each_fed), num_parts)]
    num_tokens, flops = sum(each.num_tokens for each in batches), useful_flops(config, batches)
    setup.reset_peak()
    started = time.perf_counter()
    for i in range(num_warm):
        step(ready[i % len(ready)])
    setup.synchronize()
    first = time.perf_counter() - started
    seconds = []
    for _ in range(NUM_PASSES):
        started = time.perf_counter()
        for each in ready:
            step(each)
        setup.synchronize()
        seconds.append(time.perf_counter() - started)
    best = min(seconds)
    return Speed(
        tokens_a_second=num_tokens / best,
        spread=max(seconds) / best - 1,
        tflops=flops / best / 1e12,
        gib=setup.peak() / 2**30,
        first_seconds=first,
        num_parts=num_parts,
    )


def regard_speed(setup: Setup, config: ModelConfig, sentences: Sentences, batch_tokens: int) -> Speed:
    """What `regard train` does, with its own choice of everything that is not the same for all."""
    torch.manual_seed(1)
    wanted = TrainConfig(
        batch_tokens=batch_tokens,
        dropout=DROPOUT,
        label_smoothing=LABEL_SMOOTHING,
        clip=CLIP,
        ema=0.0,  # the peers have none
    )
    settings = complete(wanted, config, num_pairs=10**6, num_tokens=10**8, on_gpu=setup.on_gpu)
    if setup.on_gpu:
        settings = fit_to_memory(settings, config, setup.device, print)
    assert settings.batch_tokens is not None
    model = build(config, DROPOUT).to(setup.device).train()
    assert isinstance(model, EncoderDecoder)
    arrange = sentences.packed if settings.packing else sentences.padded
    num_batches = setup.num_steps(batch_tokens) * settings.accumulate
    batches = arrange(settings.batch_tokens, num_batches)
    longest = max(MAX_LENGTH, int(sentences.lengths[0].max())) + 1
    updater = Updater(model, make_optimizer(model, settings), settings, longest=longest)
    with updater.own_stream():
        return measure(
            setup,
            config,
            lambda ready: updater(ready, RATE),
            batches,
            num_warm=STEPS_BEFORE_RECORDING + 4,
            num_parts=settings.accumulate,
        )


def peer_speed(setup: Setup, config: ModelConfig, make: Callable[[], Peer], sentences: Sentences, tokens: int) -> Speed:
    """Every shape is seen once before it counts, so that no memory is fetched while it does."""
    torch.manual_seed(1)
    batches = sentences.padded(tokens, setup.num_steps(tokens))
    peer = make()
    return measure(setup, config, lambda ready: peer(ready[0]), batches, num_warm=len(batches))


def attempt(setup: Setup, work: Callable[[], Speed]) -> Speed | str:
    """A system that needs more memory than there is says so in its row; the others go on."""
    torch._dynamo.reset()
    gc.collect()
    if setup.on_gpu:
        torch.cuda.empty_cache()
    try:
        return work()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return "out of memory"

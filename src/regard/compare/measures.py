"""Two measurements of an architecture on random tokens: how far back it can refer, and how fast it trains.

Recall: the accuracy of naming a symbol that was read k words ago.

    source   filler × k, symbol, filler × k          target   symbol

The symbol is one of sixteen, the fillers are drawn from sixteen other words. It stands in the middle, equally far from
the end for a cell that reads forwards and for one that reads backwards. Training draws the logarithm of the distance
evenly.

Speed: training tokens a second against the length of the sentences. Each batch holds the same number of tokens, in a
few long sentences or many short ones. A recurrent model computes its positions one after another, so it slows down on
longer sentences; a Transformer computes them all at once, but compares each with each.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.compare.study import Contender, RecallConfig, SpeedConfig
from regard.config import TrainConfig
from regard.engine.torch import TorchEngine
from regard.model.transformer import Translating, build
from regard.text.tokenizer import BOS_ID, EOS_ID
from regard.train.device import autocast
from regard.train.loss import Tensors, batch_loss
from regard.train.optimizer import make_optimizer

NUM_SYMBOLS = NUM_FILLERS = 16
_FIRST_SYMBOL = 4
_FIRST_FILLER = _FIRST_SYMBOL + NUM_SYMBOLS
VOCABULARY = _FIRST_FILLER + NUM_FILLERS
TIMED_STEPS = 2
"""steps of one timing"""


def recall_texts(
    num_texts: int, distance: int, generator: torch.Generator
) -> tuple[Int[Tensor, "texts length"], Int[Tensor, " texts"]]:
    """Sources with their end token, and the symbol of each."""
    length = 2 * distance + 1
    sources = torch.randint(_FIRST_FILLER, VOCABULARY, (num_texts, length + 1), generator=generator)
    symbols = torch.randint(_FIRST_SYMBOL, _FIRST_FILLER, (num_texts,), generator=generator)
    sources[:, distance] = symbols
    sources[:, -1] = EOS_ID
    return sources, symbols


def training_batch(
    sources: Int[Tensor, "texts length"], targets: Int[Tensor, "texts target"]
) -> Tensors:
    """A batch without padding; the targets come without beginning and end."""
    count, length = targets.shape
    return Tensors(
        source=sources,
        source_lengths=torch.full((count,), sources.shape[1]),
        target_input=torch.nn.functional.pad(targets, (1, 0), value=BOS_ID),
        target_output=torch.nn.functional.pad(targets, (0, 1), value=EOS_ID),
        target_lengths=torch.full((count,), length + 1),
    )


def measure_recall(
    contender: Contender, config: RecallConfig, seed: int, device: torch.device
) -> dict[str, Any]:
    """Train on distances up to `longest_train`, and measure at all of them."""
    torch.manual_seed(seed)
    model = build(contender.config(VOCABULARY), 0.0).to(device)
    assert isinstance(model, Translating)
    _train_recall(model, config, seed, device)
    model.eval()
    generator = torch.Generator().manual_seed(1000 + seed)
    accuracy = {
        distance: _accuracy(model, *recall_texts(config.num_tests, distance, generator), config)
        for distance in config.distances
    }
    num_parameters = sum(p.numel() for p in model.parameters())
    return {"accuracy": accuracy, "num_parameters": num_parameters, "guessing": 1 / NUM_SYMBOLS}


def _train_recall(
    model: Translating, config: RecallConfig, seed: int, device: torch.device
) -> None:
    generator, draw = torch.Generator().manual_seed(seed), random.Random(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98))
    model.train()
    for step in range(1, config.steps + 1):
        distance = round(math.exp(draw.uniform(0, math.log(config.longest_train))))
        num_texts = max(4, config.batch_tokens // (2 * distance + 2))
        sources, symbols = recall_texts(num_texts, distance, generator)
        batch = Tensors(*(each.to(device) for each in training_batch(sources, symbols[:, None])))
        # The learning rate rises in the first tenth of the steps.
        rise = min(1.0, step / (0.1 * config.steps))
        share = rise * 0.5 * (1 + math.cos(math.pi * step / config.steps))
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * share
        sums = batch_loss(model, batch, packed=False, longest=0, label_smoothing=0.0)
        (sums.loss / batch.target_output.numel()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


@torch.inference_mode()
def _accuracy(
    model: Translating,
    sources: Int[Tensor, "texts length"],
    symbols: Int[Tensor, " texts"],
    config: RecallConfig,
) -> float:
    device = str(next(model.parameters()).device)
    engine = TorchEngine(model, device, "fp32")
    batch_size = max(1, config.batch_tokens // sources.shape[1])
    correct = 0
    for some, wanted in zip(sources.split(batch_size), symbols.split(batch_size), strict=True):
        state = engine.start(some.tolist())
        logits, _ = engine.step(torch.full((len(some),), BOS_ID, device=device), state)
        correct += int((torch.as_tensor(logits).argmax(dim=-1).cpu() == wanted).sum())
    return correct / len(symbols)


def speed_batch(length: int, config: SpeedConfig, vocabulary: int) -> Tensors:
    """Sentences of one length, source and target, as many as fit into the batch."""
    count = max(1, config.batch_tokens // (2 * length))
    generator = torch.Generator().manual_seed(length)
    source, target = torch.randint(4, vocabulary, (2, count, length), generator=generator).unbind()
    source[:, -1] = EOS_ID
    return training_batch(source, target[:, :-1])


def measure_speed(
    contender: Contender, config: SpeedConfig, vocabulary: int, device: torch.device
) -> dict[int, list[float]]:
    """Tokens a second of forward, backward and Adam: several measurements for each length."""
    if device.type == "cpu":
        # The processor time of one thread is the work; several threads would divide it.
        torch.set_num_threads(1)
    torch.manual_seed(1)
    model = build(contender.config(vocabulary), 0.0).to(device)
    assert isinstance(model, Translating)
    optimizer = make_optimizer(model, TrainConfig(learning_rate=1e-4))
    found: dict[int, list[float]] = {}
    for length in config.lengths:
        batch = Tensors(*(each.to(device) for each in speed_batch(length, config, vocabulary)))
        num_tokens = batch.source.numel() + batch.target_output.numel()

        def step(batch: Tensors = batch) -> None:
            with autocast(device, "auto"):
                sums = batch_loss(model, batch, packed=False, longest=0, label_smoothing=0.1)
            (sums.loss / batch.target_output.numel()).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        # The first step allocates memory and chooses kernels.
        step()
        seconds = [_seconds(step, device) for _ in range(config.repeats)]
        found[length] = [TIMED_STEPS * num_tokens / each for each in seconds]
    return found


def _seconds(step: Callable[[], None], device: torch.device) -> float:
    """Time of some steps: the clock on a GPU; processor time on a CPU, which other processes do not lengthen."""

    def clock() -> float:
        if device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize(device)
        return time.perf_counter()

    start = clock()
    for _ in range(TIMED_STEPS):
        step()
    return clock() - start

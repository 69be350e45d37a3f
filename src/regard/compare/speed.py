"""Training tokens a second against the length of the sentences.

Each batch holds as many tokens, in few long sentences or many short ones. A recurrent model computes its positions
one after another, so the longer the sentences, the fewer words it can take at a time; a Transformer takes them all
at once, but compares each with each.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from regard.compare.study import Contender, SpeedConfig
from regard.config import ModelConfig, TrainConfig, shape_of
from regard.model.transformer import Translating, build
from regard.text.tokenizer import BOS_ID, EOS_ID
from regard.train.loss import Tensors, batch_loss
from regard.train.optimizer import make_optimizer
from regard.train.update import autocast

FIRST_STEPS = 1
"""that are not timed: they fetch memory and choose kernels"""
STEPS = 2
"""of one time that is taken"""


def speed_model(contender: Contender, num_pieces: int) -> ModelConfig:
    recipe = contender.recipe
    shape = shape_of(recipe.size or "tiny", recipe.model)
    words = {"source_vocab_size": num_pieces, "target_vocab_size": num_pieces}
    return ModelConfig(**{"norm_placement": "pre", **shape, **words})


def full_batch(length: int, config: SpeedConfig, num_pieces: int) -> Tensors:
    """Sentences that are all as long, source and target, as many as the batch has room for."""
    count = max(1, config.batch_tokens // (2 * length))
    generator = torch.Generator().manual_seed(length)
    words = torch.randint(4, num_pieces, (2, count, length), generator=generator)
    source, target = words.unbind()
    source[:, -1] = EOS_ID
    begin, end = torch.full((count, 1), BOS_ID), torch.full((count, 1), EOS_ID)
    lengths = torch.full((count,), length)
    return Tensors(
        source=source,
        source_lengths=lengths,
        target_input=torch.cat([begin, target[:, :-1]], dim=1),
        target_output=torch.cat([target[:, :-1], end], dim=1),
        target_lengths=lengths,
    )


def measure_speed(
    contender: Contender, config: SpeedConfig, num_pieces: int, device: torch.device
) -> dict[int, list[float]]:
    """For each length some measurements of tokens a second: forward, backward, Adam."""
    if device.type == "cpu":
        torch.set_num_threads(
            1
        )  # work is counted, and several threads would do it several times as fast
    torch.manual_seed(1)
    model = build(speed_model(contender, num_pieces), 0.0).to(device)
    assert isinstance(model, Translating)
    optimizer = make_optimizer(model, TrainConfig(learning_rate=1e-4))
    found: dict[int, list[float]] = {}
    for length in config.lengths:
        batch = Tensors(*(each.to(device) for each in full_batch(length, config, num_pieces)))
        num_tokens = batch.source.numel() + batch.target_output.numel()

        def step(batch: Tensors = batch) -> None:
            with autocast(device, "auto"):
                sums = batch_loss(model, batch, packed=False, longest=0, label_smoothing=0.1)
            (sums.loss / batch.target_output.numel()).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        for _ in range(FIRST_STEPS):
            step()
        found[length] = [STEPS * num_tokens / _seconds(step, device) for _ in range(config.repeats)]
    return found


def _seconds(step: Any, device: torch.device) -> float:
    """Of some steps; those of a CPU are counted as its work, which others on the machine do not lengthen."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    start = clock()
    for _ in range(STEPS):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return clock() - start

"""How far back a model can refer: the accuracy of naming a symbol that was read k words ago.

    source   filler × k, symbol, filler × k          target   symbol

The symbol is one of sixteen, the fillers are drawn from sixteen other words. It stands in the middle, so that it is
as far from the end for a cell that reads forwards as for one that reads backwards. Distances are drawn for training
so that each order of magnitude is as frequent as the others.
"""

from __future__ import annotations

import math
import random
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.compare.study import Contender, RecallConfig
from regard.config import ModelConfig, shape_of
from regard.engine.torch import TorchEngine
from regard.model.transformer import Translating, build
from regard.text.tokenizer import BOS_ID, EOS_ID
from regard.train.loss import Tensors, batch_loss

NUM_SYMBOLS = NUM_FILLERS = 16
_FIRST_SYMBOL = 4
_FIRST_FILLER = _FIRST_SYMBOL + NUM_SYMBOLS
VOCABULARY = _FIRST_FILLER + NUM_FILLERS
CLIP = 1.0
WARMUP_SHARE = 0.1


def recall_model(contender: Contender) -> ModelConfig:
    """The contender's architecture over the words of this task."""
    recipe = contender.recipe
    shape = shape_of(recipe.size or "tiny", recipe.model)
    words = {"source_vocab_size": VOCABULARY, "target_vocab_size": VOCABULARY}
    return ModelConfig(**{"norm_placement": "pre", **shape, **words})


def texts(
    num_texts: int, distance: int, generator: torch.Generator
) -> tuple[Int[Tensor, "texts length"], Int[Tensor, " texts"]]:
    """Sources with their end, and the symbol of each."""
    length = 2 * distance + 1
    sources = torch.randint(_FIRST_FILLER, VOCABULARY, (num_texts, length + 1), generator=generator)
    symbols = torch.randint(_FIRST_SYMBOL, _FIRST_FILLER, (num_texts,), generator=generator)
    sources[:, distance] = symbols
    sources[:, -1] = EOS_ID
    return sources, symbols


def batch(sources: Int[Tensor, "texts length"], symbols: Int[Tensor, " texts"]) -> Tensors:
    """As training takes it: the symbol is the whole target, and is followed by its end."""
    count = len(symbols)
    begin, end = torch.full((count,), BOS_ID), torch.full((count,), EOS_ID)
    return Tensors(
        source=sources,
        source_lengths=torch.full((count,), sources.shape[1]),
        target_input=torch.stack([begin, symbols], dim=1),
        target_output=torch.stack([symbols, end], dim=1),
        target_lengths=torch.full((count,), 2),
    )


def measure_recall(
    contender: Contender, config: RecallConfig, seed: int, device: torch.device
) -> dict[str, Any]:
    """Train on distances up to `longest_train`, and measure at all of them."""
    torch.manual_seed(seed)
    model = build(recall_model(contender), 0.0).to(device)
    assert isinstance(model, Translating)
    _train(model, config, seed, device)
    model.eval()
    generator = torch.Generator().manual_seed(1000 + seed)
    accuracy = {
        distance: _accuracy(model, *texts(config.num_tests, distance, generator), config)
        for distance in config.distances
    }
    return {
        "accuracy": accuracy,
        "num_parameters": sum(p.numel() for p in model.parameters()),
        "guessing": 1 / NUM_SYMBOLS,
    }


def _train(model: Translating, config: RecallConfig, seed: int, device: torch.device) -> None:
    generator, draw = torch.Generator().manual_seed(seed), random.Random(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98))
    model.train()
    for step in range(1, config.steps + 1):
        distance = round(math.exp(draw.uniform(0, math.log(config.longest_train))))
        num_texts = max(4, config.batch_tokens // (2 * distance + 2))
        found = batch(*texts(num_texts, distance, generator))
        tensors = Tensors(*(each.to(device) for each in found))
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * _share(step, config.steps)
        sums = batch_loss(model, tensors, packed=False, longest=0, label_smoothing=0.0)
        (sums.loss / tensors.target_output.numel()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def _share(step: int, steps: int) -> float:
    """Of the learning rate: a short rise, then a cosine to zero."""
    return min(1.0, step / (WARMUP_SHARE * steps)) * 0.5 * (1 + math.cos(math.pi * step / steps))


@torch.inference_mode()
def _accuracy(
    model: Translating,
    sources: Int[Tensor, "texts length"],
    symbols: Int[Tensor, " texts"],
    config: RecallConfig,
) -> float:
    device = str(next(model.parameters()).device)
    engine = TorchEngine(model, device, "fp32")
    at_once = max(1, config.batch_tokens // sources.shape[1])
    correct = 0
    for some, wanted in zip(sources.split(at_once), symbols.split(at_once), strict=True):
        state = engine.start(some.tolist())
        logits, _ = engine.step(torch.full((len(some),), BOS_ID, device=device), state)
        correct += int((torch.as_tensor(logits).argmax(dim=-1).cpu() == wanted).sum())
    return correct / len(symbols)

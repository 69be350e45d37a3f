"""What is measured of a model besides its translations: recall, training speed, alignments.

Recall: the accuracy of naming a symbol that was read k words ago.

    source   filler × k, symbol, filler × k          target   symbol

The symbol is one of sixteen, the fillers are drawn from sixteen other words. It stands in the middle, equally far from
the end for a cell that reads forwards and for one that reads backwards. Training draws the logarithm of the distance
evenly.

Speed: training tokens a second against the length of the sentences. Each batch holds the same number of tokens, in a
few long sentences or many short ones. A recurrent model computes its positions one after another, so it slows down on
longer sentences; a Transformer computes them all at once, but compares each with each.

Alignments: what the decoder attends to. All models write the same references in the same tokens, so row i and column j
of every matrix are the same tokens. Where the links between the words are known, a matrix is right on a target word
where it attends most to a word that is linked to it.
"""

import math
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from regard.compare.study import AlignmentConfig, Contender, RecallConfig, SpeedConfig
from regard.config import TrainConfig
from regard.engine.torch import TorchEngine
from regard.model.transformer import Translating, build
from regard.text.tokenizer import BOS_ID, EOS_ID, Tokenizer
from regard.trace import cross_attentions
from regard.train.loss import Tensors, autocast, batch_loss
from regard.train.optimizer import make_optimizer
from regard.translate.trace import trace_pair

NUM_SYMBOLS = NUM_FILLERS = 16
_FIRST_SYMBOL = 4
_FIRST_FILLER = _FIRST_SYMBOL + NUM_SYMBOLS
_VOCABULARY = _FIRST_FILLER + NUM_FILLERS
_TIMED_STEPS = 2
"""steps of one timing"""

Links = Sequence[Sequence[int]]


def recall_texts(
    num_texts: int, distance: int, generator: torch.Generator
) -> tuple[Int[Tensor, "texts length"], Int[Tensor, " texts"]]:
    """Sources with their end token, and the symbol of each."""
    shape = (num_texts, 2 * distance + 2)
    sources = torch.randint(_FIRST_FILLER, _VOCABULARY, shape, generator=generator)
    symbols = torch.randint(_FIRST_SYMBOL, _FIRST_FILLER, (num_texts,), generator=generator)
    sources[:, distance] = symbols
    sources[:, -1] = EOS_ID
    return sources, symbols


def training_batch(
    sources: Int[Tensor, "texts length"], targets: Int[Tensor, "texts target"], device: torch.device | str = "cpu"
) -> Tensors:
    """A batch without padding; the targets come without beginning and end."""
    count, length = targets.shape
    batch = Tensors(
        source=sources,
        source_lengths=torch.full((count,), sources.shape[1]),
        target_input=torch.nn.functional.pad(targets, (1, 0), value=BOS_ID),
        target_output=torch.nn.functional.pad(targets, (0, 1), value=EOS_ID),
        target_lengths=torch.full((count,), length + 1),
    )
    return Tensors(*(each.to(device) for each in batch))


def measure_recall(contender: Contender, config: RecallConfig, seed: int, device: torch.device) -> dict[int, float]:
    """Train on distances up to `longest_train`, and measure at all of them."""
    torch.manual_seed(seed)
    model = build(contender.config(_VOCABULARY), 0.0).to(device)
    assert isinstance(model, Translating)
    generator, draw = torch.Generator().manual_seed(seed), random.Random(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98))
    model.train()
    for step in range(1, config.steps + 1):
        distance = round(math.exp(draw.uniform(0, math.log(config.longest_train))))
        num_texts = max(4, config.batch_tokens // (2 * distance + 2))
        sources, symbols = recall_texts(num_texts, distance, generator)
        # The learning rate rises in the first tenth of the steps.
        rise = min(1.0, step / (0.1 * config.steps))
        share = rise * 0.5 * (1 + math.cos(math.pi * step / config.steps))
        optimizer.param_groups[0]["lr"] = config.learning_rate * share
        batch = training_batch(sources, symbols[:, None], device)
        _mean_loss(model, batch, label_smoothing=0.0).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    model.eval()
    generator = torch.Generator().manual_seed(1000 + seed)
    return {
        distance: _accuracy(model, *recall_texts(config.num_tests, distance, generator), config)
        for distance in config.distances
    }


def _mean_loss(model: Translating, batch: Tensors, label_smoothing: float) -> Tensor:
    sums = batch_loss(model, batch, packed=False, longest=0, label_smoothing=label_smoothing)
    return sums.loss / batch.target_output.numel()


@torch.inference_mode()
def _accuracy(
    model: Translating, sources: Int[Tensor, "texts length"], symbols: Int[Tensor, " texts"], config: RecallConfig
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


def measure_speed(
    contender: Contender, config: SpeedConfig, vocabulary: int, device: torch.device
) -> dict[int, list[float]]:
    """Tokens a second of forward, backward and Adam: several measurements for each length."""

    def clock() -> float:
        """Time on a GPU; processor time on a CPU, which other processes do not lengthen."""
        if device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize(device)
        return time.perf_counter()

    if device.type == "cpu":
        # The processor time of one thread is the work; several threads would divide it.
        torch.set_num_threads(1)
    torch.manual_seed(1)
    model = build(contender.config(vocabulary), 0.0).to(device)
    assert isinstance(model, Translating)
    optimizer = make_optimizer(model, TrainConfig(learning_rate=1e-4))
    found: dict[int, list[float]] = {}
    for length in config.lengths:
        shape = (2, max(1, config.batch_tokens // (2 * length)), length)
        generator = torch.Generator().manual_seed(length)
        source, target = torch.randint(4, vocabulary, shape, generator=generator).unbind()
        source[:, -1] = EOS_ID
        batch = training_batch(source, target[:, :-1], device)

        def step(batch: Tensors = batch) -> None:
            with autocast(device, "auto"):
                loss = _mean_loss(model, batch, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        # The first step allocates memory and chooses kernels.
        step()
        num_tokens = _TIMED_STEPS * (batch.source.numel() + batch.target_output.numel())
        found[length] = []
        for _ in range(config.repeats):
            start = clock()
            for _ in range(_TIMED_STEPS):
                step()
            found[length].append(num_tokens / (clock() - start))
    return found


def measure_alignments(
    model: Translating,
    tokenizers: tuple[Tokenizer, Tokenizer],
    sources: Sequence[str],
    references: Sequence[str],
    links: Sequence[Links] | None,
    config: AlignmentConfig,
) -> dict[str, Any] | None:
    """The most attended source token of every head and target token; None for a model without attention."""
    paths = cross_attentions(model.config)
    if not paths:
        return None
    source_tokenizer, target_tokenizer = tokenizers
    num_heads = 1 if model.config.is_recurrent else model.config.num_heads
    names = [f"layer {i + 1} head {j + 1}" for i in range(len(paths)) for j in range(num_heads)]
    sentences: list[dict[str, Any]] = []
    # The longest sentences that are short enough: they have the most to align.
    lengths = [len(each.split()) for each in sources]
    short = [i for i, length in enumerate(lengths) if length <= config.longest]
    for i in sorted(short, key=lambda i: (-lengths[i], i))[: config.num_scored]:
        read = source_tokenizer.encode(sources[i])
        written = target_tokenizer.encode(references[i])
        trace = trace_pair(model, [*read, EOS_ID], written)
        # The last row writes the end token, the last column reads it: neither is a word.
        layers = np.concatenate([trace[f"{path}.weights"] for path in paths])
        weights = layers[:, : len(written), : len(read)]
        sentence: dict[str, Any] = {"index": i, "most": weights.argmax(axis=-1).tolist()}
        if links is not None:
            columns = word_of(sources[i], source_tokenizer.spans_in(sources[i]))
            rows = word_of(references[i], target_tokenizer.spans_in(references[i]))
            sentence["right"] = [right_share(each, rows, columns, links[i]) for each in weights]
        if len(sentences) < config.num_shown:
            sentence["source"] = source_tokenizer.token_strings(read)
            sentence["target"] = target_tokenizer.token_strings(written)
            sentence["weights"] = weights.round(3).tolist()
        sentences.append(sentence)
    return {"sentences": sentences, "heads": names if len(names) > 1 else ["attention"]}


def right_share(weights: np.ndarray, rows: Sequence[int], columns: Sequence[int], links: Links) -> float:
    """The share of linked target words that attend most to a word they are linked to.

    rows, columns: the word of each target and source token; the weight between two words is the sum over their tokens.
    """
    words = np.zeros((rows[-1] + 1, columns[-1] + 1))
    np.add.at(words, np.ix_(rows, columns), weights)
    most = words.argmax(axis=1)
    return sum(int(most[j]) == i for i, j in links) / len({j for _, j in links})


def word_of(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The number of the word that each token belongs to; words are separated by spaces.

    >>> word_of("deux chats", [(0, 4), (4, 8), (8, 10)])
    [0, 1, 1]
    """
    # A token may begin with the space before its word.
    return [len(text[:end].split()) - 1 for _, end in spans]

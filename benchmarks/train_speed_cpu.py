"""Training the `small` shape on a CPU, regard and Hugging Face Marian step by step in turn.

Other work on the machine disturbs: with one thread the processor's own time is what counts, with two the
clock on the wall, and of each the best of the steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from record import Row
from train_peers import CLIP, DROPOUT, LABEL_SMOOTHING, RATE, hugging_face, torch_transformer
from train_work import equal, fed

from regard.config import ModelConfig, TrainConfig
from regard.model.transformer import EncoderDecoder, build
from regard.train.feed import Fed
from regard.train.optimizer import make_optimizer
from regard.train.plan import complete
from regard.train.update import Updater

NUM_PAIRS, LENGTH = 64, 32
NUM_STEPS = {1: 5, 2: 5}
"""by the number of threads"""
PEAK = 40e9
"""fused multiply-adds a second of one core in fp32, times two: 2.5 GHz, two pipes of four lanes"""


def measure_small(config: ModelConfig) -> list[Row]:
    """Rows by system and number of threads, and the ratios to Hugging Face."""
    device = torch.device("cpu")
    sentences = equal(2 * NUM_PAIRS, LENGTH, config.target_vocab_size)
    batch_tokens = 2 * NUM_PAIRS * LENGTH
    batch = fed(sentences.padded(batch_tokens, 1)[0], device)
    assert batch.num_tokens == batch_tokens
    torch.manual_seed(1)
    systems: dict[str, Callable[[Fed], object]] = {
        "regard": _regard(config, batch_tokens),
        "Hugging Face Marian": hugging_face(config, device),
        "torch.nn.Transformer": torch_transformer(config, device),
    }
    rows: list[Row] = []
    for num_threads, num_steps in NUM_STEPS.items():
        torch.set_num_threads(num_threads)
        clock = time.process_time if num_threads == 1 else time.perf_counter
        seconds = _in_turn(systems, batch, num_steps, clock)
        bound = num_threads * PEAK / _flops_a_target_token(config)
        for who, best in seconds.items():
            targets = batch.num_targets / best
            row = {
                "part": "small",
                "model": "small",
                "who": who,
                "num_threads": num_threads,
                "tokens_a_second": round(batch.num_tokens / best),
                "target_tokens_a_second": round(targets),
                "of_bound": round(targets / bound, 3),
            }
            print(
                f"small  {who:<22} {num_threads} threads {row['tokens_a_second']:>6,} tokens/s "
                f"({targets:,.0f} of the target), {targets / bound:.0%} of the bound",
                flush=True,
            )
            rows.append(row)
        ratio = seconds["Hugging Face Marian"] / seconds["regard"]
        name = "cpu_train_small_vs_hf" + ("" if num_threads == 1 else f"_{num_threads}_threads")
        rows.append({"part": "small", "ratio": name, "value": round(ratio, 2)})
    return rows


def _flops_a_target_token(config: ModelConfig) -> float:
    """6 for each weight of a matrix product that a pair of one source and one target token meets."""
    d, ff = config.d_model, config.d_ff
    encoder = config.num_encoder_layers * (4 * d * d + 2 * d * ff)
    decoder = config.num_decoder_layers * (8 * d * d + 2 * d * ff)
    return 6.0 * (encoder + decoder + d * config.target_vocab_size)


def _regard(config: ModelConfig, batch_tokens: int) -> Callable[[Fed], object]:
    wanted = TrainConfig(
        batch_tokens=batch_tokens,
        dropout=DROPOUT,
        label_smoothing=LABEL_SMOOTHING,
        clip=CLIP,
        ema=0.0,
    )
    settings = complete(wanted, config, num_pairs=10**5, num_tokens=10**7, on_gpu=False)
    model = build(config, DROPOUT).train()
    assert isinstance(model, EncoderDecoder)
    updater = Updater(model, make_optimizer(model, settings), settings, longest=LENGTH)
    return lambda each: updater([each], RATE)


def _in_turn(
    systems: dict[str, Callable[[Fed], object]],
    batch: Fed,
    num_steps: int,
    clock: Callable[[], float],
) -> dict[str, float]:
    """The best seconds of a step of each, after one that does not count."""
    best = dict.fromkeys(systems, float("inf"))
    for i in range(num_steps + 1):
        for who, step in systems.items():
            started = clock()
            step(batch)
            if i:
                best[who] = min(best[who], clock() - started)
    return best

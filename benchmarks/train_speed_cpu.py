"""Training the `small` shape on a CPU, regard and its peers step by step in turn.

Other work on the machine disturbs: with one thread the processor's own time is what counts, with two the
clock on the wall, and of each the best of the steps. All are measured twice, in a process as it comes and in
one whose allocator keeps its memory, as `regard train` asks for before it loads torch.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from record import Row
from train_peers import CLIP, DROPOUT, LABEL_SMOOTHING, RATE, hugging_face, torch_transformer
from train_work import equal, fed

from regard.cli.train import KEEPING_MEMORY
from regard.config import ModelConfig, TrainConfig, sized
from regard.model.transformer import EncoderDecoder, build
from regard.train.batches import DeviceBatch
from regard.train.optimizer import make_optimizer
from regard.train.plan import NORM_PLACEMENT, complete
from regard.train.update import Updater

NUM_PAIRS, LENGTH = 64, 32
NUM_STEPS = {1: 5, 2: 5}
"""by the number of threads"""
PEAKS = {"aarch64": 40e9}
"""fused multiply-adds a second of one core in fp32, times two: 2.5 GHz, two pipes of four lanes. Where the clock follows
the load, as on x86, what large square products reach counts instead."""
SQUARE = 2048


def measure_small() -> list[Row]:
    """Rows by system, memory and number of threads, and the ratios to Hugging Face."""
    rows: list[Row] = []
    for memory, changes in (("as it comes", {}), ("kept", KEEPING_MEMORY)):
        environment = {k: v for k, v in os.environ.items() if k not in KEEPING_MEMORY} | changes
        found = subprocess.run([sys.executable, __file__], env=environment, stdout=subprocess.PIPE, check=True)
        for row in json.loads(found.stdout):
            row["memory"] = memory
            print(line(row), flush=True)
            rows.append(row)

    def speed(who: str, memory: str, num_threads: int) -> float:
        return next(
            float(row["tokens_a_second"])
            for row in rows
            if (row["who"], row["memory"], row["num_threads"]) == (who, memory, num_threads)
        )

    for num_threads in NUM_STEPS:
        ours = speed("regard", "kept", num_threads)
        threads = "" if num_threads == 1 else f"_{num_threads}_threads"
        for memory, name in (("as it comes", "hf"), ("kept", "hf_keeping_memory")):
            ratio = ours / speed("Hugging Face Marian", memory, num_threads)
            name = f"cpu_train_small_vs_{name}{threads}"
            rows.append({"part": "ratio", "ratio": name, "value": round(ratio, 2)})
    return rows


def line(row: Row) -> str:
    return (
        f"small  {row['who']:<22} memory {row['memory']:<12} {row['num_threads']} threads "
        f"{row['tokens_a_second']:>6,} tokens/s ({row['target_tokens_a_second']:,} of the target), "
        f"{row['of_bound']:.1%} of the bound"
    )


def measure_here() -> list[Row]:
    """In this process, with the memory it has."""
    config = sized("small", norm_placement=NORM_PLACEMENT, source_vocab_size=8000, target_vocab_size=8000)
    device = torch.device("cpu")
    sentences = equal(2 * NUM_PAIRS, LENGTH, config.target_vocab_size)
    batch_tokens = 2 * NUM_PAIRS * LENGTH
    batch = fed(sentences.padded(batch_tokens, 1)[0], device)
    assert batch.num_tokens == batch_tokens
    torch.manual_seed(1)
    systems: dict[str, Callable[[DeviceBatch], object]] = {
        "regard": _regard(config, batch_tokens),
        "Hugging Face Marian": hugging_face(config, device),
        "torch.nn.Transformer": torch_transformer(config, device),
    }
    rows: list[Row] = []
    for num_threads, num_steps in NUM_STEPS.items():
        torch.set_num_threads(num_threads)
        clock = time.process_time if num_threads == 1 else time.perf_counter
        seconds = _in_turn(systems, batch, num_steps, clock)
        peak = num_threads * PEAKS.get(platform.machine(), 0.0) or _products_a_second(clock)
        bound = peak / _flops_a_target_token(config)
        for who, best in seconds.items():
            targets = batch.num_targets / best
            rows.append(
                {
                    "part": "small",
                    "model": "small",
                    "who": who,
                    "num_threads": num_threads,
                    "tokens_a_second": round(batch.num_tokens / best),
                    "target_tokens_a_second": round(targets),
                    "of_bound": round(targets / bound, 3),
                    "bound_gflops": round(peak / 1e9),
                }
            )
    return rows


def _products_a_second(clock: Callable[[], float]) -> float:
    """FLOP a second of the best of some large products, with the threads that torch has now."""
    left, right = torch.randn(2, SQUARE, SQUARE)
    best = float("inf")
    for _ in range(20):
        started = clock()
        left @ right
        best = min(best, clock() - started)
    return 2 * SQUARE**3 / best


def _flops_a_target_token(config: ModelConfig) -> float:
    """6 for each weight of a matrix product that a pair of one source and one target token meets."""
    d, ff = config.d_model, config.d_ff
    encoder = config.num_encoder_layers * (4 * d * d + 2 * d * ff)
    decoder = config.num_decoder_layers * (8 * d * d + 2 * d * ff)
    return 6.0 * (encoder + decoder + d * config.target_vocab_size)


def _regard(config: ModelConfig, batch_tokens: int) -> Callable[[DeviceBatch], object]:
    wanted = TrainConfig(
        batch_tokens=batch_tokens, dropout=DROPOUT, label_smoothing=LABEL_SMOOTHING, clip=CLIP, ema=0.0
    )
    settings = complete(wanted, config, num_pairs=10**5, num_tokens=10**7, on_gpu=False)
    model = build(config, DROPOUT).train()
    assert isinstance(model, EncoderDecoder)
    updater = Updater(model, make_optimizer(model, settings), settings, longest=LENGTH)
    return lambda each: updater([each], RATE)


def _in_turn(
    systems: dict[str, Callable[[DeviceBatch], object]], batch: DeviceBatch, num_steps: int, clock: Callable[[], float]
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


if __name__ == "__main__":
    print(json.dumps(measure_here()))

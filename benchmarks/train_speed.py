"""How fast `regard train` trains, beside Hugging Face Marian and torch.nn.Transformer on the same sentences.

    python benchmarks/train_speed.py [--device cpu|cuda] [--only PART,...] [--quick] [--table] [--save]

On a GPU: sentences of mixed lengths, bf16 autocast, each system at its own best batch size; `big` within a
24 GB budget; the laws of the kernels. On a CPU: the `small` shape in fp32 with one and two threads. --table
adds tokens a second by width, length and batch size. Label smoothing, clipping, fused Adam and dropout at the
paper's places for everyone; a step is forward, backward, clip and update.

Tokens are real ones, source and target; a batch size counts both sides. Useful FLOP: see `train_work`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from record import Row, save
from train_laws import measure_laws
from train_peers import Peer, hugging_face, torch_transformer
from train_speed_cpu import measure_small
from train_timing import Setup, Speed, attempt, peer_speed, regard_speed

K = 1024
PARTS = {"cuda": ("laws", "base", "big", "memory", "peers", "compiled"), "cpu": ("small", "laws")}
REGARD_SIZES = {"base": (16 * K, 64 * K), "big": (64 * K,)}
PEER_SIZES = {"base": (16 * K, 32 * K, 64 * K, 128 * K), "big": (32 * K, 64 * K, 128 * K)}
COMPILED_PEER_SIZE = 64 * K
BUDGET = 24e9
CONTEXT = 1e9
"""bytes of the budget that CUDA itself takes on such a card"""
TABLE = {
    "d_model": (256, 512, 1024),
    "length": (16, 32, 64, 128, 256, 512, 1024),
    "batch": (4 * K, 8 * K, 16 * K, 32 * K, 64 * K, 128 * K),
}
CENTRE = {"d_model": 512, "length": 32, "batch": 32 * K}


def row_of(part: str, model: str, who: str, batch_tokens: int, speed: Speed | str) -> Row:
    row: Row = {"part": part, "model": model, "who": who, "batch_tokens": batch_tokens}
    if isinstance(speed, str):
        row["failed"] = speed
    else:
        row |= {
            "tokens_a_second": round(speed.tokens_a_second),
            "spread": round(speed.spread, 3),
            "useful_tflops": round(speed.tflops, 1),
            "gib": round(speed.gib, 1),
            "first_seconds": round(speed.first_seconds, 1),
            "batches_a_step": speed.num_parts,
        }
    print(line(row), flush=True)
    return row


def line(row: Row) -> str:
    head = f"{row['model']:<6} {row['who']:<36} {row['batch_tokens']:>7,} tokens a step"
    if "failed" in row:
        return f"{head}  {row['failed']}"
    return (
        f"{head} {row['tokens_a_second']:>10,} tokens/s ±{row['spread']:.1%} "
        f"{row['useful_tflops']:>6.1f} TFLOP/s {row['gib']:>5.1f} GiB, ready in {row['first_seconds']:.0f} s"
    )


def measure_regard(setup: Setup, size: str) -> list[Row]:
    config, rows = setup.shape(size), []
    for batch_tokens in map(setup.tokens, REGARD_SIZES[size]):
        sentences = setup.sentences(config, batch_tokens)
        speed = attempt(setup, lambda: regard_speed(setup, config, sentences, batch_tokens))  # noqa: B023
        rows.append(row_of(size, size, "regard", batch_tokens, speed))
    return rows


def measure_peers(setup: Setup) -> list[Row]:
    rows = []
    for size, sizes in PEER_SIZES.items():
        config = setup.shape(size)
        makers: dict[str, Callable[[], Peer]] = {
            "Hugging Face Marian": lambda: hugging_face(config, setup.device),  # noqa: B023
            "torch.nn.Transformer": lambda: torch_transformer(config, setup.device),  # noqa: B023
        }
        for who, make in makers.items():
            for batch_tokens in map(setup.tokens, sizes):
                rows.append(measure_peer(setup, size, who, make, batch_tokens))
    return rows


def measure_peer(setup: Setup, size: str, who: str, make: Callable[[], Peer], batch_tokens: int) -> Row:
    config = setup.shape(size)
    sentences = setup.sentences(config, batch_tokens)
    speed = attempt(setup, lambda: peer_speed(setup, config, make, sentences, batch_tokens))
    return row_of("peers", size, who, batch_tokens, speed)


def measure_compiled_peer(setup: Setup) -> list[Row]:
    """By itself, since it takes long to get ready."""

    def make() -> Peer:
        return hugging_face(setup.shape("base"), setup.device, compiled=True)

    batch_tokens = setup.tokens(COMPILED_PEER_SIZE)
    return [measure_peer(setup, "base", "Hugging Face Marian, compiled", make, batch_tokens)]


def measure_memory(setup: Setup) -> list[Row]:
    """`big` at 32k tokens a step with no more memory than a card of 24 GB has: all else is taken first."""
    config, batch_tokens = setup.shape("big"), setup.tokens(32 * K)
    sentences = setup.sentences(config, batch_tokens)
    taken = None
    if setup.on_gpu:
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info()
        taken = torch.empty(free - int(BUDGET - CONTEXT), dtype=torch.uint8, device=setup.device)
    speed = attempt(setup, lambda: regard_speed(setup, config, sentences, batch_tokens))
    if isinstance(speed, Speed) and taken is not None:
        speed = replace(speed, gib=speed.gib - taken.nbytes / 2**30)
    row = row_of("memory", "big", "regard within 24 GB", batch_tokens, speed)
    return [{**row, "budget_bytes": BUDGET, "free_at_first": BUDGET - CONTEXT}]


def measure_table(setup: Setup) -> list[Row]:
    """One dial at a time from a centre: does the cost grow as the work does, and no faster?"""
    rows = []
    for dial, values in TABLE.items():
        for value in values:
            d_model, length, batch = (CENTRE | {dial: value}).values()
            if dial != "d_model" and value == CENTRE[dial]:
                continue  # measured with the first dial
            config = setup.shape("base", d_model=d_model, d_ff=4 * d_model, num_heads=d_model // 64)
            batch_tokens = max(setup.tokens(batch), 8 * length)
            sentences = setup.sentences(config, batch_tokens, length)
            speed = attempt(setup, lambda: regard_speed(setup, config, sentences, batch_tokens))  # noqa: B023
            who = f"regard, d_model {d_model}, length {length}"
            row = row_of("table", "base", who, batch_tokens, speed)
            rows.append({**row, "dial": dial, "d_model": d_model, "length": length})
    return rows


def ratios_of(rows: Sequence[Row]) -> dict[str, float]:
    """regard at its best batch size to the best peer at its own; and both at the same small ones."""

    def best(model: str, regards: bool, batch_tokens: int | None = None) -> float:
        part = model if regards else "peers"
        return max(
            (
                row["tokens_a_second"]
                for row in rows
                if row["part"] == part
                and row["model"] == model
                and "failed" not in row
                and batch_tokens in (None, row["batch_tokens"])
            ),
            default=0.0,
        )

    wanted = {
        "train_base_vs_best_peer": ("base", None),
        "train_base_16k_vs_best_peer": ("base", 16 * K),
        "train_base_32k_vs_best_peer": ("base", 32 * K),
        "train_big_vs_best_peer": ("big", None),
    }
    found = {}
    for name, (model, batch_tokens) in wanted.items():
        ours, theirs = best(model, True, batch_tokens), best(model, False, batch_tokens)
        if ours and theirs:
            found[name] = round(ours / theirs, 2)
    return found


def all_ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Also those that a part has found by itself."""
    return ratios_of(rows) | {row["ratio"]: row["value"] for row in rows if "ratio" in row}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: the GPU if there is one")
    parser.add_argument("--only", default="", help="parts, by commas: laws,base,big,memory,peers,compiled,table,small")
    parser.add_argument("--table", action="store_true", help="add the table by width, length and batch size")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see whether it runs")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    asked = parser.parse_args()
    device = torch.device(asked.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    setup = Setup(device, asked.quick)
    parts = tuple(asked.only.split(",")) if asked.only else PARTS[device.type]
    parts += ("table",) * (asked.table and "table" not in parts)
    measures: dict[str, Callable[[], list[Row]]] = {
        "small": measure_small,
        "laws": lambda: measure_laws(setup.shape("base"), device, quick=asked.quick),
        "base": lambda: measure_regard(setup, "base"),
        "big": lambda: measure_regard(setup, "big"),
        "memory": lambda: measure_memory(setup),
        "peers": lambda: measure_peers(setup),
        "compiled": lambda: measure_compiled_peer(setup),
        "table": lambda: measure_table(setup),
    }
    started = time.perf_counter()
    subset = f"_{'-'.join(parts)}" if asked.only or asked.table else ""
    rows: list[Row] = []
    for part in parts:
        rows += measures[part]()
        if asked.save:  # after each part: a run that is cut off leaves what it has measured
            save(f"train_speed_{device.type}{subset}", rows, all_ratios(rows), "transformers")
    print(f"\nmeasured in {time.perf_counter() - started:.0f} s")
    for row in rows:
        if row["part"] in ("base", "big", "memory", "peers", "table"):
            print(line(row))
    for name, ratio in all_ratios(rows).items():
        print(f"{name:<32} {ratio:.2f}")
    if any(row.get("holds") is False for row in rows):
        raise SystemExit("a law is broken: see above")


if __name__ == "__main__":
    main()

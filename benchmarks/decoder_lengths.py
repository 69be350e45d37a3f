"""Time and memory over the length of a text: a prompt read at once, then 16 tokens more, up to the model's context.

    python benchmarks/decoder_lengths.py MODEL.gguf [--systems 1-3] [--lengths 256,8192] [--save]

Three systems: the CPU engine in int8, the torch engine in float32, and the same with a sliding window of 1,024 tokens, which the
weights were not trained with: its cost is what counts. Every figure is of a process of its own on one thread: processor
time, the bytes that the cache holds after the prompt, and the most memory that the process had, with what it had before the
prompt. --save keeps the rows of other calls, and writes the table of docs/explanation/from-2017.md. Needs regard[torch] and regard[gguf].
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import ROOT, Row, put_table, save

from regard.engine import open_engine
from regard.engine.torch import TorchEngine, load_model
from regard.exchange import formats
from regard.model.transformer import build

SYSTEMS = ("int8, onnxruntime", "float32, torch", "float32, torch, window of 1024")
LENGTHS, WINDOW, WRITTEN = (256, 1024, 2048, 4096, 8192), 1024, 16

COLUMNS = {
    "system": "system",
    "length": "tokens",
    "prompt s": "prompt, s",
    "prompt tokens/s": "tokens/s",
    "ms a token": "one more token, ms",
    "cache MiB": "cache, MiB",
    "process MiB": "process at most, MiB",
}
"""of the table in the docs"""


def opened(folder: Path, system: str) -> Any:
    torch.set_num_threads(1)
    if system == SYSTEMS[0]:
        return open_engine(folder, "onnxruntime", threads=1)
    model, manifest = load_model(folder)
    if system == SYSTEMS[2]:
        windowed = build(replace(manifest.model, window=WINDOW))
        windowed.load_state_dict(model.state_dict())
        model = windowed.eval()
    return TorchEngine(model)


def cached_bytes(engine: Any, state: Any) -> int:
    """What the cache's arrays take, room for tokens to come included."""
    if isinstance(engine, TorchEngine):
        return sum(each.key.nbytes + each.value.nbytes for each in state.decoder.past)
    return int(state.cache.block.flat.nbytes)


def memory(name: str) -> float:
    """VmHWM: the most since it was last forgotten; VmRSS: now. Linux's, in MiB."""
    [line] = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith(name)]
    return int(line.split()[1]) / 2**10


def measured(folder: Path, system: str, length: int) -> Row:
    engine, draw = opened(folder, system), np.random.default_rng(1)
    tokens = draw.integers(1000, engine.config.target_vocab_size - 1000, (1, length))
    engine.read(tokens[:, :16], tokens[:, 1:17], engine.start([[]]))
    Path("/proc/self/clear_refs").write_text("5")  # loading took more than it left
    before, begin = memory("VmRSS"), time.process_time()
    _, state = engine.read(tokens, np.roll(tokens, -1), engine.start([[]]))
    read, cache = time.process_time() - begin, cached_bytes(engine, state)
    begin = time.process_time()
    for _ in range(WRITTEN):
        token = torch.from_numpy(tokens[:, 0]) if isinstance(engine, TorchEngine) else tokens[:, 0]
        _, state = engine.step(token, state)
    step = (time.process_time() - begin) / WRITTEN
    return {
        "system": system,
        "length": length,
        "prompt s": round(read, 1),
        "prompt tokens/s": round(length / read),
        "ms a token": round(step * 1e3, 1),
        "cache MiB": round(cache / 2**20, 1),
        "process MiB": round(memory("VmHWM")),
        "before MiB": round(before),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--systems", default="1-3", help="first and last system")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    name = f"decoder_lengths_{platform.machine()}"
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    before = json.loads(path.read_text("utf-8"))["rows"] if path.is_file() else []
    found = {(row["system"], row["length"]): row for row in before}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "ours"
        formats.import_model(asked.model, folder, weights="int8")
        for system in SYSTEMS[int(asked.systems[0]) - 1 : int(asked.systems[-1])]:
            for length in map(int, asked.lengths.split(",")):
                # A new process for each: the most memory that one had never falls again.
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                    row = pool.submit(measured, folder, system, length).result()
                found[system, length] = {"model": asked.model.name, **row}
                print(row, flush=True)
    rows = [found[key] for key in sorted(found, key=lambda key: (SYSTEMS.index(key[0]), key[1]))]
    if asked.save:
        print(save(name, rows, {}))
        put_table("docs/explanation/from-2017.md", "decoder_lengths", rows, COLUMNS)


if __name__ == "__main__":
    main()

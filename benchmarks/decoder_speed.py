"""How fast regard writes with today's decoders, beside llama.cpp on a CPU and transformers on a GPU.

    python benchmarks/decoder_speed.py MODEL.gguf [--threads N] [--save]             # int8 beside llama.cpp's Q8_0
    python benchmarks/decoder_speed.py MODEL.gguf --device cuda [--batch 64] [--save]    # bf16 beside `generate`
    python benchmarks/decoder_speed.py MODEL.gguf --lengths [--save]    # time and memory over the length of the text

One process, the same weights (those of the file, dequantized, and again in eight bits for each), a prompt of 64 tokens and
exactly 128 more, the end not allowed; systems take turns, the best of three rounds counts. A prompt's time is measured
with one token written, and taken off the rest.

Needs regard[gguf,torch,huggingface]; xllamacpp on a CPU; transformers with accelerate on a GPU.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from record import Row, save

from regard.config import DecodeConfig
from regard.decode import Constraints, search
from regard.engine import open_engine
from regard.exchange import formats
from regard.exchange.huggingface import ImportOptions

PROMPT, WRITTEN, ROUNDS = 64, 128, 3
LENGTHS = (256, 1024, 2048, 4096, 8192)
Write = Callable[[int], None]
"""writes so many tokens after the prompt, for each row of the batch"""


def eight_bits(path: Path, output: Path) -> Path:
    """The same model with all matrices as Q8_0, which llama.cpp multiplies as bytes."""
    reader = gguf.GGUFReader(path)
    field = reader.fields["general.architecture"]
    writer = gguf.GGUFWriter(output, field.contents())
    for name, each in reader.fields.items():
        if not name.startswith("GGUF.") and name not in ("general.architecture", "general.file_type"):
            kind = each.types[0]
            inner = each.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, each.contents(), kind, sub_type=inner)
    for tensor in reader.tensors:
        wide = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        form = gguf.GGMLQuantizationType.Q8_0 if wide.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(tensor.name, gguf.quants.quantize(wide, form), raw_dtype=form)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return output


def regard_writes(folder: Path, batch: int, prompt: list[int], **opening: Any) -> Write:
    engine = open_engine(folder, **opening)

    def write(count: int) -> None:
        length = len(prompt) + count - 1
        decode = DecodeConfig(method="greedy", max_length=length, min_length=length)
        found = search(engine, [[]] * batch, decode, constraints=[Constraints(prefix=prompt)] * batch)
        assert all(len(each[0].tokens) == length for each in found)

    return write


def llama_cpp_writes(path: Path, prompt: list[int], threads: int) -> Write:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = 1024, 1, True, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    server = xllamacpp.Server(params)

    def write(count: int) -> None:
        asked = dict(prompt=prompt, n_predict=count, temperature=0.0, ignore_eos=True, cache_prompt=False)
        answer = server.handle_completions(asked)
        told = answer if isinstance(answer, dict) else answer[0]
        assert told["usage"]["completion_tokens"] == count, told

    return write


def transformers_writes(path: Path, batch: int, prompt: list[int], eos_id: int) -> Write:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.bfloat16).cuda().eval()
    tokens = torch.tensor([prompt] * batch, device="cuda")

    def write(count: int) -> None:
        sizes = dict(max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=eos_id)
        with torch.inference_mode():
            model.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), **sizes)
        torch.cuda.synchronize()

    return write


def seconds(write: Write, count: int) -> float:
    begin = time.perf_counter()
    write(count)
    return time.perf_counter() - begin


def compared(systems: dict[str, Write], batch: int) -> list[Row]:
    for write in systems.values():
        write(2)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    for _ in range(ROUNDS):
        for name, write in systems.items():
            found[name].append((seconds(write, 1), seconds(write, WRITTEN)))
    rows = []
    for name, times in found.items():
        prompt, whole = (min(column) for column in zip(*times, strict=True))
        read, written = batch * PROMPT / prompt, batch * (WRITTEN - 1) / (whole - prompt)
        rows.append({"system": name, "batch": batch, "prompt tokens/s": round(read), "tokens/s": round(written, 1)})
        print(f"{name:<28} batch {batch:<3} prompt {read:8.0f} tokens/s   written {written:8.1f} tokens/s", flush=True)
    return rows


def over_lengths(folder: Path, threads: int) -> list[Row]:
    """One pass over a prompt of each length, then 16 tokens more."""
    engine: Any = open_engine(folder, threads=threads)
    config, rows, draw = engine.config, [], np.random.default_rng(1)
    for length in LENGTHS:
        tokens = draw.integers(1000, config.target_vocab_size - 1000, (1, length))
        begin = time.perf_counter()
        _, state = engine.read(tokens, np.roll(tokens, -1), engine.start([[]]))
        read = time.perf_counter() - begin
        begin = time.perf_counter()
        for _ in range(16):
            _, state = engine.step(tokens[:, 0], state)
        step = (time.perf_counter() - begin) / 16
        cache = 2 * config.num_decoder_layers * config.num_key_heads * config.head_dim * length * 4 / 2**20
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        rows.append(
            {"length": length, "prompt s": round(read, 2), "ms a token": round(step * 1e3, 1)}
            | {"cache MiB": round(cache, 1), "process MiB": round(peak)}
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64, help="texts at a time, on a GPU")
    parser.add_argument("--lengths", action="store_true")
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    on_gpu = asked.device == "cuda"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "ours"
        formats.read(asked.model, folder, ImportOptions("fp32" if on_gpu else "int8"))
        if asked.lengths:
            rows, ratios, peers = over_lengths(folder, asked.threads), {}, []
        else:
            prompt = np.random.default_rng(1).integers(1000, 20000, PROMPT).tolist()
            if on_gpu:
                batch = asked.batch
                ours = regard_writes(folder, batch, prompt, kind="torch", device="cuda")
                end = open_engine(folder, "torch").config.eos_id
                systems = {
                    "regard bf16": ours,
                    "transformers bf16": transformers_writes(asked.model, batch, prompt, end),
                }
            else:
                batch, path = 1, eight_bits(asked.model, Path(scratch) / "q8.gguf")
                ours = regard_writes(folder, 1, prompt, threads=asked.threads)
                systems = {"regard int8": ours, "llama.cpp Q8_0": llama_cpp_writes(path, prompt, asked.threads)}
            rows = compared(systems, batch)
            first, second = rows
            ratios = {key: round(first[key] / second[key], 2) for key in ("prompt tokens/s", "tokens/s")}
            peers = ["transformers"] if on_gpu else ["xllamacpp"]
            print(ratios)
    about = [{"model": asked.model.name, "device": asked.device, "threads": asked.threads, **row} for row in rows]
    if asked.save:
        kind = "lengths" if asked.lengths else asked.device
        print(save(f"decoder_speed_{kind}_{asked.model.stem}", about, ratios, *peers))


if __name__ == "__main__":
    main()

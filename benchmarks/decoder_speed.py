"""How fast regard writes with today's decoders, beside llama.cpp on a CPU and transformers on a GPU.

    python benchmarks/decoder_speed.py MODEL.gguf [--threads N] [--save]         # int8 beside llama.cpp's Q8_0
    python benchmarks/decoder_speed.py --batch 64 [--save]       # on a GPU, bf16, beside `generate` of transformers

One process, the same weights (those of the file, dequantized, and again in eight bits for each; on a GPU random ones in
the shape of SmolLM2-135M, so that nothing is downloaded), a prompt of 64 tokens and exactly 128 more; systems take turns,
the best of three rounds counts. A prompt's time is measured with one token written, and taken off the rest. Without a GPU
the last form runs a tiny model, to try it out.

Needs regard[gguf] and xllamacpp on a CPU, regard[torch] and transformers on a GPU.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import Row, save

from regard.config import DecodeConfig
from regard.decode import Constraints, StepModel, search
from regard.engine import open_engine
from regard.engine.gpu.recording import Room
from regard.engine.gpu.search import StaticSearch
from regard.engine.torch import TorchEngine, to_state_dict
from regard.exchange import decoders, formats
from regard.model.transformer import build

PROMPT, WRITTEN, ROUNDS = 64, 128, 3
SMOL = dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30)
HEADS = dict(num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192)
TINY = dict(vocab_size=512, hidden_size=144, intermediate_size=128, num_hidden_layers=2)
ENDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=2)
Write = Callable[[int], Any]
"""writes so many tokens after the prompt, for each row of the batch"""


def eight_bits(path: Path, output: Path) -> Path:
    """The same model with all matrices as Q8_0, which llama.cpp multiplies as bytes."""
    import gguf

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


def regard_writes(engine: StepModel, prompts: list[list[int]]) -> Write:
    def write(count: int) -> list[list[int]]:
        length = len(prompts[0]) + count
        decode = DecodeConfig(method="greedy", max_length=length, min_length=length)
        given = [Constraints(prefix=prompt) for prompt in prompts]
        found = search(engine, [[] for _ in prompts], decode, constraints=given)
        assert all(len(each[0].tokens) == length for each in found)
        return [each[0].tokens[len(prompts[0]) :] for each in found]

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


def random_llama(device: str) -> Any:
    """A Llama of transformers with random weights, in which no text ends: the rows of special tokens are zero."""
    import transformers

    torch.manual_seed(1)
    sizes = SMOL if device == "cuda" else TINY
    config = transformers.LlamaConfig(**sizes, **HEADS, **ENDS, tie_word_embeddings=True, initializer_range=0.05)
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.model.embed_tokens.weight[:3] = 0
    return model


def engine_of(theirs: Any, device: str, dtype: torch.dtype) -> TorchEngine:
    """regard's engine over the same weights; on a CPU its recorded search too, which runs there without a recording."""
    tensors = {name: each.float().cpu().numpy() for name, each in theirs.state_dict().items()}
    config = decoders.config_of(theirs.config.to_dict(), tensors)
    model = build(config)
    model.load_state_dict(to_state_dict(decoders.tensors_of(tensors, config), config))
    engine = TorchEngine(model, device, "bf16" if dtype == torch.bfloat16 else "fp32")
    if device == "cpu":
        engine.__dict__["search_whole"] = StaticSearch(model, dtype, Room())
    return engine


def transformers_writes(model: Any, prompts: list[list[int]]) -> Write:
    tokens = torch.tensor(prompts, device=model.device)

    def write(count: int) -> list[list[int]]:
        sizes = dict(max_new_tokens=count, do_sample=False, eos_token_id=None, pad_token_id=2)
        with torch.inference_mode():
            found = model.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), **sizes)
        return [row[len(prompts[0]) - 1 :] for row in found[:, 1:].tolist()]

    return write


def on_gpu(batch: int) -> tuple[list[Row], dict[str, float]]:
    """The recorded search beside `generate`, after both wrote the same tokens in float32."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    theirs = random_llama(device).to(device)
    draw = np.random.default_rng(1).integers(3, theirs.config.vocab_size, (batch, PROMPT))
    draw[:, 0] = ENDS["bos_token_id"]  # regard begins every text with it
    agree: dict[str, float] = {}
    for dtype in (torch.float32, torch.bfloat16):
        name, theirs = str(dtype).removeprefix("torch."), theirs.to(dtype)
        ours = regard_writes(engine_of(theirs, device, dtype), draw[:, 1:].tolist())
        systems = {f"regard {name}": ours, f"transformers {name}": transformers_writes(theirs, draw.tolist())}
        first, second = (np.array(write(WRITTEN)) for write in systems.values())
        agree[f"same tokens, {name}"] = round(float((first == second).mean()), 4)
        print(agree, flush=True)
    rows = compared(systems, batch)
    return rows, agree


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


def ratios_of(rows: list[Row]) -> dict[str, float]:
    first, second = rows
    return {key: round(first[key] / second[key], 2) for key in ("prompt tokens/s", "tokens/s")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64, help="texts at a time, on a GPU")
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    if asked.model is None:
        rows, agree = on_gpu(asked.batch)
        name, peers = f"decoder_speed_{'cuda' if torch.cuda.is_available() else 'tiny'}", ["transformers"]
        ratios = {**ratios_of(rows), **agree}
    else:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "ours"
            formats.import_model(asked.model, folder, weights="int8")
            prompt = np.random.default_rng(1).integers(1000, 20000, PROMPT).tolist()
            path = eight_bits(asked.model, Path(scratch) / "q8.gguf")
            ours = regard_writes(open_engine(folder, threads=asked.threads), [prompt])
            systems = {"regard int8": ours, "llama.cpp Q8_0": llama_cpp_writes(path, prompt, asked.threads)}
            rows, peers = compared(systems, 1), ["xllamacpp"]
            ratios = ratios_of(rows)
        name = f"decoder_speed_cpu_{asked.model.stem}_{platform.machine()}"
        rows = [{"model": asked.model.name, "threads": asked.threads, **row} for row in rows]
    print(ratios)
    if asked.save:
        print(save(name, rows, ratios, *peers))


if __name__ == "__main__":
    main()

"""How fast regard decodes, beside Hugging Face `generate` and CTranslate2 with the same weights and work.

    python benchmarks/decode_speed.py --device cpu|cuda [--threads N ...] [--rounds N] [--save [--add]]

Random weights of the `base` and `small` shapes, copied into every system; all sources of one length, an exact
number of predictions with the end forbidden before the last, the encoder's time included. Systems take turns in
one process, every second round in the opposite order; in its turn a system decodes again and again for a quarter of
a second, and its fastest time counts: on one thread the smaller of wall and processor time, which a busy machine
disturbs least, else the wall's. A speed is the median of the rounds, and a ratio the median of the rounds' ratios, so
that what slows the machine for a while slows both. CTranslate2 with several threads is measured both ways, a share of
every product or sentences of its own for each, and the faster one counts.

In fp32 all must write the same tokens, also where no token may come twice, for random weights like to repeat
themselves. `file_speed.py` is for a real text.

Needs the extra regard[bench].
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import onnxruntime
import torch
from decode_peers import CTranslate2, HuggingFace, Regard, System, for_hugging_face
from onnx import TensorProto, helper, numpy_helper
from record import ROOT, Row, save

from regard.config import sized
from regard.engine.torch import to_tensors
from regard.exchange.onnx import export
from regard.folder import checkpoint
from regard.folder.manifest import Manifest
from regard.model.transformer import EncoderDecoder, build

PREDICTIONS = 32
TURN = 0.25  # seconds
VOCABULARIES = {"small": 8000, "base": 32000}


class Work(NamedTuple):
    batch: int
    beam: int


class Limits(NamedTuple):
    """Of one thread: what the roofline is made of."""

    int8_gops: float
    dram_gbs: float
    cache_gbs: float
    cache_bytes: float


SCORED = "CTranslate2 int8, scored"
"""with the log-probabilities that regard always gives"""
PLAIN = ("CTranslate2 int8", "CTranslate2 int8, apart")
"""its two ways to use several threads"""
CPU_WORK, CPU_SOURCE = (Work(1, 1), Work(1, 4), Work(32, 1), Work(8, 4)), 24
GPU_WORK, GPU_SOURCE = (Work(128, 1), Work(128, 4)), 27


def make_model(size: str) -> EncoderDecoder:
    torch.manual_seed(2017)
    vocabulary = VOCABULARIES[size]
    model = build(sized(size, source_vocab_size=vocabulary, target_vocab_size=vocabulary))
    assert isinstance(model, EncoderDecoder)
    return model.eval()


def write_folder(model: EncoderDecoder, folder: Path, weights: checkpoint.WeightForm) -> Path:
    manifest = Manifest(model=model.config, weights=weights)
    tensors = to_tensors(model.state_dict(), model.config)
    checkpoint.save(folder, manifest, tensors, {"tokenizer.model": b""}, "", graphs=export)
    return folder


def make_sources(size: str, batch: int, length: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(batch)
    words = torch.randint(4, VOCABULARIES[size], (batch, length - 1), generator=generator)
    return [[*row, 3] for row in words.tolist()]


def cpu_systems(model: EncoderDecoder, folder: Path, threads: int) -> dict[str, System]:
    torch.set_num_threads(threads)
    theirs = for_hugging_face(model)
    ids = model.config
    written = {form: write_folder(model, folder / form, form) for form in ("fp32", "int8")}
    apart = {PLAIN[1]: CTranslate2(theirs, ids, folder / "c8a", "int8", threads, apart=True)} if threads > 1 else {}
    return {
        "Hugging Face": HuggingFace(theirs, ids),
        "CTranslate2 fp32": CTranslate2(theirs, ids, folder / "c32", "float32", threads),
        "CTranslate2 int8": CTranslate2(theirs, ids, folder / "c8", "int8", threads),
        SCORED: CTranslate2(theirs, ids, folder / "c8s", "int8", threads, scores=True),
        **apart,
        "regard fp32": Regard(written["fp32"], "onnxruntime", "cpu", threads, "auto"),
        "regard int8": Regard(written["int8"], "onnxruntime", "cpu", threads, "auto"),
    }


def gpu_systems(model: EncoderDecoder, folder: Path, precision: str) -> dict[str, System]:
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    theirs = for_hugging_face(model).to("cuda", kind)
    written = write_folder(model, folder / precision, "fp32")
    return {
        f"Hugging Face {precision}": HuggingFace(theirs, model.config),
        f"regard {precision}": Regard(written, "torch", "cuda", None, precision),
    }


def seconds(call: Callable[[], object], one_thread: bool) -> float:
    wall, processor = time.perf_counter(), time.process_time()
    call()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return min(wall, processor) if one_thread else wall


def measure(
    systems: dict[str, System], sources: Sequence[Sequence[int]], work: Work, rounds: int, one_thread: bool
) -> dict[str, list[float]]:
    """Seconds of each system in each round, after one round to warm up."""
    found: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(rounds + 1):
        for name, system in list(systems.items())[:: -1 if turn % 2 else 1]:
            gc.collect()

            def decode(system: System = system) -> object:
                return system.decode(sources, work.beam, PREDICTIONS)

            took: list[float] = []
            while sum(took) < TURN:
                took.append(seconds(decode, one_thread))
            if turn:
                found[name].append(min(took))
    return found


def times(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """How many times as fast as theirs ours is: the median over the rounds."""
    return median(their / our for our, their in zip(ours, theirs, strict=True))


def speeds_of(found: dict[str, list[float]], work: Work) -> dict[str, float]:
    """Target tokens a second."""
    return {name: work.batch * PREDICTIONS / median(took) for name, took in found.items()}


def compare(systems: dict[str, System], sources: Sequence[Sequence[int]], beam: int) -> None:
    """Whether all write the same, as usual and with every token at most once."""
    for once in (False, True):
        # Of regard's predictions the last writes nothing: it may only end the output.
        outputs = {
            name: system.decode(sources, beam, PREDICTIONS + isinstance(system, Regard), once)
            for name, system in systems.items()
        }
        (first, expected), *others = outputs.items()
        kinds = len({token for tokens in expected for token in tokens})
        for name, found in others:
            same = sum(a == b for a, b in zip(found, expected, strict=True))
            print(f"  {name} writes as {first}: {same} of {len(sources)} ({kinds} different tokens)")
            if isinstance(systems[name], Regard):
                assert same >= 0.95 * len(sources), "more than near ties can explain"


def measured_limits() -> Limits:
    """Of the machine at hand, one thread: the faster int8 product of onnxruntime and torch, and NumPy's reading."""
    size = 1024
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    weight = numpy_helper.from_array(np.ones((size, size), np.int8), "w")
    value, product = (
        helper.make_tensor_value_info(name, kind, [size, size])
        for name, kind in (("x", TensorProto.UINT8), ("y", TensorProto.INT32))
    )
    graph = helper.make_model(
        helper.make_graph([node], "product", [value], [product], [weight]),
        ir_version=9,
        opset_imports=[helper.make_opsetid("", 20)],
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    inputs = {"x": np.ones((size, size), np.uint8)}
    ones = torch.ones(size, size, dtype=torch.int8)
    torch.set_num_threads(1)
    products = (lambda: session.run(None, inputs), lambda: torch._int_mm(ones, ones))
    took = min(seconds(product, True) for product in products for _ in range(9))

    def reading(num_bytes: int) -> float:
        """GB a second."""
        array = np.ones(num_bytes // 8)
        return num_bytes / min(seconds(array.max, True) for _ in range(9)) / 1e9

    # What programs beside it leave of a shared cache is not known: half of it.
    cache = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    cache_bytes = int(cache.read_text().strip().removesuffix("K")) * 512 if cache.is_file() else 8e6
    return Limits(2 * size**3 / took / 1e9, reading(1 << 28), reading(1 << 22), cache_bytes)


def roofline(model: EncoderDecoder, work: Work, threads: int, limits: Limits) -> float:
    """Tokens a second if nothing but int8 products took time: bound by arithmetic or by reading the weights."""
    config = model.config
    d_model, d_ff = config.d_model, config.d_ff
    layer = 4 * d_model**2 + 2 * d_model * d_ff
    encoder = config.num_encoder_layers * layer + config.num_decoder_layers * 2 * d_model**2
    decoder = config.num_decoder_layers * (layer + 2 * d_model**2)
    decoder += d_model * config.target_vocab_size

    def bound(weights: int, rows: int) -> float:
        fast = weights < limits.cache_bytes
        bandwidth = (limits.cache_gbs if fast else limits.dram_gbs) * threads * 1e9
        return max(2 * weights * rows / (limits.int8_gops * threads * 1e9), weights / bandwidth)

    steps = PREDICTIONS * bound(decoder, work.batch * work.beam)
    return work.batch * PREDICTIONS / (bound(encoder, work.batch * CPU_SOURCE) + steps)


def run_cpu(
    rounds: int, limits: Limits, thread_counts: Sequence[int], sizes: Sequence[str]
) -> tuple[list[Row], dict[str, float]]:
    rows: list[Row] = []
    ratios: dict[str, list[float]] = {}
    for size in sizes:
        model = make_model(size)
        for threads in thread_counts:
            with tempfile.TemporaryDirectory() as folder:
                systems = cpu_systems(model, Path(folder), threads)
                gc.freeze()  # what the libraries brought is not looked through in every measurement
                if threads == thread_counts[0]:
                    exact = {name: each for name, each in systems.items() if "int8" not in name}
                    for beam in (1, 4):
                        compare(exact, make_sources(size, 8, CPU_SOURCE), beam)
                for work in CPU_WORK:
                    sources = make_sources(size, work.batch, CPU_SOURCE)
                    found = measure(systems, sources, work, rounds, threads == 1)
                    limit = roofline(model, work, threads, limits)
                    rows += cpu_rows(size, threads, work, found, limit)
                    for name, cell, peers in (
                        ("cpu_decode_vs_hf", work, ("Hugging Face",)),
                        ("cpu_sentence_beam4_vs_ctranslate2", Work(1, 4), PLAIN),
                        ("cpu_batch8_beam4_vs_ctranslate2", Work(8, 4), PLAIN),
                        ("cpu_batch32_vs_ctranslate2", Work(32, 1), PLAIN),
                        ("cpu_batch32_vs_ctranslate2_scored", Work(32, 1), (SCORED,)),
                    ):
                        if work == cell:
                            all_times = [times(found["regard int8"], found[each]) for each in peers if each in found]
                            ratios.setdefault(name, []).append(min(all_times))
                del systems
    return rows, {name: round(min(each), 2) for name, each in ratios.items()}


def cpu_rows(size: str, threads: int, work: Work, found: dict[str, list[float]], limit: float) -> list[Row]:
    rows: list[Row] = []
    for name, speed in speeds_of(found, work).items():
        row: Row = {
            "shape": size,
            "threads": threads,
            "batch": work.batch,
            "beam": work.beam,
            "who": name,
            "tokens_a_second": round(speed),
            "vs_hf": round(times(found[name], found["Hugging Face"]), 2),
            "vs_ctranslate2_int8": round(min(times(found[name], found[each]) for each in PLAIN if each in found), 2),
            "of_int8_roofline": round(speed / limit, 3),
        }
        print(
            f"{size:<6}{threads} thread(s)  {work.batch:>3} x beam {work.beam}  {name:<25}"
            f"{speed:>8,.0f} tokens/s  {row['vs_hf']:>6} x HF  {row['vs_ctranslate2_int8']:>5} x CT2 int8  "
            f"{row['of_int8_roofline']:>6.1%} of the int8 roofline",
            flush=True,
        )
        rows.append(row)
    return rows


def run_gpu(rounds: int) -> tuple[list[Row], dict[str, float]]:
    rows: list[Row] = []
    ratios: dict[str, float] = {}
    model = make_model("base")
    with tempfile.TemporaryDirectory() as folder:
        exact = gpu_systems(model, Path(folder), "fp32")
        for beam in (1, 4):
            compare(exact, make_sources("base", 32, GPU_SOURCE), beam)
        del exact
        systems = gpu_systems(model, Path(folder), "bf16")
        for work in GPU_WORK:
            sources = make_sources("base", work.batch, GPU_SOURCE)
            found = measure(systems, sources, work, rounds, one_thread=False)
            for name, speed in speeds_of(found, work).items():
                print(f"base  {work.batch} x beam {work.beam}  {name:<18}{speed:>10,.0f} tokens/s")
                rows.append({"shape": "base", **work._asdict(), "who": name, "tokens_a_second": round(speed)})
            theirs, ours = found.values()
            kind = "greedy" if work.beam == 1 else f"beam{work.beam}"
            ratios[f"decode_{kind}_vs_hf"] = round(times(ours, theirs), 2)
    return rows, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="on a CPU")
    parser.add_argument("--rounds", type=int, default=5, help="the median of so many counts")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    parser.add_argument("--sizes", nargs="+", default=[*VOCABULARIES], choices=[*VOCABULARIES])
    parser.add_argument("--add", action="store_true", help="keep the other rows of the result that is there")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    name = "decode_speed_cuda"
    if given.device == "cpu":
        name = f"decode_speed_cpu_{platform.machine().lower()}"
        rows, ratios = run_cpu(given.rounds, measured_limits(), given.threads, given.sizes)
    else:
        rows, ratios = run_gpu(given.rounds)
    for each, ratio in ratios.items():
        print(f"{each:<36} {ratio:.2f}")
    if given.add and (path := ROOT / "benchmarks" / "results" / f"{name}.json").is_file():
        earlier = json.loads(path.read_text("utf-8"))
        rows = earlier["rows"] + rows
        ratios = {
            each: min(kind[each] for kind in (earlier["ratios"], ratios) if each in kind)
            for each in earlier["ratios"] | ratios
        }
    if given.save:
        peers = ["transformers", "ctranslate2", "onnxruntime"] if given.device == "cpu" else ["transformers"]
        save(name, rows, ratios, *peers)


if __name__ == "__main__":
    main()

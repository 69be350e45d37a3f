"""A kernel in C that stands in for the graphs of an int8 translation model, where it was compiled: `native.c`.

    python -m regard.engine.native

compiles it with the C compiler at hand. Nothing needs it: without it, on another processor, for another architecture
and with REGARD_NATIVE=0 the graphs run on onnxruntime. See docs/decisions/009-native-kernel.md.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from regard.config import ModelConfig
from regard.errors import ModelError, UsageError
from regard.folder.checkpoint import WEIGHTS
from regard.folder.tensors import SCALE, is_table, tied_names

SOURCE = Path(__file__).with_suffix(".c")
PROCESSOR = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "fma")
"""flags of a processor that the kernel is written for"""
_BASE = 10000.0  # of sinusoidal positions
_PANEL = 64  # outputs whose weights lie together
CALL = (
    *("encodes", "rows", "length", "sentences", "num_keys", "capacity", "count", "tokens", "lengths", "positions"),
    *("source_bias", "cross", "cache", "best_values", "log_probabilities", "attention", "best_tokens"),
)
"""the fields of a Call of native.c; every field of its structures takes 8 bytes"""
SIZES = {
    "tokens": {"rows": 0, "length": 1},
    "source_bias": {"sentences": 0, "num_keys": 3},
    "key.0": {"capacity": 2},
    "best_values": {"count": 1},
}
"""sizes of a Call, and the axes of the arrays they are read from"""
CROSS = "cross_key", "cross_value"
_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64


def library_path() -> Path:
    """Where the compiled kernel lies; the name changes with the source, so that an old one is never opened."""
    number = sha256(SOURCE.read_bytes()).hexdigest()[:12]
    return SOURCE.with_name(f"_native-{number}-{platform.machine().lower()}.so")


def compile_to(path: Path) -> None:
    scratch = path.with_suffix(f".{os.getpid()}")
    options = [
        "-std=gnu11",
        "-O3",
        "-fPIC",
        "-shared",
        "-pthread",
        *(f"-m{flag.replace('_', '')}" for flag in PROCESSOR),
    ]
    command = [os.environ.get("CC", "cc"), *options, str(SOURCE), "-o", str(scratch), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
        scratch.replace(path)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[0]
        raise UsageError(
            f"compiling {SOURCE.name} needs a C compiler for x86-64, as cc or in CC, and a place to write {path}: "
            f"got {reason}; translation works without, on onnxruntime"
        ) from None


def processor_flags() -> set[str]:
    """What an x86 processor can do, as Linux names it; empty where that is not known."""
    try:
        return set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    except (OSError, IndexError):
        return set()


def covers(config: ModelConfig) -> bool:
    """Whether the kernel runs a model: the paper's Transformer, norms before or after, with vectors that fill registers."""
    return (
        config.architecture == "encoder-decoder"
        and (config.norm, config.feed_forward, config.position) == ("layer", "relu", "sinusoidal")
        and not (config.embedding_norm or config.d_k)
        and config.d_model % _PANEL == config.d_ff % _PANEL == config.head_dim % 16 == 0
    )


def open_kernel(folder: Path, config: ModelConfig, threads: int) -> Kernel | None:
    """The kernel over an int8 folder, or None where graphs run it."""
    path = library_path()
    if os.environ.get("REGARD_NATIVE") == "0" or not covers(config) or not path.is_file():
        return None
    return Kernel(path, folder, config, threads) if processor_flags().issuperset(PROCESSOR) else None


class Kernel:
    """The weights as the kernel reads them, and its threads: both sessions of the engine at once."""

    def __init__(self, path: Path, folder: Path, config: ModelConfig, threads: int) -> None:
        self.config = config
        library = ctypes.CDLL(str(path))
        library.regard_open.restype = _POINTER
        library.regard_open.argtypes = [_POINTER, ctypes.c_int]
        library.regard_pack.argtypes = [_POINTER, _POINTER, _NUMBER, _NUMBER, _NUMBER]
        self._run, self._close, self._pack = library.regard_run, library.regard_close, library.regard_pack
        self._run.argtypes, self._close.argtypes = [_POINTER, _POINTER], [_POINTER]
        self._tensors = load_file(folder / WEIGHTS)
        self._kept: list[np.ndarray] = []
        """what the kernel holds pointers to"""
        matrices = (tensor.size for tensor in self._tensors.values() if tensor.dtype == np.int8)
        # In one block, for which NumPy asks for large pages: reading takes a quarter less.
        self._room = _aligned(sum(matrices) + _PANEL * config.d_model, np.int8)
        self._pool = library.regard_open(self._numbers(self._model()), threads)
        del self._tensors, self._room
        if not self._pool:
            raise ModelError(f"{folder} needs more memory than there is; use a smaller model")

    def __del__(self) -> None:
        if getattr(self, "_pool", None):
            self._close(self._pool)

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name="key.0", shape=(0, 0, 0, self.config.head_dim))]

    def get_outputs(self) -> list[Any]:
        return [SimpleNamespace(name=each) for each in (*_by_layer(self.config, *CROSS), "source_bias")]

    def run(self, names: list[str], inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The encoder: what encoder.onnx takes, and what a step reads."""
        binding, config = Binding(self.config), self.config
        sentences, length = inputs["tokens"].shape
        shape = sentences, config.num_heads, length, config.head_dim
        shapes = dict.fromkeys(_by_layer(config, *CROSS), shape) | {"source_bias": (sentences, 1, 1, length)}
        outputs = {name: np.empty(shape, np.float32) for name, shape in shapes.items()}
        for name, array in {**inputs, **outputs}.items():
            binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        binding.call[CALL.index("encodes")] = 1
        self.run_with_iobinding(binding)
        return [outputs[name] for name in names]

    def io_binding(self) -> Binding:
        return Binding(self.config)

    def run_with_iobinding(self, binding: Binding) -> None:
        """A step, with the inputs and outputs of decoder.onnx bound; or what `run` asks for."""
        if self._run(self._pool, binding.address):
            raise MemoryError("a token outside the vocabulary, or not enough memory for this batch")

    def _model(self) -> list[int]:
        """A Model of native.c."""
        config, ties = self.config, tied_names(self.config)
        is_pre = config.norm_placement == "pre"
        numbers = [config.d_model, config.num_heads, config.d_ff, config.source_vocab_size, config.target_vocab_size]
        times = config.d_model**0.5 if config.scaled_embedding else 1.0
        numbers += [*config.num_layers, is_pre, *np.array([config.norm_epsilon, times]).view(np.int64).tolist()]
        names = [ties.get(name, name) for name in ("source.embedding.weight", "target.embedding.weight")]
        numbers += [self._pointer(self._tensors[name + end]) for end in ("", SCALE) for name in names]
        pairs = np.arange(0, config.d_model, 2, dtype=np.float32)
        numbers.append(self._pointer(np.float32(_BASE) ** (-pairs / np.float32(config.d_model))))
        for stack, number in zip(("encoder", "decoder"), config.num_layers, strict=True):
            numbers.append(self._numbers([each for i in range(number) for each in self._layer(stack, i)]))
        for stack in ("encoder", "decoder"):
            numbers += self._norm(f"{stack}.final_norm") if is_pre else [0, 0]
        return numbers + self._linear(ties.get("output.weight", "output.weight"), bias="output.bias")

    def _layer(self, stack: str, i: int) -> list[int]:
        """A Layer of native.c; an encoder's has no cross-attention."""
        own, cross, feed = (
            f"{stack}.layers.{i}.{part}" for part in ("self_attention", "cross_attention", "feed_forward")
        )
        norms, query, memory, output = self._norm(f"{own}.norm"), *([0] * 6 for _ in range(3))
        if stack == "decoder":
            query, output = self._linear(f"{cross}.query.weight"), self._linear(f"{cross}.output.weight")
            memory = self._linear(f"{cross}.key.weight", f"{cross}.value.weight")
        norms += self._norm(f"{cross}.norm") if stack == "decoder" else [0, 0]
        inputs = self._linear(*(f"{own}.{part}.weight" for part in ("query", "key", "value")))
        inputs += self._linear(f"{own}.output.weight")
        inner = self._linear(f"{feed}.hidden.weight") + self._linear(f"{feed}.output.weight")
        return norms + self._norm(f"{feed}.norm") + inputs + query + memory + output + inner

    def _norm(self, name: str) -> list[int]:
        return [self._pointer(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias")]

    def _linear(self, *names: str, bias: str = "") -> list[int]:
        """A Linear of native.c: the maps with these weights, side by side."""
        by_row = is_table(names[0])
        shape = self._tensors[names[0]].shape
        inputs, outputs = shape[by_row], shape[1 - by_row]
        filled = -(-outputs * len(names) // _PANEL) * _PANEL
        weight, self._room = np.split(self._room, [filled * inputs])
        parts = [weight, *(_aligned(filled, kind) for kind in (np.int32, np.float32, np.float32))]
        linear = [*(self._pointer(part) for part in parts), inputs, filled]
        for i, name in enumerate(names):
            place = slice(i * outputs, (i + 1) * outputs)
            self._pack(self._numbers(linear), self._tensors[name].ctypes.data, outputs, place.start, by_row)
            parts[2][place] = self._tensors[name + SCALE]
            parts[3][place] = self._tensors.get(bias or name.replace(".weight", ".bias"), 0)
        return linear

    def _numbers(self, values: list[int]) -> int:
        return self._pointer(np.array(values, np.int64))

    def _pointer(self, array: np.ndarray) -> int:
        assert array.flags.c_contiguous
        self._kept.append(array)
        return array.ctypes.data


def _aligned(count: int, kind: type[np.generic]) -> np.ndarray:
    """Zeros that begin with a line of the processor's cache."""
    size = np.dtype(kind).itemsize
    memory = np.zeros(count * size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + count * size].view(kind)


class Binding:
    """Where the arrays of a call lie."""

    def __init__(self, config: ModelConfig) -> None:
        self.call, self._layers = np.zeros(len(CALL), np.int64), np.zeros((2, 2 * config.num_decoder_layers), np.int64)
        self.address = self.call.ctypes.data
        self.call[[CALL.index("cross"), CALL.index("cache")]] = [row.ctypes.data for row in self._layers]
        names = _by_layer(config, *CROSS), _by_layer(config, "key", "value")
        self._places = {name: (part, i) for part, row in enumerate(names) for i, name in enumerate(row)}

    def bind_input(self, name: str, device: str, number: int, kind: Any, shape: tuple[int, ...], address: int) -> None:
        if name in self._places:
            self._layers[self._places[name]] = address
        elif name in CALL and name != "count":
            self.call[CALL.index(name)] = address
        for field, axis in SIZES.get(name, {}).items():
            self.call[CALL.index(field)] = shape[axis]

    bind_output = bind_input


def _by_layer(config: ModelConfig, key: str, value: str) -> list[str]:
    return [f"{part}.{i}" for i in range(config.num_decoder_layers) for part in (key, value)]


if __name__ == "__main__":
    try:
        compile_to(library_path())
    except UsageError as mistake:
        sys.exit(str(mistake))
